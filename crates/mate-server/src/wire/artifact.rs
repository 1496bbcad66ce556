//! What is sent about artifacts.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// `POST /api/v1/tasks/{task}/artifacts`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Publish {
    /// The file, relative to the task's workspace.
    pub path: String,
}

/// `POST /api/v1/projects/{project}/set`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SetProject {
    /// How much its artifacts may hold, in bytes; absent: as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, maximum = 1_125_899_906_842_624_i64)]
    pub artifact_quota: Option<i64>,
    /// Whether who submits a task can neither approve it nor give leave for its calls; absent: as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distinct_approver: Option<bool>,
}
