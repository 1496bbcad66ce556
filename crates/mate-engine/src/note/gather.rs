//! What is on record of the tasks that a task continues.

use super::LISTED;
use crate::{Engine, EngineError, task::Chain};
use mate_model::{
    Micros, OperationId, TaskId,
    operation::OperationStateWord,
    records::{Operation, Task},
    task::{End, TaskState, TaskStateWord},
    turn::{TurnEnd, TurnState},
    words::{EffectClass, FailReason, UnknownReason},
};
use serde_json::{Value, json};
use std::collections::VecDeque;

const PAGE: u32 = 500;
/// How many allowed fields of a call are told.
const MAX_FIELDS: usize = 6;

/// An earlier task and its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Earlier {
    pub(super) task: TaskId,
    pub(super) state: TaskStateWord,
    pub(super) failed: Option<FailReason>,
    pub(super) uncertain: Option<UnknownReason>,
    pub(super) ended_at: Option<Micros>,
    /// Tools of the runtime's own were at work when it was lost.
    pub(super) own_activity: bool,
    /// Its prompt may have reached the runtime.
    pub(super) prompted: bool,
}

/// A call that is told.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Call {
    pub(super) id: OperationId,
    pub(super) connection: String,
    pub(super) tool: String,
    pub(super) at: Micros,
    /// Arguments that the connection allows to be seen.
    pub(super) fields: Vec<(String, Value)>,
}

/// The newest calls of one kind, and how many there are in all.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Calls {
    pub(super) newest: VecDeque<Call>,
    pub(super) count: u64,
}

/// All of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Past {
    /// The tasks, the latest first.
    pub(super) tasks: Vec<Earlier>,
    /// There are earlier ones that were not looked at.
    pub(super) more: bool,
    /// Calls that may have happened.
    pub(super) uncertain: Calls,
    pub(super) succeeded: Calls,
    pub(super) failed: Calls,
    /// Calls that never reached a tool.
    pub(super) not_sent: Calls,
    /// Calls that change nothing and are not listed.
    pub(super) reads: u64,
    /// Records that could not be read.
    pub(super) unread: u64,
}

impl Calls {
    pub(super) fn ids(&self) -> Vec<OperationId> {
        self.newest.iter().map(|call| call.id).collect()
    }

    fn push(&mut self, operation: &Operation) {
        self.count += 1;
        if self.newest.len() >= LISTED {
            self.newest.pop_front();
        }
        let mut fields = Vec::new();
        allowed(&operation.shape, "", &mut fields);
        self.newest.push_back(Call {
            id: operation.id,
            connection: operation.connection_name.clone(),
            tool: operation.tool.clone(),
            at: operation.requested_at,
            fields,
        });
    }
}

impl Past {
    pub(super) fn counts(&self) -> Value {
        json!({ "uncertain": self.uncertain.count, "succeeded": self.succeeded.count,
            "failed": self.failed.count, "not_sent": self.not_sent.count, "reads": self.reads })
    }

    fn take(&mut self, operation: &Operation) {
        let kind = match operation.state.word() {
            // One that is still open in a task that has ended is nothing that may be repeated.
            OperationStateWord::Unknown | OperationStateWord::Abandoned | OperationStateWord::InFlight => {
                &mut self.uncertain
            }
            OperationStateWord::Succeeded | OperationStateWord::Failed
                if operation.class == EffectClass::Read =>
            {
                self.reads += 1;
                return;
            }
            OperationStateWord::Succeeded => &mut self.succeeded,
            OperationStateWord::Failed => &mut self.failed,
            OperationStateWord::Requested
            | OperationStateWord::Denied
            | OperationStateWord::AwaitingApproval
            | OperationStateWord::Expired
            | OperationStateWord::Withdrawn
            | OperationStateWord::NotSent => &mut self.not_sent,
        };
        kind.push(operation);
    }
}

/// Reads it, the earliest task first, so that the newest calls stay.
pub(super) async fn past(engine: &Engine, task: &Task) -> Result<Past, EngineError> {
    let Chain { tasks, more } = engine.chain(task).await?;
    let mut past = Past { more, ..Past::default() };
    for earlier in tasks.iter().rev() {
        let mut told = ended(earlier);
        if let Err(error) = read(engine, earlier, &mut told, &mut past).await {
            tracing::warn!(task = %earlier.id, %error, "the record of an earlier task cannot be read");
            past.unread += 1;
        }
        past.tasks.insert(0, told);
    }
    Ok(past)
}

async fn read(engine: &Engine, task: &Task, told: &mut Earlier, past: &mut Past) -> Result<(), EngineError> {
    let reader = engine.stores.journal_reader(task.session).await?;
    if let Some(claim) = &task.claim {
        match reader.turn(claim.turn).await? {
            Some(turn) => {
                told.prompted = turn.was_prompted();
                told.own_activity = matches!(
                    &turn.state,
                    TurnState::Ended { end: TurnEnd::Lost { own_activity: true, .. }, .. }
                );
            }
            None => past.unread += u64::from(told.state != TaskStateWord::Stopped),
        }
    }
    let mut after = 0;
    loop {
        let page = reader.operations(Some(task.id), None, after, PAGE).await?;
        past.unread += page.corrupt.len() as u64;
        for seen in engine.see(task.id, page.items).await? {
            past.take(&seen.operation);
        }
        match page.next {
            Some(next) => after = next,
            None => return Ok(()),
        }
    }
}

fn ended(task: &Task) -> Earlier {
    let (end, uncertain, ended_at) = match &task.state {
        TaskState::Ended { end, at } => (Some(end), None, Some(*at)),
        TaskState::Unknown { then, reason, at } => (Some(then), Some(*reason), Some(*at)),
        TaskState::Rejected { at, .. } => (None, None, Some(*at)),
        TaskState::Proposed
        | TaskState::Accepted { .. }
        | TaskState::Running { .. }
        | TaskState::StopRequested { .. } => (None, None, None),
    };
    let failed = match end {
        Some(End::Failed { reason, .. }) => Some(*reason),
        Some(End::Completed { .. } | End::Stopped { .. }) | None => None,
    };
    Earlier {
        task: task.id,
        state: task.state.word(),
        failed,
        uncertain,
        ended_at,
        own_activity: false,
        prompted: false,
    }
}

/// The values that a shape holds, with their paths.
fn allowed(shape: &Value, path: &str, found: &mut Vec<(String, Value)>) {
    for field in shape.get("fields").and_then(Value::as_array).into_iter().flatten() {
        if found.len() >= MAX_FIELDS {
            return;
        }
        let name = field.get("name").and_then(Value::as_str).unwrap_or_default();
        let path = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        if let Some(value) = field.get("value") {
            found.push((path.clone(), value.clone()));
        }
        allowed(field, &path, found);
    }
}
