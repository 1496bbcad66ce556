//! Policies, and what is found in them.

use crate::wire::shape;
use mate_model::{AccountId, PolicyId};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// A policy: statements in Cedar about what may be called.
#[derive(Debug, Serialize, ToSchema)]
pub struct Policy {
    /// Its id.
    #[schema(value_type = shape::PolicyId)]
    pub id: PolicyId,
    /// `active` or `removed`.
    pub state: &'static str,
    /// Its name.
    pub name: String,
    /// Statements in Cedar.
    pub text: String,
    /// Who added it.
    #[schema(value_type = shape::AccountId)]
    pub created_by: AccountId,
    /// When it was added.
    #[schema(value_type = shape::Time)]
    pub created_at: String,
    /// When it was removed, or another took its place.
    #[schema(value_type = Option<shape::Time>)]
    pub removed_at: Option<String>,
}

/// A policy with what was found in it.
#[derive(Debug, Serialize, ToSchema)]
pub struct PolicyWithReport {
    /// As it is shown everywhere.
    #[serde(flatten)]
    pub policy: Policy,
    /// How many statements permit.
    pub permits: usize,
    /// How many forbid.
    pub forbids: usize,
    /// What is wrong.
    pub faults: Vec<Finding>,
    /// What is odd.
    pub warnings: Vec<Finding>,
}

/// What was found in statements.
#[derive(Debug, Serialize, ToSchema)]
pub struct PolicyReport {
    /// Nothing is wrong: it could be added.
    pub good: bool,
    /// How many statements permit.
    pub permits: usize,
    /// How many forbid.
    pub forbids: usize,
    /// What is wrong.
    pub faults: Vec<Finding>,
    /// What is odd.
    pub warnings: Vec<Finding>,
}

/// Something in the text of a policy.
#[derive(Debug, Serialize, ToSchema)]
pub struct Finding {
    /// In which line, from 1.
    pub line: usize,
    /// In which column, from 1.
    pub column: usize,
    /// What it is.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
}

/// A decision, explained.
#[derive(Debug, ToSchema)]
pub struct Explanation {
    /// Which operation.
    #[schema(value_type = shape::OperationId)]
    pub id: String,
    /// Its task.
    #[schema(value_type = shape::TaskId)]
    pub task: String,
    /// The connection's name at that time.
    pub connection_name: String,
    /// The upstream's own tool name.
    pub tool: String,
    /// Its state.
    #[schema(value_type = shape::OperationState)]
    pub state: String,
    /// What decided, as it was recorded.
    pub recorded: Value,
    /// Why it was denied, if it was.
    #[schema(value_type = Option<shape::DenyReason>)]
    pub deny_reason: Option<String>,
    /// What there is to say of its state.
    pub detail: Option<String>,
    /// The same call, judged now.
    pub now: JudgedNow,
}

/// What would be decided now of the same call. Only grants and policies are asked.
#[derive(Debug, ToSchema)]
pub struct JudgedNow {
    /// Whether grants and policies permit it.
    pub permitted: bool,
    /// Why they do not.
    pub why: Option<String>,
    /// What decides.
    pub decision: Value,
}

/// What would be decided now of a call that nobody has made.
#[derive(Debug, ToSchema)]
pub struct TriedCall {
    /// The project.
    #[schema(value_type = shape::ProjectId)]
    pub project: String,
    /// The connection.
    #[schema(value_type = shape::ConnectionId)]
    pub connection: String,
    /// Its name.
    pub connection_name: String,
    /// The tool.
    pub tool: String,
    /// The name of the account whose task would call.
    pub account_name: String,
    /// The grant that would be used.
    #[schema(value_type = Option<shape::GrantId>)]
    pub grant: Option<String>,
    /// The effect class that the call would have.
    #[schema(value_type = Option<shape::EffectClass>)]
    pub effect: Option<String>,
    /// When a person would be asked.
    #[schema(value_type = Option<shape::ApprovalMode>)]
    pub approve: Option<String>,
    /// Whether a policy may look at arguments of the tool: then it may decide otherwise of a real call.
    pub arguments_matter: bool,
    /// The decision.
    pub now: JudgedNow,
}
