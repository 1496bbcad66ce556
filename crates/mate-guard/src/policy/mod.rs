//! Policies in Cedar: grants are links of one template, and administrators add statements of their own.
//!
//! What forbids wins over what permits, and what cannot be evaluated forbids.

mod check;
mod decide;
mod depth;
mod names;
mod set;

pub use check::{Checked, Finding, MAX_TEXT, check};
pub use decide::{Call, Effect, Verdict};
pub use set::{PolicySet, Subject, Unusable};

use cedar_policy::Schema;
use std::sync::LazyLock;

/// The schema's text, as people read it.
pub const SCHEMA: &str = include_str!("schema.cedarschema");

/// The template that each grant is a link of: its project, its tools.
const TEMPLATE: &str = r#"permit(principal in ?principal, action == Action::"call", resource in ?resource);"#;

/// The schema. None would be a defect of this program, which a test rules out; then nothing is allowed.
static COMPILED: LazyLock<Option<Schema>> =
    LazyLock::new(|| Schema::from_cedarschema_str(SCHEMA).ok().map(|(schema, _)| schema));

fn schema() -> Option<&'static Schema> {
    COMPILED.as_ref()
}

#[cfg(test)]
mod tests;
