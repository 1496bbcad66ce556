//! Equal calls in flight: a second one waits until the first has an outcome and its answer has reached the runtime,
//! or cannot any more; it is judged then.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};
use tokio::sync::watch;

/// What makes two calls equal within a session.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct TwinKey {
    /// By name: one that was removed and added again is the same.
    pub(super) connection: String,
    pub(super) tool: String,
    pub(super) digest: String,
}

/// The calls in flight, by what makes them equal. One entry for each call in flight, so it is bounded by them.
#[derive(Debug, Default)]
pub(super) struct Twins(Arc<Mutex<HashMap<TwinKey, watch::Sender<()>>>>);

/// Held while the call is in flight; its end wakes whoever waits for it.
#[derive(Debug)]
pub(super) struct TwinGuard {
    key: TwinKey,
    all: Arc<Mutex<HashMap<TwinKey, watch::Sender<()>>>>,
    intended: bool,
}

impl TwinGuard {
    /// The intent is durable: from here on, only a written outcome lets an equal call in.
    pub(super) const fn intended(mut self) -> Self {
        self.intended = true;
        self
    }

    /// The outcome is durable. Equal calls are let in when what this gives is dropped.
    pub(super) const fn settled(mut self) -> Self {
        self.intended = false;
        self
    }
}

impl Drop for TwinGuard {
    fn drop(&mut self) {
        if self.intended {
            return;
        }
        if let Ok(mut all) = self.all.lock() {
            all.remove(&self.key);
        }
    }
}

impl Twins {
    /// Takes the place for this call when no equal one is in flight any more.
    pub(super) async fn wait(&self, key: &TwinKey) -> TwinGuard {
        loop {
            match self.enter(key) {
                Ok(guard) => return guard,
                // The sender is dropped when it is known what became of the call in flight.
                Err(mut first) => while first.changed().await.is_ok() {},
            }
        }
    }

    /// Takes the place for this call, or gives what to wait for when an equal one is in flight.
    fn enter(&self, key: &TwinKey) -> Result<TwinGuard, watch::Receiver<()>> {
        let mut all = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(first) = all.get(key) {
            return Err(first.subscribe());
        }
        all.insert(key.clone(), watch::Sender::new(()));
        Ok(TwinGuard { key: key.clone(), all: Arc::clone(&self.0), intended: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(digest: &str) -> TwinKey {
        TwinKey { connection: "mail".to_owned(), tool: "send".to_owned(), digest: digest.to_owned() }
    }

    #[test]
    fn g04_an_intended_call_without_a_written_outcome_bars_its_equals() {
        let twins = Twins::default();
        drop(twins.enter(&key("a")).expect("nothing was intended yet"));
        drop(twins.enter(&key("a")).expect("still nothing").intended().settled());
        drop(twins.enter(&key("a")).expect("that one was settled").intended());
        let waiting = twins.enter(&key("a")).expect_err("nobody knows what became of it");
        assert!(!waiting.has_changed().expect("and nobody says so"));
        assert!(twins.enter(&key("b")).is_ok());
    }
}
