//! Events. What the engine shows is written as it is; this says how it looks.

use crate::wire::shape;
use serde_json::Value;
use utoipa::ToSchema;

/// An event: a past fact, in a session's journal or in the ledger.
#[derive(Debug, ToSchema)]
pub struct Event {
    /// The cursor that resumes after it.
    #[schema(value_type = shape::Cursor)]
    pub id: String,
    /// Which log it is in.
    #[schema(value_type = shape::LogName)]
    pub log: String,
    /// Its number there, counted without gaps.
    pub seq: i64,
    /// The number of this task's previous event in that log.
    pub prev: Option<i64>,
    /// The task.
    #[schema(value_type = Option<shape::TaskId>)]
    pub task: Option<String>,
    /// The turn.
    #[schema(value_type = shape::TurnId)]
    pub turn: Option<String>,
    /// The writer's epoch, in a journal.
    #[schema(value_type = i64)]
    pub epoch: Option<i64>,
    /// The project, where the log is a whole project's.
    #[schema(value_type = shape::ProjectId)]
    pub project: Option<String>,
    /// What happened.
    #[schema(value_type = shape::WhatHappened)]
    pub r#type: String,
    /// When.
    #[schema(value_type = shape::Time)]
    pub at: String,
    /// What there is to say; its fields depend on the type.
    pub data: Value,
}
