//! What became of an admitted call, written before the runtime hears of it.

use super::{Admission, Go, Receipt, twins::TwinGuard};
use crate::EngineError;
use mate_model::{
    Micros, OperationId,
    event::{Draft, EventType},
    operation::{Evidence, OperationCommand, OperationState, OperationStateWord, Outcome, Verdict},
    records::Operation,
    words::{EffectClass, EvidenceKind},
};
use mate_store::{Change, OperationFacts};
use serde_json::json;

/// How a call ended, with its times and the size of its result.
#[derive(Clone, Debug)]
pub struct Ended {
    /// What became of it.
    pub outcome: Outcome,
    /// Times and sizes.
    pub facts: OperationFacts,
    /// The upstream's result, where there is one: kept until the runtime has heard of it.
    pub result: Option<String>,
}

impl Ended {
    /// A call that was not sent, and why.
    #[must_use]
    pub fn not_sent(detail: String) -> Self {
        Self { outcome: Outcome::NotSent { detail }, facts: OperationFacts::default(), result: None }
    }
}

impl Admission {
    /// Records how an admitted call ended. Uses up the leave to send it. What is given back tells whether the runtime
    /// has heard of it.
    ///
    /// # Errors
    /// The journal's: then the outcome is not recorded, and the agent must not be told of one.
    pub async fn settle(&self, go: Go, ended: Ended) -> Result<Receipt, EngineError> {
        let (from, operation) = (OperationState::InFlight, go.operation());
        let word = self.write_outcome(operation, &from, go.class, go.turn, ended, &go.settles).await?;
        let twin = go.twin.map(TwinGuard::settled);
        let news = word == OperationStateWord::Succeeded && go.class != EffectClass::Read;
        Ok(if news { Receipt::of(&self.heard, operation, twin) } else { Receipt::plain() })
    }

    /// Records an answer that came after its call had been given up as unknown.
    ///
    /// # Errors
    /// The journal's, or that the operation is not unknown (any more).
    pub async fn late(
        &self,
        operation: OperationId,
        ended: Ended,
    ) -> Result<OperationStateWord, EngineError> {
        let row = self.reader.operation(operation).await?.ok_or(EngineError::NotFound)?;
        let turn = super::CurrentTurn { task: row.task, turn: row.turn };
        let word = self.write_outcome(operation, &row.state, row.class, turn, ended, &[]).await?;
        // It may have been the last uncertainty of its task.
        self.engine.settle(&self.reader, row.task).await?;
        Ok(word)
    }

    async fn write_outcome(
        &self,
        id: OperationId,
        from: &OperationState,
        class: EffectClass,
        turn: super::CurrentTurn,
        ended: Ended,
        settles: &[Operation],
    ) -> Result<OperationStateWord, EngineError> {
        let now = self.now();
        let transition = from.decide(class, OperationCommand::Settle(ended.outcome), now)?;
        let word = transition.to().word();
        let event = Draft {
            kind: settled_event(word),
            task: Some(turn.task),
            turn: Some(turn.turn),
            at: now,
            data: json!({
                "operation": id,
                "duration_us": ended.facts.duration_us,
                "size": ended.facts.result_size,
                "detail": detail(transition.to()),
            }),
        };
        let kept = self.keep(id, class, transition.to(), ended.result.as_deref())?;
        let mut changes =
            vec![Change::MoveOperation { id, transition, facts: ended.facts }, Change::Event(event)];
        changes.extend(kept);
        if word == OperationStateWord::Succeeded {
            changes.extend(self.settled_with(id, settles, now)?);
        }
        self.journal.write(changes).await?;
        mate_fault::point_async!("settle.committed");
        Ok(word)
    }

    /// The uncertain operations that went out under the key of one that has succeeded have succeeded with it.
    fn settled_with(
        &self,
        id: OperationId,
        settles: &[Operation],
        now: Micros,
    ) -> Result<Vec<Change>, EngineError> {
        let mut changes = Vec::new();
        for operation in settles {
            let OperationState::Unknown { .. } = operation.state else { continue };
            let detail = format!("{id}, under the same idempotency key, has succeeded");
            let evidence = Evidence::of(EvidenceKind::Repeat, detail.clone());
            let resolve = OperationCommand::Resolve { verdict: Verdict::Succeeded, evidence };
            let transition = operation.state.decide(operation.class, resolve, now)?;
            let event = Draft {
                kind: EventType::OperationSucceeded,
                task: Some(operation.task),
                turn: Some(operation.turn),
                at: now,
                data: json!({ "operation": operation.id, "detail": detail }),
            };
            let facts = OperationFacts::default();
            changes.extend([
                Change::MoveOperation { id: operation.id, transition, facts },
                Change::Event(event),
            ]);
        }
        Ok(changes)
    }
}

/// The event that tells of an outcome.
pub(crate) const fn settled_event(word: OperationStateWord) -> EventType {
    match word {
        OperationStateWord::Succeeded => EventType::OperationSucceeded,
        OperationStateWord::Failed => EventType::OperationFailed,
        OperationStateWord::NotSent => EventType::OperationNotSent,
        OperationStateWord::Abandoned => EventType::OperationAbandoned,
        OperationStateWord::Denied => EventType::OperationDenied,
        OperationStateWord::AwaitingApproval => EventType::OperationAwaitingApproval,
        OperationStateWord::Expired => EventType::OperationExpired,
        OperationStateWord::Withdrawn => EventType::OperationWithdrawn,
        OperationStateWord::Requested | OperationStateWord::InFlight => EventType::OperationAdmitted,
        OperationStateWord::Unknown => EventType::OperationUnknown,
    }
}

/// What there is to say of an outcome, in words.
pub(crate) fn detail(state: &OperationState) -> &str {
    match state {
        OperationState::Succeeded { evidence }
        | OperationState::Failed { evidence }
        | OperationState::NotSent { evidence }
        | OperationState::Abandoned { evidence } => &evidence.detail,
        OperationState::Unknown { detail } | OperationState::Denied { detail, .. } => detail,
        OperationState::Requested
        | OperationState::AwaitingApproval { .. }
        | OperationState::Expired
        | OperationState::Withdrawn
        | OperationState::InFlight => "",
    }
}
