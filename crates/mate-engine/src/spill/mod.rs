//! Outcomes that the journal cannot take at the moment (the disk is full, the database away, the file locked).
//!
//! Each session's folder has a file with room for every call that may be in flight. An outcome that cannot be
//! written to the journal is kept there, synced, before anybody hears of it; the journal gets it as soon as it can
//! be written, and only then is its slot freed. Whoever classifies after a crash reads the file first. Taking an
//! outcome twice does no harm: the journal says that the operation is settled.

mod file;
mod held;
mod take_in;

pub(crate) use held::Held;
pub(crate) use take_in::{may_be_held, record};

use crate::{EngineError, SessionFolder};
use file::{SLOTS, SpillFile};
use held::Seal;
use mate_guard::Key;
use mate_model::{Entropy, OperationId, SessionId};
use std::{
    collections::HashSet,
    io,
    sync::{Arc, Mutex, PoisonError},
};

/// One session's spill file, in the hands of the holder of its lock.
#[derive(Debug)]
pub struct Spill {
    file: SpillFile,
    seal: Seal,
    entropy: Arc<dyn Entropy>,
    slots: Mutex<Slots>,
}

/// The slots that are at hand.
#[derive(Debug)]
struct Slots {
    /// Those that nobody has.
    free: Vec<usize>,
    /// How many belong to a call that is out.
    out: usize,
}

/// Makes the file of a new session. Synced, but for the folder that it is in.
///
/// # Errors
/// What the file system says.
pub(crate) fn create(folder: &SessionFolder) -> io::Result<()> {
    SpillFile::prepare(&folder.spill()).map(drop)
}

/// Which operations of a session have an outcome that the journal does not have yet. For views: what cannot be read
/// is not held.
pub(crate) fn held(folder: &SessionFolder, key: &Key, session: SessionId) -> HashSet<OperationId> {
    let seal = Seal::new(key, session);
    let Ok(Some(file)) = SpillFile::open(&folder.spill()) else { return HashSet::new() };
    let content = |slot| Some((slot, file.read(slot).ok()??));
    let opened = |(slot, sealed): (usize, Vec<u8>)| seal.open(slot, &sealed).ok();
    (0..SLOTS).filter_map(content).filter_map(opened).map(|held| held.operation).collect()
}

impl Spill {
    /// Opens the file for the holder of the session's lock; makes it where it is missing.
    ///
    /// # Errors
    /// What the file system says.
    pub fn open(
        folder: &SessionFolder,
        key: &Key,
        session: SessionId,
        entropy: Arc<dyn Entropy>,
    ) -> Result<Arc<Self>, EngineError> {
        let path = folder.spill();
        let broken = |error: io::Error| EngineError::Unavailable(format!("{}: {error}", path.display()));
        let file = SpillFile::prepare(&path).map_err(broken)?;
        let mut free = Vec::with_capacity(SLOTS);
        for slot in (0..SLOTS).rev() {
            if file.read(slot).map_err(broken)?.is_none() {
                free.push(slot);
            }
        }
        Ok(Arc::new(Self {
            file,
            seal: Seal::new(key, session),
            entropy,
            slots: Mutex::new(Slots { free, out: 0 }),
        }))
    }

    /// A slot for a call that is about to be let out; none when every one is taken.
    pub(crate) fn reserve(self: &Arc<Self>) -> Option<Slot> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let number = slots.free.pop()?;
        slots.out += 1;
        Some(Slot { spill: Arc::clone(self), number, filled: false })
    }

    /// How many slots belong to a call whose outcome is not known yet.
    pub(crate) fn out(&self) -> usize {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner).out
    }

    /// Every slot that holds something, and what it holds; what does not open is none.
    fn content(self: &Arc<Self>) -> io::Result<Vec<(Slot, Option<Held>)>> {
        let mut content = Vec::new();
        for number in 0..SLOTS {
            let Some(sealed) = self.file.read(number)? else { continue };
            let held = self.seal.open(number, &sealed);
            if let Err(why) = &held {
                tracing::warn!(
                    slot = number,
                    why,
                    "a held outcome cannot be opened: it was torn while it was written, and told to nobody"
                );
            }
            content.push((Slot { spill: Arc::clone(self), number, filled: true }, held.ok()));
        }
        Ok(content)
    }
}

/// Room for one outcome. One that holds something is given back by [`Slot::free`] alone.
#[derive(Debug)]
pub(crate) struct Slot {
    spill: Arc<Spill>,
    number: usize,
    filled: bool,
}

impl Slot {
    /// Keeps the outcome; durable when this returns.
    ///
    /// # Errors
    /// What the file system says, in words. Then nothing may be told of the outcome.
    pub(crate) async fn hold(mut self, held: Held) -> Result<Self, String> {
        // Also a write that failed may have left something.
        self.filled = true;
        self.spill.slots.lock().unwrap_or_else(PoisonError::into_inner).out -= 1;
        let work = move || {
            let sealed = self.spill.seal.close(self.number, &held, self.spill.entropy.as_ref())?;
            self.spill.file.write(self.number, &sealed).map_err(|error| error.to_string())?;
            Ok(self)
        };
        let held = tokio::task::spawn_blocking(work).await.map_err(|error| error.to_string())?;
        mate_fault::point_async!("spill.held");
        held
    }

    /// Gives the slot back, once the journal has what it held. A failure leaves it taken until the next worker.
    pub(crate) async fn free(mut self) {
        let work = move || match self.spill.file.free(self.number) {
            Ok(()) => {
                self.filled = false;
                self.spill.slots.lock().unwrap_or_else(PoisonError::into_inner).out += 1;
            }
            Err(error) => tracing::warn!(slot = self.number, %error, "a slot could not be freed"),
        };
        if let Err(error) = tokio::task::spawn_blocking(work).await {
            tracing::warn!(%error, "a slot could not be freed");
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if !self.filled {
            let mut slots = self.spill.slots.lock().unwrap_or_else(PoisonError::into_inner);
            slots.free.push(self.number);
            slots.out -= 1;
        }
    }
}
