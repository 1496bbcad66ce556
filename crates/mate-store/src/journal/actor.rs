//! The writer's actor: takes whatever waits and commits it as one script.

use super::{
    Change, JournalError, Written,
    compose::{End, Pen},
    later::Later,
    takeover,
};
use crate::{Database, StoreError, port::MAX_SCRIPT};
use std::{collections::VecDeque, sync::Arc, time::Duration};
use tokio::sync::{mpsc, oneshot, watch};

/// The most writes in one script.
const BATCH: usize = 256;

/// How often the end of the journal is looked for after a lost answer, before the writes are given up.
const LOOKS: u32 = 20;

/// The pause between two tries of a write that is waited for patiently.
const AGAIN: Duration = Duration::from_millis(100);

/// A write that waits.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) changes: Vec<Change>,
    /// Who waits for it; nobody, when it went along with others.
    pub(super) reply: Option<oneshot::Sender<Result<Written, JournalError>>>,
    /// Tried again while the store cannot take it, for as long as its caller waits.
    pub(super) patient: bool,
}

impl Request {
    fn is_awaited(&self) -> bool {
        self.reply.as_ref().is_some_and(|reply| !reply.is_closed())
    }
}

/// A script whose answer was lost.
#[derive(Debug)]
struct Doubt {
    /// Where the journal ends if it was kept.
    end: End,
    /// The number of the last event after each of its writes, if it was kept.
    seqs: Vec<i64>,
    /// Those of its writes that are still waited for; the others were answered.
    writes: Vec<Option<Request>>,
}

/// Owns the end of the journal.
#[derive(Debug)]
pub(super) struct Actor {
    db: Arc<dyn Database>,
    pen: Pen,
    end: End,
    doubt: Option<Doubt>,
    requests: mpsc::Receiver<Request>,
    later: Later,
    /// Requests that were taken from the queue and are to be written next.
    waiting: VecDeque<Request>,
    /// Told while the store cannot take what it is given.
    trouble: watch::Sender<bool>,
}

impl Actor {
    pub(super) fn new(
        db: Arc<dyn Database>,
        pen: Pen,
        end: End,
        requests: mpsc::Receiver<Request>,
        later: Later,
        trouble: watch::Sender<bool>,
    ) -> Self {
        Self { db, pen, end, doubt: None, requests, later, waiting: VecDeque::new(), trouble }
    }

    /// Until the last writer is gone.
    pub(super) async fn run(mut self) {
        loop {
            let done = match self.end_doubt().await {
                Ok(()) => match self.next_batch().await {
                    Some(batch) => self.commit(batch).await,
                    None => return,
                },
                Err(error) => Err(error),
            };
            let troubled = done.is_err();
            self.trouble.send_if_modified(|told| std::mem::replace(told, troubled) != troubled);
            let Err(error) = done else { continue };
            if self.doubt.is_some() {
                self.refuse_waiting(&error);
            }
            if self.is_over() {
                return;
            }
            if self.doubt.is_some() || !self.waiting.is_empty() {
                tokio::time::sleep(AGAIN).await;
            }
        }
    }

    /// Whether nobody waits for anything any more, and nobody can.
    fn is_over(&self) -> bool {
        let doubtful = self.doubt.iter().flat_map(|doubt| doubt.writes.iter().flatten());
        self.requests.is_closed()
            && self.requests.is_empty()
            && !self.waiting.iter().chain(doubtful).any(Request::is_awaited)
    }

    async fn next_batch(&mut self) -> Option<Vec<Request>> {
        let first = match self.waiting.pop_front() {
            Some(request) => request,
            None => self.requests.recv().await?,
        };
        let mut size = 1 + first.changes.len();
        let mut batch = vec![first];
        while batch.len() < BATCH
            && let Some(request) = self.waiting.pop_front().or_else(|| self.requests.try_recv().ok())
        {
            if size + request.changes.len() > MAX_SCRIPT {
                self.waiting.push_front(request);
                break;
            }
            size += request.changes.len();
            batch.push(request);
        }
        // Behind the others: it may be about what they write.
        let along = self.later.take(MAX_SCRIPT.saturating_sub(size));
        if !along.is_empty() {
            batch.push(Request { changes: along, reply: None, patient: true });
        }
        Some(batch)
    }

    /// Writes the batch at once; if it is refused for what is in it, one by one, so that each gets its own answer.
    ///
    /// The error is the store's, that can take nothing now: who waits patiently waits on.
    async fn commit(&mut self, batch: Vec<Request>) -> Result<(), JournalError> {
        let many = batch.len() > 1;
        match self.write(batch.iter().map(|request| request.changes.as_slice())).await {
            Ok(seqs) => {
                for (request, seq) in batch.into_iter().zip(seqs) {
                    written(request, seq);
                }
                Ok(())
            }
            Err(error) if many && concerns_one(&error) => self.commit_each(batch).await,
            Err(error) => self.put_off(batch, error),
        }
    }

    async fn commit_each(&mut self, batch: Vec<Request>) -> Result<(), JournalError> {
        let mut batch = batch.into_iter();
        while let Some(request) = batch.next() {
            match self.write(std::iter::once(request.changes.as_slice())).await {
                Ok(seqs) => written(request, seqs.last().copied().unwrap_or_default()),
                // What comes later is not written before it.
                Err(error) if may_pass(&error) => return self.put_off_from(request, batch, error),
                Err(error) => answer(request.reply, Err(error)),
            }
        }
        Ok(())
    }

    /// Keeps what is waited for patiently, to be tried again, and answers the rest.
    fn put_off(&mut self, batch: Vec<Request>, error: JournalError) -> Result<(), JournalError> {
        if !may_pass(&error) {
            for request in batch {
                answer(request.reply, Err(error.clone()));
            }
            return Ok(());
        }
        let kept: Vec<_> = batch.into_iter().map(|request| keep(request, &error)).collect();
        match &mut self.doubt {
            Some(doubt) if error.maybe_committed() => doubt.writes = kept,
            Some(_) | None => {
                for request in kept.into_iter().rev().flatten() {
                    self.waiting.push_front(request);
                }
            }
        }
        Err(error)
    }

    /// Keeps what was just tried, and what stands behind it and was not.
    fn put_off_from(
        &mut self,
        tried: Request,
        behind: impl Iterator<Item = Request>,
        error: JournalError,
    ) -> Result<(), JournalError> {
        let untried = not_tried(&error);
        let behind: Vec<_> = behind.filter_map(|request| keep(request, &untried)).collect();
        for request in behind.into_iter().rev() {
            self.waiting.push_front(request);
        }
        self.put_off(vec![tried], error)
    }

    /// While nothing can be written for a doubt: whoever is not patient has the answer now.
    fn refuse_waiting(&mut self, error: &JournalError) {
        while self.waiting.len() < BATCH
            && let Ok(request) = self.requests.try_recv()
        {
            self.waiting.push_back(request);
        }
        let waiting = std::mem::take(&mut self.waiting);
        let error = not_tried(error);
        self.waiting = waiting.into_iter().filter_map(|request| keep(request, &error)).collect();
    }

    /// Finds out what became of a script whose answer was lost, and answers who still waits for it.
    async fn end_doubt(&mut self) -> Result<(), JournalError> {
        let settled = self.settle_doubt().await;
        let Some(doubt) = &mut self.doubt else { return Ok(()) };
        match settled {
            Ok(kept) => {
                let Some(doubt) = self.doubt.take() else { return Ok(()) };
                let writes = doubt.writes.into_iter().zip(doubt.seqs);
                for (request, seq) in writes.rev().filter_map(|(request, seq)| Some((request?, seq))) {
                    if kept { written(request, seq) } else { self.waiting.push_front(request) }
                }
                Ok(())
            }
            Err(error) => {
                for request in &mut doubt.writes {
                    *request = request.take().and_then(|request| keep(request, &error));
                }
                Err(error)
            }
        }
    }

    /// One script. Answers the number of the last event after each of the writes.
    async fn write<'a>(
        &mut self,
        writes: impl Iterator<Item = &'a [Change]>,
    ) -> Result<Vec<i64>, JournalError> {
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
                self.doubt = Some(Doubt { end: to, seqs: seqs.clone(), writes: Vec::new() });
                let kept = self.settle_doubt().await?;
                self.doubt = None;
                if kept { Ok(seqs) } else { Err(not_kept(&error).into()) }
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
        let Some(kept) = self.doubt.as_ref().map(|doubt| doubt.end) else { return Ok(false) };
        let fenced = End { writes: self.end.writes + 2, ..self.end };
        let mut looks = 0;
        loop {
            match self.look(&fenced).await {
                Ok(end) if end == kept || end == fenced => {
                    self.end = end;
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

/// Whether the store may take the same write in a while.
const fn may_pass(error: &JournalError) -> bool {
    match error {
        JournalError::Store(
            StoreError::Busy(_)
            | StoreError::Full(_)
            | StoreError::ReadOnly(_)
            | StoreError::Unavailable { .. },
        ) => true,
        JournalError::Store(
            StoreError::Guard { .. }
            | StoreError::Constraint { .. }
            | StoreError::Corrupt { .. }
            | StoreError::Damaged(_)
            | StoreError::SchemaTooNew { .. }
            | StoreError::SchemaChanged { .. }
            | StoreError::NulInText { .. }
            | StoreError::TooManyRows { .. }
            | StoreError::Misuse(_)
            | StoreError::Other(_),
        )
        | JournalError::Stale { .. }
        | JournalError::Conflict(_)
        | JournalError::TooMany { .. }
        | JournalError::Closed => false,
    }
}

/// Keeps a request whose caller waits patiently; any other has its answer.
fn keep(request: Request, error: &JournalError) -> Option<Request> {
    if request.patient && may_pass(error) {
        return Some(request).filter(|request| request.reply.as_ref().is_none_or(|reply| !reply.is_closed()));
    }
    answer(request.reply, Err(error.clone()));
    None
}

fn written(request: Request, seq: i64) {
    answer(request.reply, Ok(Written::of(&request.changes, seq)));
}

/// The same failure for a write that was not tried.
fn not_tried(error: &JournalError) -> JournalError {
    match error {
        JournalError::Store(error) if error.maybe_committed() => not_kept(error).into(),
        JournalError::Store(_)
        | JournalError::Stale { .. }
        | JournalError::Conflict(_)
        | JournalError::TooMany { .. }
        | JournalError::Closed => error.clone(),
    }
}

/// Whether one write of a batch can have spoilt it for the others. A large one may not fit where a small one does.
const fn concerns_one(error: &JournalError) -> bool {
    match error {
        JournalError::Conflict(_) | JournalError::Store(StoreError::Full(_)) => true,
        JournalError::Store(_) => !may_pass(error),
        JournalError::Stale { .. } | JournalError::TooMany { .. } | JournalError::Closed => false,
    }
}

/// A caller that went away is no failure of the writer.
fn answer(
    reply: Option<oneshot::Sender<Result<Written, JournalError>>>,
    result: Result<Written, JournalError>,
) {
    if reply.is_some_and(|reply| reply.send(result).is_err()) {
        tracing::debug!("a journal write was answered to nobody");
    }
}
