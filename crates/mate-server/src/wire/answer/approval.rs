//! Approvals. What the engine shows is written as it is; this says how it looks.

use crate::wire::shape;
use serde_json::Value;
use utoipa::ToSchema;

/// A person's answer to one exact request, asked for or given.
#[derive(Debug, ToSchema)]
pub struct Approval {
    /// Its id: of a call, the operation's.
    #[schema(value_type = shape::ApprovalId)]
    pub id: String,
    /// Its state.
    #[schema(value_type = shape::ApprovalState)]
    pub state: String,
    /// What it is for.
    #[schema(value_type = shape::WhatFor)]
    pub kind: String,
    /// Its project.
    #[schema(value_type = shape::ProjectId)]
    pub project: String,
    /// Its session.
    #[schema(value_type = shape::SessionId)]
    pub session: String,
    /// Its task.
    #[schema(value_type = shape::TaskId)]
    pub task: String,
    /// Its turn.
    #[schema(value_type = shape::TurnId)]
    pub turn: String,
    /// The operation that waits, if one does.
    #[schema(value_type = Option<shape::OperationId>)]
    pub operation: Option<String>,
    /// Who submitted the task.
    #[schema(value_type = shape::AccountId)]
    pub proposer: String,
    /// That account's name.
    pub proposer_name: String,
    /// The connection.
    #[schema(value_type = Option<shape::ConnectionId>)]
    pub connection: Option<String>,
    /// Its name.
    pub connection_name: String,
    /// The tool; of the runtime's own, what the runtime calls it. Untrusted text.
    pub tool: String,
    /// What it may change.
    #[schema(value_type = shape::EffectClass)]
    pub effect: String,
    /// For this call alone, or for the tool until the task ends.
    #[schema(value_type = shape::ApprovalMode)]
    pub approve: String,
    /// The shape of the arguments, with the fields that may be shown.
    pub arguments: Value,
    /// The keyed digest of the exact request.
    pub digest: String,
    /// When it was asked.
    #[schema(value_type = shape::Time)]
    pub requested_at: String,
    /// When it ends, answered or not.
    #[schema(value_type = shape::Time)]
    pub expires_at: String,
    /// When leave was used.
    #[schema(value_type = Option<shape::Time>)]
    pub used_at: Option<String>,
    /// When it expired or was withdrawn.
    #[schema(value_type = Option<shape::Time>)]
    pub over_at: Option<String>,
    /// Why it expired or was withdrawn, in words.
    pub over_why: Option<String>,
    /// The answer, as it was given; the same answer again gets the same.
    pub receipt: Option<Receipt>,
    /// The permission that came of it; told of a single approval.
    pub permission: Option<Permission>,
}

/// A request that expired or was withdrawn.
#[derive(Debug, ToSchema)]
pub struct ApprovalOver {
    /// Its id.
    #[schema(value_type = shape::ApprovalId)]
    pub id: String,
    /// `expired` or `withdrawn`.
    #[schema(value_type = shape::ApprovalState)]
    pub state: String,
    /// The connection's name; empty for a tool of the runtime's own.
    pub connection_name: String,
    /// The tool. Untrusted text.
    pub tool: String,
    /// When it ended.
    #[schema(value_type = Option<shape::Time>)]
    pub over_at: Option<String>,
    /// Why, in words.
    pub over_why: Option<String>,
}

/// A person's answer.
#[derive(Debug, ToSchema)]
pub struct Receipt {
    /// What.
    #[schema(value_type = shape::Answer)]
    pub decision: String,
    /// Who.
    #[schema(value_type = shape::AccountId)]
    pub by: String,
    /// That account's name.
    pub by_name: String,
    /// By which token.
    #[schema(value_type = shape::TokenId)]
    pub token: String,
    /// When.
    #[schema(value_type = shape::Time)]
    pub at: String,
    /// To which exact request.
    pub digest: String,
    /// Why, where the answer was no.
    pub reason: Option<String>,
}

/// Leave for a tool until the task ends.
#[derive(Debug, ToSchema)]
pub struct Permission {
    /// The approval that it comes from.
    #[schema(value_type = shape::ApprovalId)]
    pub id: String,
    /// `active` or `revoked`.
    pub state: String,
    /// The connection's name.
    pub connection_name: String,
    /// The tool.
    pub tool: String,
    /// Who gave it.
    #[schema(value_type = shape::AccountId)]
    pub given_by: String,
    /// That account's name.
    pub given_by_name: String,
    /// When.
    #[schema(value_type = shape::Time)]
    pub given_at: String,
    /// When it was taken back.
    #[schema(value_type = Option<shape::Time>)]
    pub revoked_at: Option<String>,
}
