//! The one writer of a journal.

use super::{
    Change, JournalError, JournalReader, OperationFacts, Takeover, Written,
    actor::{Actor, Request},
    compose::Pen,
    later::Later,
    takeover,
};
use crate::{Database, StoreError};
use mate_model::{
    Epoch, Micros, OperationId, SessionId, Transition, event::Draft, operation::OperationState,
};
use std::{sync::Arc, time::Duration};
use tokio::sync::{mpsc, oneshot, watch};

/// How many writes may wait.
const QUEUE: usize = 1_024;

/// The most changes in one write; a script has a bound, and one more statement is the guard.
pub const BULK: usize = 900;

/// Writes to one session's journal. Clones share the queue; the writer ends with the last of them.
#[derive(Clone, Debug)]
pub struct JournalWriter {
    db: Arc<dyn Database>,
    session: SessionId,
    epoch: Epoch,
    queue: mpsc::Sender<Request>,
    later: Later,
    trouble: watch::Receiver<bool>,
}

/// A write on its way. Dropping it withdraws the write, unless it is being written already.
#[derive(Debug)]
pub struct Pending(oneshot::Receiver<Result<Written, JournalError>>);

impl Pending {
    /// Waits until the write is durable, however long that takes.
    ///
    /// # Errors
    /// As [`JournalWriter::write`], but for a store that can take nothing now: that is waited out.
    pub async fn written(&mut self) -> Result<Written, JournalError> {
        (&mut self.0).await.map_err(|_| JournalError::Closed)?
    }

    /// What became of the write, if that is known already.
    ///
    /// # Errors
    /// As [`Pending::written`].
    pub fn look(&mut self) -> Result<Option<Written>, JournalError> {
        match self.0.try_recv() {
            Ok(written) => written.map(Some),
            Err(oneshot::error::TryRecvError::Empty) => Ok(None),
            Err(oneshot::error::TryRecvError::Closed) => Err(JournalError::Closed),
        }
    }
}

impl JournalWriter {
    /// Takes the journal over with `epoch`, or begins it. Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// [`JournalError::Stale`] when the stored epoch is not lower, and the store's.
    pub async fn take_over(
        db: Arc<dyn Database>,
        session: SessionId,
        epoch: Epoch,
        now: Micros,
    ) -> Result<(Self, Takeover), JournalError> {
        let (found, end) = takeover::take(db.as_ref(), session, epoch, now).await?;
        let (queue, requests) = mpsc::channel(QUEUE);
        let pen = Pen { session, key: session.into(), epoch };
        let later = Later::default();
        let (tell, trouble) = watch::channel(false);
        tokio::spawn(Actor::new(Arc::clone(&db), pen, end, requests, later.clone(), tell).run());
        Ok((Self { db, session, epoch, queue, later, trouble }, found))
    }

    /// Writes the changes, all or none; durable when this returns. Waits while the queue is full.
    ///
    /// A caller that is dropped may have written all the same: what follows from a write belongs into a task that
    /// nobody drops.
    ///
    /// # Errors
    /// [`JournalError::Stale`] when another writer has taken over, [`JournalError::Conflict`] when a row is not as
    /// the changes want it, [`JournalError::TooMany`] above [`BULK`], and the store's.
    pub async fn write(&self, changes: Vec<Change>) -> Result<Written, JournalError> {
        self.queue(changes, false).await?.written().await
    }

    /// Like [`JournalWriter::write`], but a store that can take nothing now (full, locked, away) is waited for.
    /// Writes keep their order. Not for intents: what waits for its intent is refused instead.
    ///
    /// # Errors
    /// As [`JournalWriter::write`]; [`StoreError::Unavailable`] when `patience` is over.
    pub async fn write_patiently(
        &self,
        changes: Vec<Change>,
        patience: Duration,
    ) -> Result<Written, JournalError> {
        let written = async { self.post(changes).await?.written().await };
        tokio::time::timeout(patience, written).await.unwrap_or_else(|_| {
            let why = format!("it could not be written for {} s", patience.as_secs());
            Err(StoreError::Unavailable { why, maybe_committed: true }.into())
        })
    }

    /// Queues a write behind those before it. It is tried again while the store can take nothing, for as long as
    /// somebody holds the answer.
    ///
    /// # Errors
    /// [`JournalError::TooMany`] above [`BULK`], and [`JournalError::Closed`].
    pub async fn post(&self, changes: Vec<Change>) -> Result<Pending, JournalError> {
        self.queue(changes, true).await
    }

    async fn queue(&self, changes: Vec<Change>, patient: bool) -> Result<Pending, JournalError> {
        if changes.len() > BULK {
            return Err(JournalError::TooMany { got: changes.len(), most: BULK });
        }
        let (reply, answer) = oneshot::channel();
        self.queue
            .send(Request { changes, reply: Some(reply), patient })
            .await
            .map_err(|_| JournalError::Closed)?;
        Ok(Pending(answer))
    }

    /// Waits until the store is in trouble: its last write failed, and it may pass.
    pub async fn troubled(&self) {
        let mut trouble = self.trouble.clone();
        if trouble.wait_for(|troubled| *troubled).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Leaves a change to go along with the next write of anybody; costs no commit of its own. It is lost when that
    /// write fails, when no other comes, or when too many wait: only what may be lost is left here.
    pub fn later(&self, change: Change) {
        if !self.later.put(change) {
            tracing::warn!("a change that nobody waits for was let go: too many wait");
        }
    }

    /// Moves many operations, each with its event, in as few writes as they need; for recovery.
    ///
    /// # Errors
    /// As [`JournalWriter::write`]; writes before the failed one are kept.
    pub async fn move_all(
        &self,
        moves: Vec<(OperationId, Transition<OperationState>, Draft)>,
    ) -> Result<(), JournalError> {
        let mut moves = moves.into_iter().peekable();
        while moves.peek().is_some() {
            let chunk = moves.by_ref().take(BULK / 2).flat_map(|(id, transition, draft)| {
                let facts = OperationFacts::default();
                [Change::MoveOperation { id, transition, facts }, Change::Event(draft)]
            });
            self.write(chunk.collect()).await?;
        }
        Ok(())
    }

    /// Reads the same journal.
    #[must_use]
    pub fn reader(&self) -> JournalReader {
        JournalReader::new(Arc::clone(&self.db), self.session)
    }

    /// The session.
    #[must_use]
    pub const fn session(&self) -> SessionId {
        self.session
    }

    /// The epoch that this writer writes with.
    #[must_use]
    pub const fn epoch(&self) -> Epoch {
        self.epoch
    }
}
