//! What goes on from what: sessions from earlier ones (`--fresh`), repeats from the operations that they repeat.

use crate::{Engine, EngineError};
use mate_model::{OperationId, SessionId, records::Operation, words::EffectClass};
use mate_store::JournalReader;

/// The longest line of sessions that go on afresh, one from the other.
const LONGEST: usize = 64;
/// The most operations that go out under one idempotency key, each by the leave to repeat the one before.
const UNDER_ONE_KEY: usize = 16;

impl Engine {
    /// The sessions that a session goes on from, the nearest first; none for most. It never changes, since a session's
    /// first task does not.
    ///
    /// # Errors
    /// The ledger's, or that the line is longer than can be looked along: then nothing may be admitted in it.
    pub async fn earlier_sessions(&self, session: SessionId) -> Result<Vec<SessionId>, EngineError> {
        let mut line = Vec::new();
        let mut last = session;
        loop {
            let first = self.ledger.tasks_of_session(last, Some(2), 1).await?;
            if let Some(corrupt) = first.corrupt.into_iter().next() {
                return Err(EngineError::from(corrupt));
            }
            let Some(continued) = first.items.first().and_then(|task| task.continues) else {
                return Ok(line);
            };
            let earlier = self.ledger.task(continued).await?.ok_or(EngineError::NotFound)?;
            if earlier.session == last {
                return Ok(line);
            }
            if line.len() >= LONGEST {
                return Err(EngineError::Unavailable(format!(
                    "{session} goes on from more than {LONGEST} sessions; submit the work as a new task"
                )));
            }
            last = earlier.session;
            line.push(last);
        }
    }

    /// An operation of the session that `own` reads, or of another one.
    ///
    /// # Errors
    /// The store's.
    pub(crate) async fn operation_of(
        &self,
        own: &JournalReader,
        id: OperationId,
    ) -> Result<Option<Operation>, EngineError> {
        if id.session == own.session() {
            return Ok(own.operation(id).await?);
        }
        Ok(self.stores.journal_reader(id.session).await?.operation(id).await?)
    }

    /// The operations that went out under one idempotency key, from `newest` back to the first, whose id is the key.
    /// They may be of sessions that the newest one's goes on from.
    ///
    /// # Errors
    /// The store's, or that there are more than can be looked along: then the key is not known.
    pub(crate) async fn under_one_key(
        &self,
        own: &JournalReader,
        newest: Operation,
    ) -> Result<Vec<Operation>, EngineError> {
        let mut line = vec![newest];
        // A repeat of another class went out under a key of its own.
        while let Some(repeat) = line.last().filter(|repeat| repeat.class == EffectClass::Idempotent)
            && let Some(before) = repeat.repeats
            && let Some(operation) = self.operation_of(own, before).await?
        {
            if line.len() >= UNDER_ONE_KEY {
                return Err(EngineError::Unavailable(format!(
                    "{} was repeated more than {UNDER_ONE_KEY} times under one key; submit the work as a new task",
                    operation.id
                )));
            }
            line.push(operation);
        }
        Ok(line)
    }

    /// The first operation that went out under the key of `operation`.
    ///
    /// # Errors
    /// As [`Engine::under_one_key`].
    pub(crate) async fn first_under_key(
        &self,
        own: &JournalReader,
        operation: &Operation,
    ) -> Result<OperationId, EngineError> {
        let line = self.under_one_key(own, operation.clone()).await?;
        Ok(line.last().map_or(operation.id, |first| first.id))
    }
}
