//! A secret on its way in.

use serde::{Deserialize, Serialize};
use std::{borrow::Cow, fmt};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        RefOr,
        schema::{ObjectBuilder, Schema, Type},
    },
};
use zeroize::Zeroizing;

/// Text that is sealed at once and never sent back; it does not print.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SecretText(Zeroizing<String>);

impl SecretText {
    /// Takes the secret.
    #[must_use]
    pub fn new(text: String) -> Self {
        Self(Zeroizing::new(text))
    }

    /// The secret itself; to seal.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

impl PartialSchema for SecretText {
    fn schema() -> RefOr<Schema> {
        let object = ObjectBuilder::new().schema_type(Type::String).write_only(true);
        object.description(Some("A secret: sealed at once, and never sent back.")).into()
    }
}

impl ToSchema for SecretText {
    fn name() -> Cow<'static, str> {
        "SecretText".into()
    }
}
