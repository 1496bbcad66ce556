//! Held outcomes on their way into the journal.

use super::{Held, Spill};
use crate::{
    Engine, EngineError,
    admit::{CurrentTurn, recorded},
    resolve::Known,
};
use mate_model::{
    Refusal,
    operation::{OperationState, OperationStateWord},
    resolution::Finding,
    words::EffectClass,
};
use mate_store::{Change, JournalError, JournalWriter};
use std::sync::Arc;

/// How often an outcome is decided again because its operation moved at that moment.
const TRIES: u32 = 5;

impl Engine {
    /// Takes everything that a session's spill file holds into its journal, and frees the slots. Says how many
    /// outcomes there were. For the holder of the lock, before anything is classified.
    ///
    /// # Errors
    /// The file's or the journal's. What was not taken in is still held.
    pub async fn take_in(&self, spill: &Arc<Spill>, journal: &JournalWriter) -> Result<u64, EngineError> {
        let unreadable = |error| EngineError::Unavailable(format!("held outcomes cannot be read: {error}"));
        let mut taken = 0;
        for (slot, held) in spill.content().map_err(unreadable)? {
            if let Some(held) = held {
                record(self, journal, &held).await?;
                mate_fault::point_async!("spill.recovered");
                taken += 1;
            }
            slot.free().await;
        }
        Ok(taken)
    }
}

/// Writes one held outcome. One that its operation has no use for any more changes nothing.
pub(crate) async fn record(engine: &Engine, journal: &JournalWriter, held: &Held) -> Result<(), EngineError> {
    let reader = journal.reader();
    let mut last = None;
    for _ in 0..TRIES {
        let Some(row) = reader.operation(held.operation).await? else {
            tracing::warn!(operation = %held.operation, "an outcome was held of a call that the journal does not have");
            return Ok(());
        };
        if let OperationState::Unknown { .. } = row.state {
            return late(engine, journal, held).await;
        }
        let (turn, now) = (CurrentTurn { task: row.task, turn: row.turn }, engine.clock.now());
        let changes = match recorded(held.operation, &row.state, row.class, turn, held.ended(), now) {
            Ok((OperationState::Succeeded { .. }, changes)) if row.class != EffectClass::Read => {
                // Whether the runtime has heard of it is not held, and its result is not at hand.
                let unheard = Change::KeepResult { operation: held.operation, sealed: None };
                changes.into_iter().chain([unheard]).collect()
            }
            Ok((_, changes)) => changes,
            // Taken in before a crash, or settled by other evidence.
            Err(Refusal::Final { .. } | Refusal::NoEvidence | Refusal::Already { .. }) => return Ok(()),
            Err(refusal @ (Refusal::NotNow { .. } | Refusal::Stale { .. })) => return Err(refusal.into()),
        };
        match journal.write(changes).await {
            Ok(_) => return Ok(()),
            Err(error @ JournalError::Conflict(_)) => last = Some(error),
            Err(error) => return Err(error.into()),
        }
    }
    Err(last.map_or_else(|| EngineError::Internal("no try was made".to_owned()), EngineError::from))
}

/// An outcome that was held too long: its operation was given up meanwhile, and it is evidence like any other.
async fn late(engine: &Engine, journal: &JournalWriter, held: &Held) -> Result<(), EngineError> {
    let Ok((verdict, evidence)) = held.ended().outcome.late() else { return Ok(()) };
    let finding = Finding { verdict, evidence, proof: None, permit_repeat: false };
    engine.take_evidence(&journal.reader(), held.operation, &finding).await?;
    let known = Known { operation: held.operation, facts: held.ended().facts, kept: None };
    engine.apply_resolutions(journal, Some(known)).await.map(|_| ())
}

/// Whether an operation in this state may have an outcome that is held.
pub(crate) const fn may_be_held(state: OperationStateWord) -> bool {
    match state {
        OperationStateWord::InFlight => true,
        OperationStateWord::Requested
        | OperationStateWord::Denied
        | OperationStateWord::AwaitingApproval
        | OperationStateWord::Expired
        | OperationStateWord::Withdrawn
        | OperationStateWord::Succeeded
        | OperationStateWord::Failed
        | OperationStateWord::NotSent
        | OperationStateWord::Unknown
        | OperationStateWord::Abandoned => false,
    }
}
