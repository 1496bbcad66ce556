//! Equal calls in flight: a second one waits until the first has an outcome, and is judged then.

use mate_model::ConnectionId;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};
use tokio::sync::watch;

/// What makes two calls equal within a session.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct TwinKey {
    pub(super) connection: ConnectionId,
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
}

impl Drop for TwinGuard {
    fn drop(&mut self) {
        if let Ok(mut all) = self.all.lock() {
            all.remove(&self.key);
        }
    }
}

impl Twins {
    /// Takes the place for this call, or gives what to wait for when an equal one is in flight.
    pub(super) fn enter(&self, key: &TwinKey) -> Result<TwinGuard, watch::Receiver<()>> {
        let mut all = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(first) = all.get(key) {
            return Err(first.subscribe());
        }
        all.insert(key.clone(), watch::Sender::new(()));
        Ok(TwinGuard { key: key.clone(), all: Arc::clone(&self.0) })
    }
}
