//! Another key takes the place of the one that seals.

use super::Keys;
use crate::{Engine, EngineError};
use mate_guard::{
    KeyId, KeyPlace, KeyRing, KeySource, Place, Vault,
    key_file::{self, KeyFileError},
};
use mate_store::ledger::{Sealed, SealedIn};
use std::{
    fs::{File, OpenOptions, TryLockError},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

/// How many values are sealed anew in one script.
const BATCH: u32 = 64;

/// What a rotation did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rotated {
    /// A new key is in the file; nothing is sealed under it yet.
    Prepared {
        /// The new key.
        key: KeyId,
        /// The file.
        file: std::path::PathBuf,
    },
    /// Another key seals.
    Changed {
        /// The one that did.
        from: KeyId,
        /// The one that does.
        to: KeyId,
        /// How many values were sealed anew.
        resealed: u64,
    },
    /// An earlier rotation was interrupted, and is done now.
    Finished {
        /// The key that seals.
        key: KeyId,
        /// How many values were sealed anew.
        resealed: u64,
    },
}

impl Engine {
    /// Makes a new key, or takes the one that was prepared, and seals everything under it. Interrupted at any moment, it
    /// can be run again; an earlier one that was interrupted is finished, and no other key made.
    ///
    /// With `prepare`, the new key is put into the file and not used yet. With `to`, it is put into that file with the
    /// others, and not used yet.
    ///
    /// # Errors
    /// That the file cannot be written; that too many keys are kept; that another rotation is at work; the ledger's.
    pub async fn rotate_key(&self, prepare: bool, to: Option<&Path>) -> Result<Rotated, EngineError> {
        let _alone = alone(self.home.path())?;
        let (from, vault) = self.sealing().await?;
        let resealed = self.reseal_all(from, &vault).await?;
        if resealed > 0 {
            return Ok(Rotated::Finished { key: from, resealed });
        }
        let ring = self.keys.again().map_err(|error| file_error(&error))?;
        let prepared = self.prepared(&ring).await?;
        if prepare || to.is_some() || prepared.is_none() {
            let (key, file) = self.prepare(&ring, prepared, to)?;
            mate_fault::point_async!("key.ring_written");
            if prepare || to.is_some() {
                return Ok(Rotated::Prepared { key, file });
            }
        }
        let ring = self.keys.again().map_err(|error| file_error(&error))?;
        let next = self.prepared(&ring).await?.and_then(|id| Some((id, ring.vault(id)?)));
        let (next, vault) =
            next.ok_or_else(|| EngineError::Internal("the new key is not in its file".to_owned()))?;
        self.ledger.change_key(*from.as_bytes(), *next.as_bytes(), self.writing_time().await?).await?;
        mate_fault::point_async!("key.changed");
        let resealed = self.reseal_all(next, &vault).await?;
        Ok(Rotated::Changed { from, to: next, resealed })
    }

    /// The first key of the ring that the ledger never knew.
    async fn prepared(&self, ring: &KeyRing) -> Result<Option<KeyId>, EngineError> {
        let known = self.ledger.keys().await?;
        for id in ring.ids().filter(|id| known.iter().all(|key| key.id != *id.as_bytes())) {
            if self.ledger.key_retired(*id.as_bytes()).await?.is_none() {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    /// Puts a new key into the file, if none is prepared there, or into `to`.
    fn prepare(
        &self,
        ring: &KeyRing,
        prepared: Option<KeyId>,
        to: Option<&Path>,
    ) -> Result<(KeyId, std::path::PathBuf), EngineError> {
        let place = place_of(&self.keys)?;
        let mut grown = ring.clone();
        let key = match prepared {
            Some(key) => key,
            None => grown.grow(self.entropy.as_ref()).ok_or_else(full)?,
        };
        if let Some(file) = to {
            key_file::export(file, &grown, self.entropy.as_ref()).map_err(|error| file_error(&error))?;
            return Ok((key, file.to_owned()));
        }
        if prepared.is_none() {
            write_ring(place, &grown, self.entropy.as_ref())?;
        }
        Ok((key, place.path.clone()))
    }

    /// Seals anew whatever is under another key than `key`. Answers how many values that were.
    pub(super) async fn reseal_all(&self, key: KeyId, vault: &Vault) -> Result<u64, EngineError> {
        let mut all = 0;
        for place in SealedIn::ALL {
            let mut after = String::new();
            loop {
                let found = self.ledger.not_sealed_under(place, *key.as_bytes(), &after, BATCH).await?;
                let Some(last) = found.last() else { break };
                after.clone_from(&last.id);
                let count = found.len() as u64;
                let values = found.into_iter().map(|old| self.resealed(place, old, vault));
                let values = values.collect::<Result<Vec<_>, EngineError>>()?;
                self.ledger.reseal(place, values).await?;
                all += count;
                mate_fault::point_async!("key.resealed");
            }
        }
        Ok(all)
    }

    fn resealed(
        &self,
        sealed_in: SealedIn,
        old: Sealed,
        vault: &Vault,
    ) -> Result<(Sealed, Vec<u8>), EngineError> {
        let (table, column) = sealed_in.names();
        let place = Place { table, id: old.named(), column };
        let refused = |why: String| {
            EngineError::refused(
                "not_resealed",
                format!(
                    "{why}; nothing is lost: put that right (or remove the connection), then run `agent-mate key rotate` again"
                ),
            )
        };
        let clear = self.unseal(place, &old.envelope).map_err(|error| refused(error.to_string()))?;
        let new = vault.seal(place, clear.expose(), self.entropy.as_ref());
        let new = new.map_err(|error| refused(error.to_string()))?;
        Ok((old, new))
    }
}

/// One rotation of a home at a time.
pub(super) fn alone(home: &Path) -> Result<File, EngineError> {
    let path = home.join("key.lock");
    let broken = |error: std::io::Error| EngineError::Unavailable(format!("{}: {error}", path.display()));
    let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
    let file = file.map_err(broken)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(EngineError::refused(
            "rotating",
            "another command changes the keys of this home: wait until it is done, then look at `agent-mate key show`",
        )),
        Err(TryLockError::Error(error)) => Err(broken(error)),
    }
}

pub(super) fn place_of(keys: &Keys) -> Result<&KeyPlace, EngineError> {
    keys.place().ok_or_else(|| EngineError::Internal("the key is in no file".to_owned()))
}

/// Puts other keys into the place of those that are there.
pub(super) fn write_ring(
    place: &KeyPlace,
    ring: &KeyRing,
    entropy: &dyn mate_model::Entropy,
) -> Result<(), EngineError> {
    let by_hand = |why: String| {
        EngineError::refused(
            "key_read_only",
            format!(
                "{} ({}) cannot be written here{why}: run `agent-mate key rotate --to FILE`, put FILE in its place with \
                 the means that keep it, restart the coordinator, then run `agent-mate key rotate` again",
                place.path.display(),
                place.source
            ),
        )
    };
    if place.source == KeySource::Credential {
        return Err(by_hand(String::new()));
    }
    // A link is followed: what it names is what is kept.
    let path = std::fs::canonicalize(&place.path).unwrap_or_else(|_| place.path.clone());
    key_file::replace(&path, ring, entropy).map_err(|error| match error {
        KeyFileError::Io { source, .. } => by_hand(format!(" ({source})")),
        error @ (KeyFileError::Missing { .. }
        | KeyFileError::OpenToOthers { .. }
        | KeyFileError::WrongSize { .. }) => file_error(&error),
    })
}

pub(super) fn file_error(error: &KeyFileError) -> EngineError {
    EngineError::refused("key_file", error.to_string())
}

fn full() -> EngineError {
    EngineError::refused(
        "too_many_keys",
        "the key file holds as many keys as it may: run `agent-mate key retire` first",
    )
}
