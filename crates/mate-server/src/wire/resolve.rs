//! Requests that settle what is uncertain.

use super::shape;
use mate_model::operation::Verdict;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// `POST /api/v1/operations/{operation}/resolve`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ResolveOperation {
    /// What is known of it now.
    #[serde(rename = "as")]
    #[schema(value_type = shape::Resolution)]
    pub verdict: Verdict,
    /// How it is known, in words.
    #[schema(min_length = 1)]
    pub reason: String,
    /// What was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<String>,
    /// An identical call may be made once more.
    #[serde(default)]
    #[schema(default = false)]
    pub permit_repeat: bool,
}

/// `POST /api/v1/tasks/{task}/resolve`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ResolveTask {
    /// How it is known what the runtime's own last act came to, in words.
    #[schema(min_length = 1)]
    pub reason: String,
    /// What was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<String>,
}
