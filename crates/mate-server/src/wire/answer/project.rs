//! Projects.

use crate::wire::shape;
use mate_model::ProjectId;
use serde::Serialize;
use utoipa::ToSchema;

/// A project: what work belongs together.
#[derive(Debug, Serialize, ToSchema)]
pub struct Project {
    /// Its id.
    #[schema(value_type = shape::ProjectId)]
    pub id: ProjectId,
    /// `active` or `archived`.
    pub state: &'static str,
    /// Its name.
    pub name: String,
    /// The directory that its sessions work in.
    pub workspace: Option<String>,
    /// Who submits a task can neither approve it nor give leave for its calls.
    pub distinct_approver: bool,
    /// When it was made.
    #[schema(value_type = shape::Time)]
    pub created_at: String,
    /// When it was archived.
    #[schema(value_type = Option<shape::Time>)]
    pub archived_at: Option<String>,
}

/// A project with what its artifacts may hold, and hold.
#[derive(Debug, Serialize, ToSchema)]
pub struct ProjectWithUse {
    /// As it is shown everywhere.
    #[serde(flatten)]
    pub project: Project,
    /// How much its artifacts may hold, in bytes.
    pub artifact_quota: i64,
    /// How much they hold, in bytes, each content once.
    pub artifact_bytes: i64,
}
