//! Calls that wait for a person's leave, and tools of the runtime's own that do.
//!
//! What waits is known here by what makes calls equal, as long as its turn lasts: an identical call joins it, and there
//! is never a second operation. Whoever takes an entry's request out of it is the one who ends it or lets it out.

mod begin;
mod close;
mod leave;
mod let_out;
mod own;
mod tend;
#[cfg(test)]
mod tests;
mod wait;

pub(super) use leave::Leave;
pub use own::{OwnAnswer, OwnCall, OwnVerdict};
pub(super) use wait::Judged;

use super::{replay::Way, twins::TwinKey};
use mate_model::{
    ApprovalId, GrantId, Micros,
    records::{Approval, Operation},
};
use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};
use tokio::sync::watch;

/// The most requests that wait in a session at once, with those whose end nobody has heard of.
const MOST: usize = 64;

/// What a request is known by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum AskKey {
    Call(TwinKey),
    Own(ApprovalId),
}

/// How far a request is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// It is being written down.
    Asking,
    /// Nobody has answered.
    Open(ApprovalId),
    /// There is leave, and nobody has used it.
    Allowed(ApprovalId),
    /// Another identical call has taken it.
    Taken(ApprovalId),
    /// It ended without being let out; in words for the agent.
    Over(String),
    /// It came to nothing: to be judged from the start.
    Again,
}

/// A request that waits.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) approval: Approval,
    /// The operation and its place among equal calls; none for a tool of the runtime's own.
    pub(super) call: Option<Box<(Operation, Way)>>,
}

struct Entry {
    phase: watch::Sender<Phase>,
    /// None while it is being written down, being ended, or over.
    waiting: Option<Waiting>,
}

/// What is found under a key.
pub(super) enum Entered<'a> {
    /// Nothing waits: the caller is to ask.
    First(Place<'a>),
    /// An identical one waits, or is about to.
    Joined(watch::Receiver<Phase>),
    /// An identical one ended, and nobody has heard of it; told this once.
    Told(String),
    /// Too many wait.
    Full,
}

/// Held while a request is being written down; dropped before that is done, identical ones are judged anew.
pub(super) struct Place<'a> {
    asks: &'a Asks,
    key: Option<AskKey>,
}

/// Everything that waits in a session.
#[derive(Default)]
pub(super) struct Asks(Mutex<HashMap<AskKey, Entry>>);

impl Asks {
    fn lock(&self) -> MutexGuard<'_, HashMap<AskKey, Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The grant under which a call that waits was asked about.
    pub(super) fn grant_of(&self, key: &AskKey) -> Option<GrantId> {
        self.lock().get(key)?.waiting.as_ref()?.call.as_ref()?.0.grant
    }

    /// Whether an identical one is known.
    pub(super) fn has(&self, key: &AskKey) -> bool {
        self.lock().contains_key(key)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// Joins an identical one, or takes the place to ask.
    pub(super) fn enter(&self, key: &AskKey) -> Entered<'_> {
        let mut all = self.lock();
        if let Some(entry) = all.get(key) {
            let over = match &*entry.phase.borrow() {
                Phase::Over(words) => Some(words.clone()),
                Phase::Asking | Phase::Open(_) | Phase::Allowed(_) | Phase::Taken(_) | Phase::Again => None,
            };
            let Some(words) = over else { return Entered::Joined(entry.phase.subscribe()) };
            all.remove(key);
            return Entered::Told(words);
        }
        if all.len() >= MOST {
            // An end that nobody has asked for is forgotten first: it is on record.
            let unheard = |entry: &Entry| matches!(*entry.phase.borrow(), Phase::Over(_));
            let Some(oldest) = all.iter().find(|(_, entry)| unheard(entry)).map(|(key, _)| key.clone())
            else {
                return Entered::Full;
            };
            all.remove(&oldest);
        }
        all.insert(key.clone(), Entry { phase: watch::Sender::new(Phase::Asking), waiting: None });
        Entered::First(Place { asks: self, key: Some(key.clone()) })
    }

    /// Takes a request out, to let it out: only the first who asks gets it, and only with leave. Its place is kept until
    /// it is put back or [`Asks::done`].
    pub(super) fn take(&self, key: &AskKey, id: ApprovalId) -> Option<Waiting> {
        let mut all = self.lock();
        let entry = all.get_mut(key)?;
        if *entry.phase.borrow() != Phase::Allowed(id) {
            return None;
        }
        let waiting = entry.waiting.take()?;
        entry.phase.send_replace(Phase::Taken(id));
        Some(waiting)
    }

    /// Gives the place up of a request that was taken out and not put back.
    pub(super) fn done(&self, key: &AskKey) {
        let mut all = self.lock();
        let taken = |entry: &Entry| matches!(*entry.phase.borrow(), Phase::Taken(_));
        if all.get(key).is_some_and(taken) {
            all.remove(key);
        }
    }

    /// Puts a request back that was not let out; it keeps its leave.
    pub(super) fn put_back(&self, key: &AskKey, waiting: Waiting) {
        let phase = Phase::Allowed(waiting.approval.id);
        if let Some(entry) = self.lock().get_mut(key) {
            entry.waiting = Some(waiting);
            entry.phase.send_replace(phase);
        }
    }

    /// Takes a request out that nobody waits for any more, with leave or without.
    pub(super) fn take_any(&self, key: &AskKey) -> Option<Waiting> {
        self.lock().remove(key)?.waiting
    }

    /// There is leave: whoever waits may take it.
    pub(super) fn allow(&self, key: &AskKey, id: ApprovalId) {
        if let Some(entry) = self.lock().get(key) {
            entry.phase.send_if_modified(|phase| {
                let open = *phase == Phase::Open(id);
                if open {
                    *phase = Phase::Allowed(id);
                }
                open
            });
        }
    }

    /// Takes a request out, to end it; those who wait for it go on waiting until they are told.
    pub(super) fn claim(&self, key: &AskKey, id: ApprovalId) -> Option<Waiting> {
        let mut all = self.lock();
        let entry = all.get_mut(key)?;
        entry.waiting.take_if(|waiting| waiting.approval.id == id)
    }

    /// A request that could not be ended is to be ended later.
    pub(super) fn unclaim(&self, key: &AskKey, waiting: Waiting) {
        if let Some(entry) = self.lock().get_mut(key) {
            entry.waiting = Some(waiting);
        }
    }

    /// Tells those who wait how it ended; when nobody does, the next identical call is told.
    pub(super) fn tell(&self, key: &AskKey, words: String) {
        let mut all = self.lock();
        let Some(entry) = all.get(key) else { return };
        let heard = entry.phase.receiver_count() > 0 || matches!(key, AskKey::Own(_));
        entry.phase.send_replace(Phase::Over(words));
        if heard {
            all.remove(key);
        }
    }

    /// What waits for an answer or for its use: key, approval, and when it ends.
    pub(super) fn waiting(&self) -> Vec<(AskKey, ApprovalId, Micros)> {
        let all = self.lock();
        let waits = |(key, entry): (&AskKey, &Entry)| {
            entry.waiting.as_ref().map(|one| (key.clone(), one.approval.id, one.approval.expires_at))
        };
        all.iter().filter_map(waits).collect()
    }

    /// Forgets the ends that nobody has heard of: the turn is over.
    pub(super) fn forget(&self) {
        self.lock().retain(|_, entry| entry.waiting.is_some());
    }
}

impl Place<'_> {
    /// It is on record: it waits from here on.
    pub(super) fn open(mut self, waiting: Waiting) -> watch::Receiver<Phase> {
        let id = waiting.approval.id;
        let mut all = self.asks.lock();
        let receiver = match self.key.take() {
            Some(key) => {
                let entry = all
                    .entry(key)
                    .or_insert_with(|| Entry { phase: watch::Sender::new(Phase::Asking), waiting: None });
                entry.waiting = Some(waiting);
                entry.phase.send_replace(Phase::Open(id));
                entry.phase.subscribe()
            }
            None => watch::Sender::new(Phase::Again).subscribe(),
        };
        drop(all);
        receiver
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let Some(key) = self.key.take() else { return };
        if let Some(entry) = self.asks.lock().remove(&key) {
            entry.phase.send_replace(Phase::Again);
        }
    }
}
