//! Sessions.

use crate::wire::shape;
use mate_model::{ProjectId, RuntimeId, SessionId, session::SessionStateWord, transition::Epoch};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// A session: one conversation with one runtime.
#[derive(Debug, Serialize, ToSchema)]
pub struct Session {
    /// Its id.
    #[schema(value_type = shape::SessionId)]
    pub id: SessionId,
    /// Its state.
    #[schema(value_type = shape::SessionState)]
    pub state: SessionStateWord,
    /// Since when.
    #[schema(value_type = Option<shape::Time>)]
    pub since: Option<String>,
    /// Its project.
    #[schema(value_type = shape::ProjectId)]
    pub project: ProjectId,
    /// Its runtime.
    #[schema(value_type = shape::RuntimeId)]
    pub runtime: RuntimeId,
    /// The runtime's name, also when it was removed.
    pub runtime_name: String,
    /// What is done about the runtime's own tools (shell, files, web): `off`, `ask` or `free`.
    pub own_tools: Option<String>,
    /// The directory that it works in.
    pub workspace: String,
    /// How many times its lock was taken.
    #[schema(value_type = i64)]
    pub epoch: Epoch,
    /// How its processes are held and confined, of its last launch.
    #[schema(value_type = Option<Object>)]
    pub containment: Value,
    /// Why it cannot be looked after at the moment, if it cannot.
    pub set_aside: Option<String>,
    /// When it was made.
    #[schema(value_type = shape::Time)]
    pub created_at: String,
}
