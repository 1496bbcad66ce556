//! What a dead worker left open, closed from what its journal proves.

use super::Recovered;
use crate::{Engine, EngineError, admit::settled_event};
use mate_model::{
    event::{Draft, EventType},
    operation::{OperationCommand, OperationState, OperationStateWord, Outcome},
    records::{Operation, Task, Turn},
    task::{StopEvidence, TaskStateWord},
    turn::{TurnCommand, TurnEnd, TurnState},
};
use mate_store::{Change, JournalReader, JournalWriter, OperationFacts};
use serde_json::json;

/// How many operations are classified in one commit.
const PAGE: u32 = 440;

impl Engine {
    pub(super) async fn classify(
        &self,
        journal: &JournalWriter,
        reader: &JournalReader,
        task: Option<&Task>,
        evidence: &StopEvidence,
    ) -> Result<Recovered, EngineError> {
        let mut recovered = Recovered::default();
        let mut after = 0;
        loop {
            let page = reader.open_operations(after, PAGE).await?;
            for corrupt in &page.corrupt {
                tracing::error!(%corrupt, "an operation cannot be read, and stays as it is");
            }
            let mut changes = Vec::with_capacity(page.items.len() * 2);
            for operation in page.items {
                recovered.operations += 1;
                let (change, event, word) = self.close(&operation)?;
                recovered.unknown += u64::from(word == OperationStateWord::Unknown);
                changes.extend([change, Change::Event(event)]);
            }
            if !changes.is_empty() {
                journal.write(changes).await?;
                mate_fault::point_async!("recover.operations_closed");
            }
            match page.next {
                Some(next) => after = next,
                None => break,
            }
        }
        if let Some(turn) = reader.active_turn().await? {
            let stopped = task.is_some_and(|task| task.state.word() == TaskStateWord::StopRequested);
            self.close_turn(journal, &turn, stopped, evidence).await?;
        }
        Ok(recovered)
    }

    fn close(&self, operation: &Operation) -> Result<(Change, Draft, OperationStateWord), EngineError> {
        let now = self.clock.now();
        let command = match operation.state {
            OperationState::AwaitingApproval { .. } => OperationCommand::Withdraw,
            OperationState::Requested
            | OperationState::Denied { .. }
            | OperationState::Expired
            | OperationState::Withdrawn
            | OperationState::InFlight
            | OperationState::Succeeded { .. }
            | OperationState::Failed { .. }
            | OperationState::NotSent { .. }
            | OperationState::Unknown { .. }
            | OperationState::Abandoned { .. } => OperationCommand::Settle(Outcome::Lost {
                detail: "the session's worker ended between the intent and the outcome".to_owned(),
            }),
        };
        let transition = operation.state.decide(operation.class, command, now)?;
        let word = transition.to().word();
        let event = Draft {
            kind: settled_event(word),
            task: Some(operation.task),
            turn: Some(operation.turn),
            at: now,
            data: json!({
                "operation": operation.id,
                "connection": operation.connection_name,
                "tool": operation.tool,
                "detail": "the session's worker ended between the intent and the outcome",
            }),
        };
        let facts = OperationFacts::default();
        Ok((Change::MoveOperation { id: operation.id, transition, facts }, event, word))
    }

    /// A turn whose prompt may have been sent is over; one that is still starting goes on with the next worker.
    async fn close_turn(
        &self,
        journal: &JournalWriter,
        turn: &Turn,
        stopped: bool,
        evidence: &StopEvidence,
    ) -> Result<(), EngineError> {
        let now = self.clock.now();
        let command = match &turn.state {
            TurnState::Starting if stopped => {
                TurnCommand::Finish { end: TurnEnd::StoppedFirst, in_flight: 0 }
            }
            TurnState::Starting | TurnState::Ended { .. } => return Ok(()),
            TurnState::Prompted { .. } => {
                let end = TurnEnd::Lost {
                    own_activity: turn.own_activity > 0,
                    detail: "the session's worker and its runtime ended before the turn was over".to_owned(),
                };
                TurnCommand::Finish { end, in_flight: 0 }
            }
            TurnState::Settling { .. } => TurnCommand::Close { in_flight: 0 },
        };
        let transition = turn.state.decide(command, now)?;
        let draft = |kind, data| Draft { kind, task: Some(turn.task), turn: Some(turn.id), at: now, data };
        journal
            .write(vec![
                Change::Event(draft(EventType::ContainerEmpty, json!({ "proof": evidence }))),
                Change::MoveTurn {
                    turn: turn.id,
                    transition,
                    report: None,
                    evidence: Some(evidence.clone()),
                },
                Change::Event(draft(EventType::TurnEnded, json!({ "by": "recovery" }))),
            ])
            .await?;
        mate_fault::point_async!("recover.turn_closed");
        Ok(())
    }
}
