//! Requests about tasks.

use super::shape;
use mate_model::{SessionId, records::TaskPolicy};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// `POST /api/v1/projects/{project}/tasks`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AddTask {
    /// What the agent is asked to do.
    #[schema(min_length = 1)]
    pub instructions: String,
    /// Which runtime, by name or id; may be left out when there is just one, or with a session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<shape::NameOrId>)]
    pub runtime: Option<String>,
    /// Go on in this session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<shape::SessionId>)]
    pub session: Option<SessionId>,
    /// Approve it at once.
    #[serde(default)]
    #[schema(default = false)]
    pub approve: bool,
    /// Wait when the session is busy; otherwise the task is refused.
    #[serde(default = "yes")]
    #[schema(default = true)]
    pub queue: bool,
    /// What it wants beyond the instructions.
    #[serde(default)]
    #[schema(value_type = super::Wishes)]
    pub policy: TaskPolicy,
}

const fn yes() -> bool {
    true
}

/// `POST /api/v1/tasks/{task}/resume`; also the empty body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Resume {
    /// In a new session of the same runtime and workspace, without the conversation so far.
    #[schema(default = false)]
    pub fresh: bool,
    /// What the agent is asked to do; absent: what it was asked before.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1)]
    pub instructions: Option<String>,
    /// Wait when the session is busy; otherwise it is refused.
    #[schema(default = true)]
    pub queue: bool,
}

impl Default for Resume {
    fn default() -> Self {
        Self { fresh: false, instructions: None, queue: true }
    }
}

/// `POST /api/v1/tasks/{task}/reject`; an empty body is one without a reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Reject {
    /// Why, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// `POST /api/v1/tasks/{task}/approve|stop|kill`: nothing to say; also the empty body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Stop {}
