//! An upstream's own requests: worked on within bounds, whatever it asks and however often.

use super::Inbound;
use crate::core::Request;
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Those of one connection that are worked on at once.
const MANY: usize = 16;
/// Their bytes together.
const BYTES: usize = 1 << 20;

/// The room of one connection for them.
#[derive(Clone)]
pub(super) struct Own {
    many: Arc<Semaphore>,
    bytes: Arc<Semaphore>,
    told: Arc<AtomicBool>,
}

/// Held while one of them is worked on.
pub(super) struct Taken {
    _many: OwnedSemaphorePermit,
    _bytes: OwnedSemaphorePermit,
}

impl Default for Own {
    fn default() -> Self {
        Self {
            many: Arc::new(Semaphore::new(MANY)),
            bytes: Arc::new(Semaphore::new(BYTES)),
            told: Arc::default(),
        }
    }
}

impl Own {
    /// Room for one more request; none: it is dropped, of which the log hears once until there is room again.
    pub(super) fn take(&self, request: &Request, inbound: &dyn Inbound) -> Option<Taken> {
        let params = request.params.as_ref().map_or(0, |params| params.get().len());
        let taken = self.room(params + request.method.len() + request.id.to_raw().get().len());
        if taken.is_some() {
            self.told.store(false, Ordering::Relaxed);
        } else if !self.told.swap(true, Ordering::Relaxed) {
            inbound.diagnostic("it asks too much at once; requests of it are dropped");
        }
        taken
    }

    fn room(&self, size: usize) -> Option<Taken> {
        let size = u32::try_from(size).ok()?;
        let many = Arc::clone(&self.many).try_acquire_owned().ok()?;
        let bytes = Arc::clone(&self.bytes).try_acquire_many_owned(size).ok()?;
        Some(Taken { _many: many, _bytes: bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_for_so_many_and_so_much() {
        let own = Own::default();
        let taken: Vec<_> = (0..MANY).map(|_| own.room(1).expect("room")).collect();
        assert!(own.room(0).is_none(), "too many");
        drop(taken);
        assert!(own.room(BYTES + 1).is_none(), "too much");
        let whole = own.room(BYTES).expect("room again");
        assert!(own.room(1).is_none() && own.room(0).is_some());
        drop(whole);
        assert!(own.room(1).is_some());
    }
}
