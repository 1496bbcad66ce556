//! A task's report. What the engine shows is written as it is; this says how it looks.

use super::{Artifact, Task};
use crate::wire::shape;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// What a task did.
#[derive(Debug, ToSchema)]
pub struct Report {
    /// The task as it stands.
    pub task: Task,
    /// The name of who submitted it.
    pub submitted_by: Option<String>,
    /// The name of who approved it.
    pub approved_by: Option<String>,
    /// The name of who asked it to stop.
    pub stopped_by: Option<String>,
    /// How many operations there are in each state.
    pub counts: BTreeMap<String, u64>,
    /// The first 200 operations, in request order.
    pub operations: Vec<OperationLine>,
    /// How many more there are.
    pub not_listed: u64,
    /// Those whose outcome nobody knows: look at each, and settle it with evidence.
    pub unknown: Vec<OperationLine>,
    /// Those of which later evidence says otherwise than what settled them, and nobody has taken note of it yet.
    pub contradicted: Vec<OperationLine>,
    /// How many files were in the workspace at the end of its last turn, where that was listed.
    pub files_left: Option<u64>,
    /// The first of them, as they were listed.
    pub files: Vec<FileLeft>,
    /// The artifacts that it left, the latest first; 100 at most.
    pub artifacts: Vec<Artifact>,
    /// What the agent reported of its work, in its words. Untrusted text.
    pub summary: Option<String>,
    /// What the agent said last. Untrusted text.
    pub last_message: Option<String>,
}

/// A file in a task's workspace at the end of its turn.
#[derive(Debug, ToSchema)]
pub struct FileLeft {
    /// Where, beneath the workspace. Untrusted text.
    pub path: String,
    /// Its length in bytes.
    pub size: u64,
    /// BLAKE3 of its content, in hexadecimal; none where it was not read.
    pub hash: Option<String>,
}

/// One operation in a report.
#[derive(Debug, ToSchema)]
pub struct OperationLine {
    /// Its id.
    #[schema(value_type = shape::OperationId)]
    pub id: String,
    /// `connection/tool`.
    pub tool: String,
    /// What it may change.
    #[schema(value_type = shape::EffectClass)]
    pub effect: String,
    /// How it ended.
    #[schema(value_type = shape::OperationState)]
    pub state: String,
    /// The name of the person whose leave it needed and had.
    pub allowed_by: Option<String>,
    /// When that leave was given.
    #[schema(value_type = Option<shape::Time>)]
    pub allowed_at: Option<String>,
    /// By whose leave it went out, or why it was refused, in words.
    pub authority: Option<String>,
    /// The grant that allowed it.
    #[schema(value_type = Option<shape::GrantId>)]
    pub grant: Option<String>,
    /// From sent to answered, in microseconds.
    pub duration_us: Option<i64>,
    /// What there is to say of it.
    pub detail: Option<String>,
}
