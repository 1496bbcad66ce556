//! Requests that settle what is uncertain.

use mate_model::operation::Verdict;
use serde::{Deserialize, Serialize};

/// `POST /api/v1/operations/{operation}/resolve`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResolveOperation {
    /// What is known of it now.
    #[serde(rename = "as")]
    pub verdict: Verdict,
    /// How it is known, in words.
    pub reason: String,
    /// What was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<String>,
    /// An identical call may be made once more.
    #[serde(default)]
    pub permit_repeat: bool,
}

/// `POST /api/v1/tasks/{task}/resolve`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResolveTask {
    /// How it is known what the runtime's own last act came to, in words.
    pub reason: String,
    /// What was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<String>,
}
