//! What work is done with, and by whom. The fields are those of the interface; see its description.

use super::At;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// An account.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "the interface describes them")]
pub struct Account {
    pub id: String,
    pub state: String,
    pub name: String,
    pub admin: bool,
}

/// A project.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "the interface describes them")]
pub struct Project {
    pub id: String,
    pub state: String,
    pub name: String,
    pub workspace: Option<String>,
    pub distinct_approver: bool,
    pub created_at: At,
    pub artifact_quota: Option<i64>,
    pub artifact_bytes: Option<i64>,
}

/// A member.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "the interface describes them")]
pub struct Member {
    pub account: String,
    pub account_name: Option<String>,
    pub role: String,
    pub added_at: At,
}

/// A runtime.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "the interface describes them")]
pub struct Runtime {
    pub id: String,
    pub name: String,
    pub preset: Value,
    pub command: Value,
    pub own_tools: Value,
    pub created_at: At,
}

/// A connection.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "the interface describes them")]
pub struct Connection {
    pub id: String,
    pub name: String,
    pub kind: String,
    pub url: Option<String>,
    pub command: Option<Vec<String>>,
    pub secret_env: Value,
    pub headers: Value,
    pub allow_fields: Vec<String>,
    pub bare: bool,
    pub trust_annotations: bool,
    pub effect: Option<String>,
    pub verify: Vec<Value>,
    pub created_at: At,
}

/// What a look at a connection found.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "the interface describes them")]
pub struct ConnectionCheck {
    pub state: String,
    pub code: Option<String>,
    pub protocol: Option<String>,
    pub tools: u64,
    pub problem: Value,
    pub notices: Value,
    pub said: Value,
}

/// A tool of a connection.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "the interface describes them")]
pub struct Tool {
    pub name: String,
    pub description: Option<String>,
    pub effect: Option<String>,
}

/// A grant.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "the interface describes them")]
pub struct Grant {
    pub id: String,
    pub state: String,
    pub project: String,
    pub connection: String,
    pub connection_name: String,
    pub tools: Vec<String>,
    pub effect: Option<String>,
    pub approve: String,
    pub max_calls: Option<i64>,
    pub used_calls: i64,
    pub needs_permit: bool,
    pub rate: Value,
    pub max_spend: Value,
    pub used_spend: Value,
    pub cost: Value,
    pub spend_fields: Vec<String>,
    pub changed_tools: u64,
    pub created_by: String,
    pub created_at: At,
    pub expires_at: At,
    pub revoked_at: At,
    pub pins: Option<Pins>,
}

/// The pinned definitions of a grant's tools.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "the interface describes them")]
pub struct Pins {
    pub items: Vec<Pin>,
    pub next: Option<String>,
}

/// A pinned definition.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "the interface describes them")]
pub struct Pin {
    pub tool: String,
    pub state: String,
    pub fields: BTreeMap<String, Value>,
    pub pinned_at: At,
    pub change: Value,
}

/// A token.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "the interface describes them")]
pub struct Token {
    pub id: String,
    pub state: String,
    pub account: String,
    pub project: Option<String>,
    pub role: Option<String>,
    pub created_at: At,
    pub last_used_at: At,
    pub expires_at: At,
    /// The secret; just made, and never again.
    pub token: Option<String>,
}
