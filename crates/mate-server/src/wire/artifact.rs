//! What is sent about artifacts.

use serde::{Deserialize, Serialize};

/// `POST /api/v1/tasks/{task}/artifacts`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Publish {
    /// The file, relative to the task's workspace.
    pub path: String,
}

/// `POST /api/v1/projects/{project}/set`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetProject {
    /// How much its artifacts may hold, in bytes.
    pub artifact_quota: i64,
}
