//! Runtimes.

use crate::wire::shape;
use mate_model::RuntimeId;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// A runtime: an agent program, and how it is launched. How it is launched is for administrators; others see `null`.
#[derive(Debug, Serialize, ToSchema)]
pub struct Runtime {
    /// Its id.
    #[schema(value_type = shape::RuntimeId)]
    pub id: RuntimeId,
    /// Its name.
    pub name: String,
    /// The preset that it was made from.
    #[schema(value_type = Option<String>)]
    pub preset: Value,
    /// The program and its arguments.
    #[schema(value_type = Option<Vec<String>>)]
    pub command: Value,
    /// What is done about its own tools: `off`, `ask` or `free`.
    #[schema(value_type = Option<String>)]
    pub own_tools: Value,
    /// Without activity for so many seconds its tasks are shown as quiet.
    pub quiet_seconds: Option<u32>,
    /// So many seconds after their start its tasks are asked to stop.
    pub deadline_seconds: Option<u32>,
    /// What the processes of one of its sessions may use together.
    #[schema(value_type = Option<crate::wire::Bounds>)]
    pub limits: Value,
    /// When it was made.
    #[schema(value_type = shape::Time)]
    pub created_at: String,
    /// All of its registration.
    #[schema(value_type = Option<Object>)]
    pub registration: Value,
    /// Where it was made just now: what is worth knowing before its first task, such as a program that is not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notices: Option<Vec<String>>,
    /// `removed`, where it was removed just now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<&'static str>,
}
