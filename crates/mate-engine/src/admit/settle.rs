//! What became of an admitted call, written before the runtime hears of it.

use super::{Admission, CurrentTurn, Go, Receipt, twins::TwinGuard};
use crate::{
    Engine, EngineError, artifact,
    spill::{Held, Slot, record},
};
use mate_model::{
    Micros, OperationId, Refusal,
    event::{Draft, EventType},
    operation::{OperationCommand, OperationState, OperationStateWord, Outcome},
    records::{Artifact, ArtifactState},
    words::EffectClass,
};
use mate_store::{Change, JournalError, JournalWriter, OperationFacts, Pending, Written};
use serde_json::json;
use std::{sync::Arc, time::Duration};
use tokio::sync::oneshot;

/// How long a journal may take for an outcome before it is held beside it. A journal in trouble is not waited for.
const SOON: Duration = Duration::from_secs(2);
/// What even a healthy journal may take.
const AT_ONCE: Duration = Duration::from_millis(50);

/// How a call ended, with its times and the size of its result.
#[derive(Clone, Debug)]
pub struct Ended {
    /// What became of it.
    pub outcome: Outcome,
    /// Times and sizes.
    pub facts: OperationFacts,
    /// The upstream's result, where there is one: kept until the runtime has heard of it.
    pub result: Option<String>,
    /// What the result leaves behind: promised, or settled already.
    pub artifacts: Vec<Artifact>,
    /// How many more it would have left.
    pub left_out: usize,
}

impl Ended {
    /// An outcome that leaves nothing behind.
    #[must_use]
    pub const fn new(outcome: Outcome, facts: OperationFacts, result: Option<String>) -> Self {
        Self { outcome, facts, result, artifacts: Vec::new(), left_out: 0 }
    }

    /// A call that was not sent, and why.
    #[must_use]
    pub fn not_sent(detail: String) -> Self {
        Self::new(Outcome::NotSent { detail }, OperationFacts::default(), None)
    }
}

impl Ended {
    /// Of a further round: that it was not sent proves nothing about the rounds before it.
    fn after_others(self) -> Self {
        let outcome = match self.outcome {
            Outcome::NotSent { detail } => {
                Outcome::Lost { detail: format!("the answer to its question was not sent: {detail}") }
            }
            other @ (Outcome::Result { .. } | Outcome::Error { .. } | Outcome::Lost { .. }) => other,
        };
        Self { outcome, ..self }
    }
}

impl Admission {
    /// Records how an admitted call ended. Uses up the leave to send it. What is given back tells whether the runtime
    /// has heard of it.
    ///
    /// When the journal cannot take it at the moment it is held in the session's spill file, which is as durable,
    /// until the journal has it.
    ///
    /// # Errors
    /// The journal's, when the outcome could not be held either: the agent must not be told of one then.
    pub async fn settle(&self, go: Go, ended: Ended) -> Result<Receipt, EngineError> {
        let (operation, from) = (go.operation(), OperationState::InFlight);
        let round = self.answerable.close(operation).await.unwrap_or(go.round);
        self.questions.show(operation, None);
        let ended = if round > 1 { ended.after_others() } else { ended };
        let last = self.last_round(operation, round, self.now())?;
        let held = Held::new(operation, &ended);
        let (word, changes) = self.outcome(operation, &from, go.class, go.turn, ended)?;
        let changes = last.into_iter().chain(changes).collect();
        let news = word == OperationStateWord::Succeeded && go.class != EffectClass::Read;
        let mut pending = self.journal.post(changes).await?;
        if let Some(written) = self.soon(&mut pending).await {
            written?;
            mate_fault::point_async!("settle.committed");
            if word == OperationStateWord::Succeeded {
                self.settles_too(operation, &go.settles).await;
            }
            let twin = go.twin.map(TwinGuard::settled);
            return Ok(if news { Receipt::of(&self.heard, operation, twin) } else { Receipt::plain() });
        }
        let slot = go.slot.hold(held.clone()).await;
        let kept = slot.as_ref().map(|_| ()).map_err(Clone::clone);
        let (receipt, over) = Receipt::held(news.then_some(&self.heard), operation);
        self.follow(pending, held, slot.ok(), go.twin, Some(over));
        kept.map_err(|why| {
            EngineError::Unavailable(format!("the outcome can be neither recorded nor held ({why})"))
        })?;
        tracing::warn!(%operation, "the journal cannot take an outcome now: it is held");
        Ok(receipt)
    }

    /// The intent of a call may have been written although the journal said that it was not: it was never sent.
    pub(super) async fn never_sent(
        &self,
        operation: OperationId,
        class: EffectClass,
        turn: CurrentTurn,
        slot: Slot,
    ) -> Result<(), EngineError> {
        let ended = Ended::not_sent("the journal did not confirm the call's intent in time".to_owned());
        let held = Held::new(operation, &ended);
        let (_, changes) = recorded(operation, &OperationState::InFlight, class, turn, ended, self.now())?;
        let pending = self.journal.post(changes).await?;
        let slot = slot.hold(held.clone()).await;
        self.follow(pending, held, slot.ok(), None, None);
        Ok(())
    }

    /// Waits in the background until the journal has an outcome. Equal calls are let in after that, and when it is
    /// known (`over`) whether its answer has reached the runtime.
    fn follow(
        &self,
        pending: Pending,
        held: Held,
        slot: Option<Slot>,
        twin: Option<TwinGuard>,
        over: Option<oneshot::Receiver<()>>,
    ) {
        let (journal, engine) = (self.journal.clone(), Arc::clone(&self.engine));
        let follower = Follower { journal, engine, held, slot };
        let unrecorded = self.unrecorded.clone();
        unrecorded.send_modify(|count| *count += 1);
        tokio::spawn(async move {
            // One that failed is left to recovery, and counts as long as the worker lives.
            if follower.follow(pending).await {
                unrecorded.send_modify(|count| *count -= 1);
                if let Some(over) = over {
                    // Nothing is sent: the other end is dropped with the receipt.
                    let _ = over.await;
                }
                drop(twin.map(TwinGuard::settled));
            }
        });
    }

    /// How many calls are out whose outcome is not known yet.
    #[must_use]
    pub fn out(&self) -> usize {
        self.spill.out()
    }

    /// How many outcomes are known that the journal does not have yet.
    #[must_use]
    pub fn unrecorded(&self) -> usize {
        *self.unrecorded.borrow()
    }

    /// Waits until the journal has every outcome that is known.
    pub async fn recorded(&self) {
        let mut unrecorded = self.unrecorded.subscribe();
        // The sender lives as long as this desk.
        let _ = unrecorded.wait_for(|count| *count == 0).await;
    }

    /// What the journal says of a write, when it says so soon; none when it is in trouble, or slow.
    async fn soon(&self, pending: &mut Pending) -> Option<Result<Written, JournalError>> {
        if let Ok(written) = tokio::time::timeout(AT_ONCE, pending.written()).await {
            return Some(written);
        }
        tokio::select! {
            biased;
            written = pending.written() => Some(written),
            () = self.journal.troubled() => None,
            () = tokio::time::sleep(SOON) => None,
        }
    }

    pub(super) async fn write_outcome(
        &self,
        id: OperationId,
        from: &OperationState,
        class: EffectClass,
        turn: CurrentTurn,
        ended: Ended,
        last_round: Option<Change>,
    ) -> Result<OperationStateWord, EngineError> {
        let (word, changes) = self.outcome(id, from, class, turn, ended)?;
        let changes = last_round.into_iter().chain(changes).collect();
        self.journal.write(changes).await?;
        mate_fault::point_async!("settle.committed");
        Ok(word)
    }

    /// What is written of an outcome, and the state that it leads to.
    fn outcome(
        &self,
        id: OperationId,
        from: &OperationState,
        class: EffectClass,
        turn: CurrentTurn,
        mut ended: Ended,
    ) -> Result<(OperationStateWord, Vec<Change>), EngineError> {
        let now = self.now();
        let result = ended.result.take();
        let artifacts = std::mem::take(&mut ended.artifacts);
        let left_out = ended.left_out;
        let (to, mut changes) = recorded(id, from, class, turn, ended, now)?;
        if let (false, Some(Change::Event(event))) = (artifacts.is_empty(), changes.last_mut()) {
            event.data["artifacts"] = artifacts.iter().map(|one| one.id.to_string()).collect();
            event.data["artifacts_left_out"] = left_out.into();
        }
        for artifact in artifacts {
            let settled = artifact.content.state() != ArtifactState::Promised;
            let event = settled.then(|| Change::Event(artifact::recorded(&artifact, turn.turn, now)));
            changes.push(Change::AddArtifact { turn: turn.turn, artifact: Box::new(artifact) });
            changes.extend(event);
        }
        if matches!(to, OperationState::Succeeded { .. }) {
            changes.extend(self.keep(id, class, result.as_deref())?);
        }
        Ok((to.word(), changes))
    }
}

/// An outcome on its way into the journal after its call was answered, or given up.
struct Follower {
    journal: JournalWriter,
    engine: Arc<Engine>,
    held: Held,
    slot: Option<Slot>,
}

impl Follower {
    /// Waits until the journal has it, and gives the slot back; says whether that came true.
    async fn follow(self, mut pending: Pending) -> bool {
        let operation = self.held.operation;
        let written = match pending.written().await {
            Ok(_) => Ok(()),
            // The operation moved: its present state decides.
            Err(JournalError::Conflict(_)) => record(&self.engine, &self.journal, &self.held).await,
            Err(error) => Err(error.into()),
        };
        if let Err(error) = written {
            tracing::error!(%operation, %error, "a held outcome is left to recovery");
            return false;
        }
        if let Some(slot) = self.slot {
            mate_fault::point_async!("spill.taken_in");
            slot.free().await;
        }
        tracing::info!(%operation, "the journal has the outcome that was held");
        true
    }
}

/// The changes that record an outcome by itself, and the state that they lead to.
pub(crate) fn recorded(
    id: OperationId,
    from: &OperationState,
    class: EffectClass,
    turn: CurrentTurn,
    ended: Ended,
    now: Micros,
) -> Result<(OperationState, Vec<Change>), Refusal> {
    let transition = from.decide(class, OperationCommand::Settle(ended.outcome), now)?;
    let to = transition.to().clone();
    let event = Draft {
        kind: settled_event(to.word()),
        task: Some(turn.task),
        turn: Some(turn.turn),
        at: now,
        data: json!({
            "operation": id,
            "duration_us": ended.facts.duration_us,
            "size": ended.facts.result_size,
            "detail": detail(&to),
        }),
    };
    Ok((to, vec![Change::MoveOperation { id, transition, facts: ended.facts }, Change::Event(event)]))
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
