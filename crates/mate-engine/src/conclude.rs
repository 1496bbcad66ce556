//! How a task's end follows from its journal. The worker does it at the turn's end; recovery does it again
//! after any crash between the two stores.

use crate::{Engine, EngineError};
use mate_model::{
    Epoch, Refusal, TaskId,
    event::{Draft, EventType},
    records::{Task, Turn},
    task::{End, StopEvidence, TaskCommand, TaskState, TaskStateWord},
    turn::{Facts, TurnEnd, TurnState, conclusion},
    words::{FailReason, UnknownReason},
};
use mate_store::{JournalReader, LedgerError, StoreError};
use serde_json::json;

/// How often a decision is made again because somebody else moved the task at that moment.
const TRIES: u32 = 20;

impl Engine {
    /// Reads how the running task's turn ended and ends the task accordingly. Done already: nothing happens.
    ///
    /// # Errors
    /// The stores', or that the turn is not over.
    pub async fn conclude(
        &self,
        reader: &JournalReader,
        epoch: Epoch,
        task: TaskId,
    ) -> Result<TaskStateWord, EngineError> {
        let mut last = None;
        for _ in 0..TRIES {
            let task = self.ledger.task(task).await?.ok_or(EngineError::NotFound)?;
            let Some(run) = task.state.run() else { return Ok(task.state.word()) };
            let turn = reader.turn(run.turn).await?;
            let (end, uncertain, subjects) = self.end_of(reader, &task, turn.as_ref()).await?;
            mate_fault::point_async!("conclude.read");
            if uncertain.is_some() {
                self.want_looks(reader, &task).await?;
            }
            match self.end_task(&task, epoch, end, uncertain, subjects).await {
                // Evidence may have come while this was written.
                Ok(TaskStateWord::Unknown) => return self.settle(task.id).await,
                Ok(word) => return Ok(word),
                Err(LedgerError::Conflict(_)) => last = Some("the task moved meanwhile"),
                Err(error) => return Err(error.into()),
            }
        }
        Err(EngineError::Unavailable(format!("the task could not be ended: {}", last.unwrap_or_default())))
    }

    /// Takes a task out of `unknown` when nothing of it is uncertain any more; says how it stands.
    ///
    /// # Errors
    /// The ledger's.
    pub async fn settle(&self, task: TaskId) -> Result<TaskStateWord, EngineError> {
        let task = self.ledger.task(task).await?.ok_or(EngineError::NotFound)?;
        if !matches!(task.state, TaskState::Unknown { .. })
            || !self.ledger.unsettled(&task).await?.is_nothing()
        {
            return Ok(task.state.word());
        }
        let transition = task.state.decide(TaskCommand::Settle, self.clock.now())?;
        let word = transition.to().word();
        let data = json!({ "reason": reason(&task, transition.to()), "settled": true });
        let draft =
            Draft { kind: ended_event(word), task: Some(task.id), turn: None, at: transition.at(), data };
        match self.ledger.apply_task(&task, &transition, draft, &[], None).await {
            // The only way out of `unknown` leads to the end that is stored.
            Ok(_) | Err(LedgerError::Conflict(_)) => Ok(word),
            Err(error) => Err(error.into()),
        }
    }

    async fn end_of(
        &self,
        reader: &JournalReader,
        task: &Task,
        turn: Option<&Turn>,
    ) -> Result<(End, Option<UnknownReason>, Vec<String>), EngineError> {
        let stop_requested = task.state.word() == TaskStateWord::StopRequested;
        let Some(turn) = turn else {
            // Claimed, and stopped before the journal had a turn: nothing was started.
            return if stop_requested {
                Ok((End::Stopped { evidence: StopEvidence::NeverStarted }, None, Vec::new()))
            } else {
                Err(EngineError::Internal("a task without a turn has no end yet".to_owned()))
            };
        };
        let TurnState::Ended { end, .. } = &turn.state else {
            return Err(EngineError::Internal(format!("{} is not over: {}", turn.id, turn.state.word())));
        };
        if reader.open_count().await? > 0 {
            return Err(EngineError::Unavailable("calls of the task are still in flight".to_owned()));
        }
        let unknown = self.unsettled_operations(reader, task.id).await?;
        let facts = Facts {
            end,
            report: turn.report,
            unknown_operations: unknown.len() as u64,
            stop_requested,
            evidence: turn.evidence.clone(),
        };
        let (then, uncertain) = conclusion(facts)?;
        let then = match then {
            End::Completed { report: None } if task.policy.require_report => End::Failed {
                reason: FailReason::ReportMissing,
                detail: "the runtime ended its turn and the agent reported no result".to_owned(),
            },
            other @ (End::Completed { .. } | End::Failed { .. } | End::Stopped { .. }) => other,
        };
        let subjects = match uncertain {
            None => Vec::new(),
            Some(UnknownReason::Operations) => {
                // The runtime's own last act is an item of its own, also beside operations.
                let own = (lost_at_own_work(end) && !stop_requested).then(|| turn.id.to_string());
                unknown.iter().map(ToString::to_string).chain(own).collect()
            }
            Some(UnknownReason::OwnActivity | UnknownReason::JournalLost) => vec![turn.id.to_string()],
        };
        Ok((then, uncertain, subjects))
    }

    /// Writes a task's end, and what needs a person for it.
    pub(crate) async fn end_task(
        &self,
        task: &Task,
        epoch: Epoch,
        end: End,
        uncertain: Option<UnknownReason>,
        subjects: Vec<String>,
    ) -> Result<TaskStateWord, LedgerError> {
        self.withdraw_approvals(task.id, no_more_use(&end)).await?;
        let now = self.clock.now();
        let command = TaskCommand::Conclude { epoch, end, uncertain };
        let transition = match task.state.decide(command, now) {
            Ok(transition) => transition,
            Err(Refusal::Final { .. } | Refusal::Already { .. }) => return Ok(task.state.word()),
            Err(refusal @ (Refusal::NotNow { .. } | Refusal::Stale { .. } | Refusal::NoEvidence)) => {
                return Err(StoreError::Other(refusal.to_string()).into());
            }
        };
        let word = transition.to().word();
        let data = json!({ "reason": reason(task, transition.to()), "uncertain": subjects.len() });
        let turn = task.state.run().map(|run| run.turn);
        let draft = Draft { kind: ended_event(word), task: Some(task.id), turn, at: now, data };
        self.ledger.apply_task(task, &transition, draft, &subjects, None).await?;
        mate_fault::point_async!("conclude.committed");
        Ok(word)
    }
}

/// Why nothing that waits in a task is of use once it ended so.
const fn no_more_use(end: &End) -> &'static str {
    match end {
        End::Failed { reason: FailReason::RuntimeLost, .. } => "the session's worker or its runtime was lost",
        End::Stopped { .. } => "the task was stopped",
        End::Completed { .. } | End::Failed { .. } => "the turn is over",
    }
}

/// Whether the runtime's own tools were at work when it was lost.
const fn lost_at_own_work(end: &TurnEnd) -> bool {
    match end {
        TurnEnd::Lost { own_activity, .. } => *own_activity,
        TurnEnd::Answered { .. }
        | TurnEnd::Errored { .. }
        | TurnEnd::NotStarted { .. }
        | TurnEnd::ContextLost { .. }
        | TurnEnd::StoppedFirst => false,
    }
}

/// The event that tells of a task's end.
pub(crate) const fn ended_event(word: TaskStateWord) -> EventType {
    match word {
        TaskStateWord::Completed => EventType::TaskCompleted,
        TaskStateWord::Failed => EventType::TaskFailed,
        TaskStateWord::Stopped => EventType::TaskStopped,
        TaskStateWord::Rejected => EventType::TaskRejected,
        TaskStateWord::Unknown => EventType::TaskUnknown,
        TaskStateWord::Accepted => EventType::TaskApproved,
        TaskStateWord::Running => EventType::TaskStarted,
        TaskStateWord::StopRequested => EventType::TaskStopRequested,
        TaskStateWord::Proposed => EventType::TaskSubmitted,
    }
}

/// Why a task is in a state of its, in a word or in words; empty where there is nothing to say.
#[must_use]
pub fn reason(task: &Task, state: &TaskState) -> Option<String> {
    let overdue = || {
        let stop = state.stop().or(task.stop.as_ref())?;
        let seconds = task.policy.deadline_seconds.filter(|_| stop.by.is_none())?;
        Some(format!("its deadline of {seconds} s passed"))
    };
    match state {
        TaskState::Ended { end: End::Failed { reason, detail }, .. } => Some(format!("{reason}: {detail}")),
        TaskState::Ended { end: End::Stopped { evidence }, .. } => {
            let proof = match evidence {
                StopEvidence::NeverStarted => "never started",
                StopEvidence::ContainerEmpty { proof, .. } => proof.as_str(),
            };
            Some(overdue().map_or_else(|| proof.to_owned(), |why| format!("{why}; {proof}")))
        }
        TaskState::StopRequested { .. } => overdue(),
        TaskState::Unknown { reason, .. } => Some(reason.to_string()),
        TaskState::Rejected { reason, .. } => Some(reason.clone()),
        TaskState::Ended { end: End::Completed { .. }, .. }
        | TaskState::Proposed
        | TaskState::Accepted { .. }
        | TaskState::Running { .. } => None,
    }
}
