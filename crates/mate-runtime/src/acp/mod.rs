//! A runtime driven over the Agent Client Protocol, version 1.
//!
//! [`Agent::connect`] takes over a [`crate::container::Process`] and yields an [`Agent`] to ask and a
//! queue of [`Event`]s to drain. Nothing that the runtime sends is believed: unknown kinds are passed
//! on by name, texts and lists are cut to a size, broken lines are counted, a request that was not
//! offered is refused. When the runtime is gone, everything that waits for it ends.

mod activity;
mod agent;
mod coalesce;
mod desk;
mod error;
mod link;
mod options;
mod parse;
mod peer;
mod permission;
mod session;
mod wire;

pub use activity::{
    Activity, Diagnostic, Event, Message, PlanEntry, Role, StopReason, ToolCall, TurnEnd, Usage,
};
pub use agent::Agent;
pub use error::{AcpError, Lost};
pub use options::{AgentInfo, AgentOptions};
pub use permission::{PermissionAnswer, PermissionOption, PermissionRequest};
pub use session::{HttpEndpoint, McpEndpoints, SessionStart, StdioEndpoint, Via};
