//! What is said to a runtime, and the answers that are waited for.

use super::wire::Said;
use mate_rpc::{Answer, Response, message, raw};
use serde_json::json;
use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};
use tokio::sync::{
    OwnedSemaphorePermit,
    mpsc::{self, error::TrySendError},
    oneshot,
};

/// Requests to the runtime that may be unanswered at a time.
const WAITING: usize = 64;

/// A line to write.
pub(super) struct Outgoing {
    /// Without its line feed.
    pub(super) line: String,
    /// The place of the runtime's request that the line answers; free when the line was written.
    pub(super) place: Option<OwnedSemaphorePermit>,
}

/// The side of a connection that speaks.
#[derive(Clone)]
pub(super) struct Peer {
    outgoing: mpsc::Sender<Outgoing>,
    calls: Arc<Calls>,
    /// A notification waits for room in the queue.
    behind: Arc<AtomicBool>,
}

/// Nobody writes or reads any more.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Closed;

/// Why a request was not begun.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NotBegun {
    Closed,
    /// Too many have no answer yet.
    TooMany,
    /// It cannot be put into JSON.
    Unwritable(String),
}

impl Peer {
    pub(super) fn new(outgoing: mpsc::Sender<Outgoing>) -> Self {
        Self { outgoing, calls: Arc::new(Calls::new()), behind: Arc::default() }
    }

    /// Where answers are taken to.
    pub(super) fn calls(&self) -> Arc<Calls> {
        Arc::clone(&self.calls)
    }

    /// Makes a request; nothing of it is sent yet.
    pub(super) fn begin<S: Said>(&self, said: &S) -> Result<Call, NotBegun> {
        let params = serde_json::value::to_raw_value(said);
        let params = params.map_err(|error| NotBegun::Unwritable(error.to_string()))?;
        let (id, answered) = self.calls.open()?;
        let line = message::write_request(id, S::METHOD, &params);
        Ok(Call { id, line: Some(line), answered, peer: self.clone() })
    }

    /// Tells the runtime something, as soon as it reads. While a notification waits for that, another is not put behind it.
    pub(super) fn tell<S: Said>(&self, said: &S) -> Result<(), Closed> {
        let line = message::write_notification(S::METHOD, Some(&raw(said)));
        match self.outgoing.try_send(Outgoing { line, place: None }) {
            Ok(()) => Ok(()),
            Err(TrySendError::Closed(_)) => Err(Closed),
            Err(TrySendError::Full(line)) => {
                if !self.behind.swap(true, Ordering::AcqRel) {
                    let (outgoing, behind) = (self.outgoing.clone(), Arc::clone(&self.behind));
                    tokio::spawn(async move {
                        // It fails when nobody writes any more, which is told elsewhere.
                        let _ = outgoing.send(line).await;
                        behind.store(false, Ordering::Release);
                    });
                }
                Ok(())
            }
        }
    }
}

/// A request of ours. Dropped before its answer, it is withdrawn: the runtime is told, and what it answers is ignored.
pub(super) struct Call {
    id: u64,
    /// None when it was sent.
    line: Option<String>,
    answered: oneshot::Receiver<Answer>,
    peer: Peer,
}

impl Call {
    /// Puts the request into the queue of what is written, if it has room: what is said next comes after it.
    pub(super) fn queue(&mut self) {
        if let Ok(place) = self.peer.outgoing.try_reserve()
            && let Some(line) = self.line.take()
        {
            place.send(Outgoing { line, place: None });
        }
    }

    /// Puts the request into the queue of what is written, unless it is there.
    pub(super) async fn send(&mut self) -> Result<(), Closed> {
        if self.line.is_some() {
            let place = self.peer.outgoing.reserve().await.map_err(|_| Closed)?;
            if let Some(line) = self.line.take() {
                place.send(Outgoing { line, place: None });
            }
        }
        Ok(())
    }

    /// Waits for the answer.
    pub(super) async fn answer(&mut self) -> Result<Answer, Closed> {
        (&mut self.answered).await.map_err(|_| Closed)
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if self.peer.calls.withdraw(self.id) && self.line.is_none() {
            let params = raw(&json!({ "requestId": self.id }));
            let line = message::write_notification("$/cancel_request", Some(&params));
            // A courtesy: a runtime that reads nothing hears of nothing.
            let _ = self.peer.outgoing.try_send(Outgoing { line, place: None });
        }
    }
}

/// The requests that have no answer yet, by their ids.
pub(super) struct Calls {
    /// None when no answer can come any more.
    waiting: Mutex<Option<HashMap<u64, oneshot::Sender<Answer>>>>,
    last: AtomicU64,
}

impl Calls {
    fn new() -> Self {
        Self { waiting: Mutex::new(Some(HashMap::new())), last: AtomicU64::new(0) }
    }

    fn waiting(&self) -> MutexGuard<'_, Option<HashMap<u64, oneshot::Sender<Answer>>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self) -> Result<(u64, oneshot::Receiver<Answer>), NotBegun> {
        let (answer, answered) = oneshot::channel();
        let mut waiting = self.waiting();
        let waiting = waiting.as_mut().ok_or(NotBegun::Closed)?;
        if waiting.len() >= WAITING {
            return Err(NotBegun::TooMany);
        }
        // From 1: an id of zero is no id to some.
        let id = self.last.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        waiting.insert(id, answer);
        Ok((id, answered))
    }

    /// Takes an answer to who waits for it. One that nobody waits for, or not any more, is ignored.
    pub(super) fn answered(&self, response: Response) {
        let id = response.id.as_ref().and_then(mate_rpc::Id::as_number);
        let waiting = id.and_then(|id| self.waiting().as_mut()?.remove(&id));
        match waiting {
            // Who waited may have gone away in this moment.
            Some(waiting) => drop(waiting.send(response.answer)),
            None => tracing::debug!("a runtime answered what was not asked, or not any more"),
        }
    }

    /// True if it was still waited for.
    fn withdraw(&self, id: u64) -> bool {
        self.waiting().as_mut().is_some_and(|waiting| waiting.remove(&id).is_some())
    }

    /// No answer comes any more: all who wait are told so, and who asks later.
    pub(super) fn close(&self) {
        *self.waiting() = None;
    }
}

#[cfg(test)]
mod tests;
