//! All that is known of what happened in one home, from records that do not depend on each other.

use mate_model::{operation::OperationStateWord, task::TaskStateWord, words::EffectClass};
use std::fmt;

/// What the checker judges.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    /// The operations in every journal.
    pub(crate) operations: Vec<Op>,
    /// What the effect server wrote down.
    pub(crate) effects: Vec<Effect>,
    /// The tasks in the ledger.
    pub(crate) tasks: Vec<TaskRow>,
    /// What the runtime says that it was told.
    pub(crate) told: Vec<Told>,
    /// The prompts that runtimes received.
    pub(crate) prompts: Vec<String>,
    /// What somebody was promised.
    pub(crate) acknowledged: Vec<Promise>,
    /// When something was killed, stopped, or made to hang.
    pub(crate) disturbances: Vec<Disturbance>,
    /// When the tools with effects were revoked.
    pub(crate) revocations: Vec<Revocation>,
    /// What is wrong with the chains of the logs.
    pub(crate) broken_logs: Vec<String>,
    /// Rows that cannot be read.
    pub(crate) corrupt: Vec<String>,
    /// Processes that live though no session has work.
    pub(crate) living: Vec<String>,
}

/// An operation as its journal has it. Times are in microseconds since 1970.
#[derive(Clone, Debug)]
pub(crate) struct Op {
    pub(crate) id: String,
    pub(crate) task: String,
    pub(crate) tool: String,
    pub(crate) class: EffectClass,
    pub(crate) state: OperationStateWord,
    pub(crate) intended_at: Option<i64>,
    pub(crate) recorded_at: Option<i64>,
    pub(crate) has_result: bool,
    /// It was unknown, and evidence that came later settled it.
    pub(crate) resolved: bool,
}

/// A line of the effect server's log.
#[derive(Clone, Debug)]
pub(crate) struct Effect {
    /// The effect began; else it was complete.
    pub(crate) begin: bool,
    /// The operation that was named in the call.
    pub(crate) operation: String,
    pub(crate) tool: String,
    /// The arguments as canonical text.
    pub(crate) arguments: String,
    pub(crate) at: i64,
}

/// A task as the ledger has it.
#[derive(Clone, Debug)]
pub(crate) struct TaskRow {
    pub(crate) id: String,
    pub(crate) state: TaskStateWord,
    pub(crate) instructions: String,
    /// Whether the runtime's own tools are what is uncertain about it.
    pub(crate) own_activity: bool,
}

/// A result that reached the runtime.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    pub(crate) tool: String,
    pub(crate) arguments: String,
    pub(crate) ok: bool,
}

/// Something that was acknowledged, and must be there.
#[derive(Clone, Debug)]
pub(crate) enum Promise {
    /// A task was taken.
    Task(String),
    /// A task was approved.
    Approved(String),
    /// A task was asked to stop.
    StopAsked(String),
}

/// Something that was done to the processes.
#[derive(Clone, Debug)]
pub(crate) struct Disturbance {
    pub(crate) from: i64,
    pub(crate) until: i64,
    /// Whether a call that was in flight then may have lost its answer.
    pub(crate) excuses: bool,
    /// The operations that had their outcome on record before.
    pub(crate) settled: Vec<String>,
    pub(crate) what: String,
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, tool, class, state, intended_at, recorded_at, has_result, .. } = self;
        write!(
            f,
            "{id} {tool} ({class}) {state}: intended {intended_at:?}, recorded {recorded_at:?}, result {has_result}"
        )
    }
}

impl fmt::Display for Disturbance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, until, excuses, what, .. } = self;
        write!(f, "{what} {from}..{until} (excuses: {excuses})")
    }
}

/// A time in which the tools with effects were not granted: from the answer to the revocation to the next grant.
#[derive(Clone, Debug)]
pub(crate) struct Revocation {
    pub(crate) from: i64,
    pub(crate) until: i64,
}

/// Whether a task has an end, or waits for evidence.
pub(crate) const fn is_classified(state: TaskStateWord) -> bool {
    match state {
        TaskStateWord::Completed
        | TaskStateWord::Failed
        | TaskStateWord::Stopped
        | TaskStateWord::Rejected
        | TaskStateWord::Unknown => true,
        TaskStateWord::Proposed
        | TaskStateWord::Accepted
        | TaskStateWord::Running
        | TaskStateWord::StopRequested => false,
    }
}
