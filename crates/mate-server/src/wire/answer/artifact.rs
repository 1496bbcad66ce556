//! Artifacts. What the engine shows is written as it is; this says how it looks.

use crate::wire::shape;
use utoipa::ToSchema;

/// An artifact: an immutable, content-addressed output of a project.
#[derive(Debug, ToSchema)]
pub struct Artifact {
    /// Its id.
    #[schema(value_type = shape::ArtifactId)]
    pub id: String,
    /// How it stands.
    #[schema(value_type = shape::Kept)]
    pub state: String,
    /// Where it belongs.
    #[schema(value_type = shape::ProjectId)]
    pub project: String,
    /// The task that it comes from.
    #[schema(value_type = shape::TaskId)]
    pub task: String,
    /// That task's session.
    #[schema(value_type = shape::SessionId)]
    pub session: String,
    /// The operation whose result it is, or was in.
    #[schema(value_type = Option<shape::OperationId>)]
    pub operation: Option<String>,
    /// Where it comes from.
    #[schema(value_type = shape::Origin)]
    pub origin: String,
    /// A name for people, safe as the name of a file.
    pub name: String,
    /// A resource's address, or a path beneath the workspace.
    pub source: Option<String>,
    /// Its media type: found by looking, or of a reference as it was claimed.
    pub media_type: Option<String>,
    /// Its length in bytes; of a reference as it was claimed.
    pub size: Option<i64>,
    /// BLAKE3 of what is kept, in hexadecimal.
    pub hash: Option<String>,
    /// Secrets were taken out of it before it was kept.
    pub redacted: bool,
    /// Why it is not kept.
    pub reason: Option<String>,
    /// When it was first recorded.
    #[schema(value_type = shape::Time)]
    pub created_at: String,
    /// When its content was removed.
    #[schema(value_type = Option<shape::Time>)]
    pub removed_at: Option<String>,
}
