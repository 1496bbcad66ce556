//! Tasks. What the engine shows is written as it is; this says how it looks.

use super::{ApprovalOver, Permission};
use crate::wire::{Wishes, shape};
use utoipa::ToSchema;

/// A task: a durable unit of approved work.
#[derive(Debug, ToSchema)]
pub struct Task {
    /// Its id.
    #[schema(value_type = shape::TaskId)]
    pub id: String,
    /// Its state.
    #[schema(value_type = shape::TaskState)]
    pub state: String,
    /// What it is doing, while it runs.
    pub activity: Option<Activity>,
    /// Since when nothing was heard of it, when it is quiet.
    #[schema(value_type = Option<shape::Time>)]
    pub quiet_since: Option<String>,
    /// Why it is in this state, where there is something to say.
    pub reason: Option<String>,
    /// Whether the agent reported a result, once it completed: `reported` or `unreported`.
    pub result: Option<String>,
    /// What the agent reported.
    #[schema(value_type = Option<shape::ReportStatus>)]
    pub report: Option<String>,
    /// The end that an uncertain task takes when everything is settled: `completed`, `failed` or `stopped`.
    pub then: Option<String>,
    /// What is uncertain.
    #[schema(value_type = Option<shape::UnknownReason>)]
    pub uncertain: Option<String>,
    /// How many operations nothing has settled, while it is uncertain.
    pub unknown_operations: Option<u64>,
    /// Why its session cannot be looked after at the moment, if it cannot.
    pub set_aside: Option<String>,
    /// Its project.
    #[schema(value_type = shape::ProjectId)]
    pub project: String,
    /// Its session.
    #[schema(value_type = shape::SessionId)]
    pub session: String,
    /// Its session's runtime.
    #[schema(value_type = shape::RuntimeId)]
    pub runtime: String,
    /// The runtime's name.
    pub runtime_name: String,
    /// What is done about the runtime's own tools (shell, files, web): `off`, `ask` or `free`.
    pub own_tools: Option<String>,
    /// Its turn, once claimed.
    #[schema(value_type = Option<shape::TurnId>)]
    pub turn: Option<String>,
    /// Who submitted it.
    #[schema(value_type = shape::AccountId)]
    pub proposer: String,
    /// What the agent is asked to do.
    pub instructions: String,
    /// What it wants beyond that.
    pub policy: Wishes,
    /// The task that it continues.
    #[schema(value_type = Option<shape::TaskId>)]
    pub continues: Option<String>,
    /// The task that continues it.
    #[schema(value_type = Option<shape::TaskId>)]
    pub continued_by: Option<String>,
    /// How many times it and those that it continues went on by themselves.
    pub resumes: i64,
    /// What its runtime knew of the conversation; told of a single task.
    #[schema(value_type = Option<shape::Context>)]
    pub context: Option<String>,
    /// The tools that it may use without being asked again; told of a single task.
    pub permissions: Vec<Permission>,
    /// What it asked a person for that expired or was withdrawn; told of a single task.
    pub approvals_over: Vec<ApprovalOver>,
    /// The recovery note that its prompt began with; told of a single task.
    pub note: Option<String>,
    /// Its order in its session.
    pub number: i64,
    /// When it was submitted.
    #[schema(value_type = shape::Time)]
    pub created_at: String,
    /// When it was claimed.
    #[schema(value_type = Option<shape::Time>)]
    pub started_at: Option<String>,
    /// When it is asked to stop, while it runs and has a deadline.
    #[schema(value_type = Option<shape::Time>)]
    pub deadline_at: Option<String>,
    /// When it was asked to stop, if it was while it ran.
    #[schema(value_type = Option<shape::Time>)]
    pub stop_requested_at: Option<String>,
    /// Who asked, an account's id, or `deadline`.
    pub stop_requested_by: Option<String>,
    /// When it ended.
    #[schema(value_type = Option<shape::Time>)]
    pub ended_at: Option<String>,
    /// Whether the state is final.
    pub r#final: bool,
}

/// What a running task is doing.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "snake_case")]
pub enum Activity {
    /// The runtime is being made ready.
    Starting,
    /// The runtime is at it.
    Working,
    /// A call, or a tool of the runtime's own, waits for a person's leave.
    WaitingApproval,
    /// The runtime's turn is over; calls are still in flight.
    Settling,
    /// Nothing was heard for a while.
    Quiet,
}
