//! Changes that nobody waits for: they go along with the next write, so that they cost no commit of their own.

use super::Change;
use std::sync::{Arc, Mutex, PoisonError};

/// The most that wait; what comes when there are so many is let go.
const ROOM: usize = 4_096;

/// The most that go along with one write.
const ALONG: usize = 64;

/// What waits for the next write. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Later(Arc<Mutex<Vec<Change>>>);

impl Later {
    /// Leaves a change; false: there is no room.
    pub(super) fn put(&self, change: Change) -> bool {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = waiting.len() < ROOM;
        if fits {
            waiting.push(change);
        }
        fits
    }

    /// Takes what goes along with a write that has room for `room` more, oldest first.
    pub(super) fn take(&self, room: usize) -> Vec<Change> {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = waiting.len().min(room).min(ALONG);
        waiting.drain(..count).collect()
    }
}
