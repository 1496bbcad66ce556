//! Whether a text is a policy: parsed, and validated against the schema, each fault with its place.

use super::{depth, schema};
use cedar_policy::{Effect, EntityUid, Policy, PolicySet, ValidationMode, Validator};
use miette::Diagnostic;
use std::fmt;

/// The most bytes of a policy's text.
pub const MAX_TEXT: usize = 16 * 1024;

/// The most statements in one text.
const MAX_STATEMENTS: usize = 50;

/// The most faults that are told at once.
const MAX_FINDINGS: usize = 20;

/// A fault, or a warning, and its place in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// What would be right, where that is known.
    pub help: Option<String>,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.message)?;
        self.help.as_ref().map_or(Ok(()), |help| write!(f, " ({help})"))
    }
}

/// What a policy's text holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// How many statements permit.
    pub permits: usize,
    /// How many forbid.
    pub forbids: usize,
    /// What may not be meant.
    pub warnings: Vec<Finding>,
    /// The things that it names, as kind and name: `("Connection", "github")`.
    pub names: Vec<(String, String)>,
}

/// Parses and validates a policy's text.
///
/// # Errors
/// What is wrong, at least one, in the order of the text.
pub fn check(text: &str) -> Result<Checked, Vec<Finding>> {
    checked(text)
}

pub(super) fn checked(text: &str) -> Result<Checked, Vec<Finding>> {
    let policies = statements(text)?;
    let mut checked = Checked::default();
    let mut set = PolicySet::new();
    for policy in policies {
        match policy.effect() {
            Effect::Permit => checked.permits += 1,
            Effect::Forbid => checked.forbids += 1,
        }
        for name in policy.entity_literals().iter().map(named) {
            if !checked.names.contains(&name) {
                checked.names.push(name);
            }
        }
        set.add(policy).map_err(|error| vec![at_start(error.to_string())])?;
    }
    let schema = schema().ok_or_else(|| vec![at_start("this program's schema is damaged".to_owned())])?;
    let result = Validator::new(schema.clone()).validate(&set, ValidationMode::Strict);
    let mut faults: Vec<Finding> =
        result.validation_errors().map(|error| finding(text, error, error.to_string())).collect();
    if !faults.is_empty() {
        faults.sort_by_key(|fault| (fault.line, fault.column));
        faults.truncate(MAX_FINDINGS);
        return Err(faults);
    }
    checked.warnings = result
        .validation_warnings()
        .map(|warning| finding(text, warning, warning.to_string()))
        .take(MAX_FINDINGS)
        .collect();
    Ok(checked)
}

/// The statements of a text, in its order.
pub(super) fn statements(text: &str) -> Result<Vec<Policy>, Vec<Finding>> {
    if text.len() > MAX_TEXT {
        return Err(vec![at_start(format!("it is longer than {MAX_TEXT} bytes: split it"))]);
    }
    if let Some((offset, why)) = depth::too_deep(text) {
        let (line, column) = place(text, offset);
        return Err(vec![Finding { line, column, message: why.to_owned(), help: None }]);
    }
    let set: PolicySet = text.parse().map_err(|errors: cedar_policy::ParseErrors| {
        let each = errors.iter().map(|error| finding(text, error, error.to_string()));
        each.take(MAX_FINDINGS).collect::<Vec<_>>()
    })?;
    if set.templates().next().is_some() {
        let message = "it has slots (`?principal`, `?resource`): say whom and what it is about".to_owned();
        return Err(vec![at_start(message)]);
    }
    let mut policies: Vec<Policy> = set.policies().cloned().collect();
    if policies.is_empty() {
        return Err(vec![at_start(
            "it has no statement: `forbid (principal, action, resource);`".to_owned(),
        )]);
    }
    if policies.len() > MAX_STATEMENTS {
        return Err(vec![at_start(format!("it has more than {MAX_STATEMENTS} statements: split it"))]);
    }
    // They are numbered by their place in the text: `policy0` and so on.
    policies.sort_by_key(|policy| number(policy.id().as_ref()));
    Ok(policies)
}

fn number(id: &str) -> usize {
    id.trim_start_matches("policy").parse().unwrap_or(usize::MAX)
}

fn named(uid: &EntityUid) -> (String, String) {
    (uid.type_name().to_string(), uid.id().unescaped().to_owned())
}

fn finding(text: &str, diagnostic: &dyn Diagnostic, message: String) -> Finding {
    let offset = diagnostic.labels().and_then(|mut labels| labels.next()).map_or(0, |label| label.offset());
    let (line, column) = place(text, offset);
    // Each statement's own number means nothing to whoever wrote the text.
    let message = message.split_once("`, ").map_or(message.as_str(), |(before, after)| {
        if before.starts_with("for policy `") { after } else { message.as_str() }
    });
    let help = diagnostic.help().map(|help| crate::text::line(&help.to_string(), 200));
    Finding { line, column, message: crate::text::line(message, 400), help }
}

/// Line and column of an offset, from 1.
fn place(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or_default();
    let column = before.rsplit('\n').next().map_or(0, |rest| rest.chars().count()) + 1;
    (before.matches('\n').count() + 1, column)
}

const fn at_start(message: String) -> Finding {
    Finding { line: 1, column: 1, message, help: None }
}
