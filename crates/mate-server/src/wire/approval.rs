//! Requests about approvals.

use super::shape;
use mate_model::approval::Decision;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// `POST /api/v1/approvals/{approval}`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerApproval {
    /// `allow` or `deny`.
    #[schema(value_type = shape::Answer)]
    pub decision: Decision,
    /// Why, in words; with `deny` only. The agent is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
