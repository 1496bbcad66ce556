//! The writer's actor: takes whatever waits and commits it as one script.

use super::{
    Change, JournalError, Written,
    compose::{End, Pen},
    later::Later,
    takeover,
};
use crate::{Database, StoreError, port::MAX_SCRIPT};
use std::{sync::Arc, time::Duration};
use tokio::sync::{mpsc, oneshot};

/// The most writes in one script.
const BATCH: usize = 256;

/// How often the end of the journal is looked for after a lost answer, before the writes are given up.
const LOOKS: u32 = 20;

/// A write that waits.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) changes: Vec<Change>,
    pub(super) reply: oneshot::Sender<Result<Written, JournalError>>,
}

/// Owns the end of the journal.
#[derive(Debug)]
pub(super) struct Actor {
    db: Arc<dyn Database>,
    pen: Pen,
    end: End,
    /// Where the journal ends if the last script, whose answer was lost, was kept.
    doubt: Option<End>,
    requests: mpsc::Receiver<Request>,
    later: Later,
    /// A request that did not fit into the last batch.
    waiting: Option<Request>,
}

impl Actor {
    pub(super) fn new(
        db: Arc<dyn Database>,
        pen: Pen,
        end: End,
        requests: mpsc::Receiver<Request>,
        later: Later,
    ) -> Self {
        Self { db, pen, end, doubt: None, requests, later, waiting: None }
    }

    /// Until the last writer is gone.
    pub(super) async fn run(mut self) {
        while let Some(batch) = self.next_batch().await {
            self.commit(batch).await;
        }
    }

    async fn next_batch(&mut self) -> Option<Vec<Request>> {
        let first = match self.waiting.take() {
            Some(request) => request,
            None => self.requests.recv().await?,
        };
        let mut size = 1 + first.changes.len();
        let mut batch = Vec::new();
        let with = self.later.take(MAX_SCRIPT.saturating_sub(size));
        if !with.is_empty() {
            size += with.len();
            batch.push(Request { changes: with, reply: oneshot::channel().0 });
        }
        batch.push(first);
        while batch.len() < BATCH
            && let Ok(request) = self.requests.try_recv()
        {
            if size + request.changes.len() > MAX_SCRIPT {
                self.waiting = Some(request);
                break;
            }
            size += request.changes.len();
            batch.push(request);
        }
        Some(batch)
    }

    /// Writes the batch at once; if it is refused for what is in it, one by one, so that each gets its own answer.
    async fn commit(&mut self, mut batch: Vec<Request>) {
        let many = batch.len() > 1;
        match self.write(batch.iter().map(|request| request.changes.as_slice())).await {
            Ok(seqs) => {
                for (request, seq) in batch.into_iter().zip(seqs) {
                    answer(request.reply, Ok(Written::of(&request.changes, seq)));
                }
            }
            Err(error) if many && concerns_one(&error) => {
                for request in batch {
                    let result = self.write(std::iter::once(request.changes.as_slice())).await;
                    let written = result
                        .map(|seqs| Written::of(&request.changes, seqs.last().copied().unwrap_or_default()));
                    answer(request.reply, written);
                }
            }
            Err(error) => {
                for request in batch.drain(..) {
                    answer(request.reply, Err(error.clone()));
                }
            }
        }
    }

    /// One script. Answers the number of the last event after each of the writes.
    async fn write<'a>(
        &mut self,
        writes: impl Iterator<Item = &'a [Change]>,
    ) -> Result<Vec<i64>, JournalError> {
        self.settle_doubt().await?;
        let from = self.end;
        let mut to = End { writes: from.writes + 1, ..from };
        let mut script = vec![self.pen.advance(&from, &to)];
        let mut seqs = Vec::new();
        for changes in writes {
            self.pen.compose(changes, &mut to, &mut script)?;
            seqs.push(to.seq);
        }
        if let Some(guard) = script.first_mut() {
            *guard = self.pen.advance(&from, &to);
        }
        match self.db.script(script).await {
            Ok(_) => {
                self.end = to;
                Ok(seqs)
            }
            Err(StoreError::Guard { statement: 0, .. }) => Err(self.displaced().await),
            Err(error) if error.maybe_committed() => {
                self.doubt = Some(to);
                if self.settle_doubt().await? { Ok(seqs) } else { Err(not_kept(&error).into()) }
            }
            Err(error @ (StoreError::Guard { .. } | StoreError::Constraint { .. })) => {
                Err(JournalError::Conflict(error))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Finds out what became of a script whose answer was lost; true when it was kept.
    ///
    /// A server may still be at work on it, so looking is not enough: a write of our own counts up by two, after
    /// which the lost script can no longer be kept.
    async fn settle_doubt(&mut self) -> Result<bool, JournalError> {
        let Some(kept) = self.doubt else { return Ok(false) };
        let fenced = End { writes: self.end.writes + 2, ..self.end };
        let mut looks = 0;
        loop {
            match self.look(&fenced).await {
                Ok(end) if end == kept || end == fenced => {
                    (self.end, self.doubt) = (end, None);
                    return Ok(end == kept);
                }
                Ok(_) => return Err(moved_by_another()),
                Err(JournalError::Store(error)) if looks < LOOKS => {
                    looks += 1;
                    tracing::warn!(%error, looks, "the end of the journal cannot be found; trying again");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                Err(JournalError::Store(error)) => {
                    let why = error.to_string();
                    return Err(StoreError::Unavailable { why, maybe_committed: true }.into());
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn look(&self, fenced: &End) -> Result<End, JournalError> {
        match self.db.execute(self.pen.advance(&self.end, fenced)).await {
            Ok(_) => Ok(*fenced),
            Err(StoreError::Guard { .. }) => {
                takeover::end(self.db.as_ref(), &self.pen.key, self.pen.epoch).await
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Why the guard refused: another epoch, or a row that somebody else wrote.
    async fn displaced(&mut self) -> JournalError {
        match takeover::end(self.db.as_ref(), &self.pen.key, self.pen.epoch).await {
            Ok(_) => moved_by_another(),
            Err(error) => error,
        }
    }
}

fn moved_by_another() -> JournalError {
    let why = "the journal's head was moved by somebody else under this epoch: end this worker";
    JournalError::Conflict(StoreError::Other(why.to_owned()))
}

fn not_kept(error: &StoreError) -> StoreError {
    StoreError::Unavailable { why: error.to_string(), maybe_committed: false }
}

/// Whether one write of a batch can have spoilt it for the others.
const fn concerns_one(error: &JournalError) -> bool {
    match error {
        JournalError::Conflict(_) => true,
        JournalError::Store(error) => !error.maybe_committed(),
        JournalError::Stale { .. } | JournalError::TooMany { .. } | JournalError::Closed => false,
    }
}

/// A caller that went away is no failure of the writer.
fn answer(reply: oneshot::Sender<Result<Written, JournalError>>, result: Result<Written, JournalError>) {
    if reply.send(result).is_err() {
        tracing::debug!("a journal write was answered to nobody");
    }
}
