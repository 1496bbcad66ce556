//! Older keys go: out of the ledger when nothing is sealed under them, then out of the file.

use super::rotate::{alone, file_error, place_of, write_ring};
use crate::{Engine, EngineError};
use mate_guard::{KeyId, key_file};
use std::path::Path;

/// How often what came in between is sealed anew before a key is let go.
const TRIES: u32 = 8;

/// A key that is gone for this home.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Retired {
    /// The keys that opened something in this home once, and open nothing now.
    pub keys: Vec<KeyId>,
    /// Why they are still in the key file, if they are.
    pub still_in_file: Option<String>,
}

impl Engine {
    /// Retires every key but the one that seals, once nothing is sealed under it, and takes those that are retired out of
    /// the key file, or leaves a file without them at `to`. A key that is prepared stays.
    ///
    /// # Errors
    /// That something cannot be sealed anew; that the file cannot be written; the ledger's.
    pub async fn retire_keys(&self, to: Option<&Path>) -> Result<Retired, EngineError> {
        let _alone = alone(self.home.path())?;
        let (current, vault) = self.sealing().await?;
        for old in self.ledger.keys().await?.iter().filter(|key| !key.seals) {
            let mut tries = TRIES;
            loop {
                self.reseal_all(current, &vault).await?;
                if self.ledger.retire_key(old.id, self.writing_time().await?).await? {
                    break;
                }
                tries -= 1;
                if tries == 0 {
                    return Err(EngineError::Unavailable(
                        "something is sealed under the older key again and again: try once more".to_owned(),
                    ));
                }
            }
            mate_fault::point_async!("key.retired");
        }
        self.trim(to).await
    }

    /// Takes what the ledger has retired out of the key file.
    async fn trim(&self, to: Option<&Path>) -> Result<Retired, EngineError> {
        let place = place_of(&self.keys)?;
        let mut ring = (*self.keys.again().map_err(|error| file_error(&error))?).clone();
        let mut gone = Vec::new();
        for id in ring.ids() {
            if self.ledger.key_retired(*id.as_bytes()).await?.is_some() {
                gone.push(id);
            }
        }
        ring.drop_all(&gone);
        if let Some(file) = to {
            key_file::export(file, &ring, self.entropy.as_ref()).map_err(|error| file_error(&error))?;
            let why = format!("put {} in the place of {}", file.display(), place.path.display());
            return Ok(Retired { keys: gone, still_in_file: Some(why) });
        }
        let mut still_in_file = None;
        if !gone.is_empty() {
            match write_ring(place, &ring, self.entropy.as_ref()) {
                Ok(()) => {
                    mate_fault::point_async!("key.trimmed");
                    self.keys.again().map_err(|error| file_error(&error))?;
                }
                Err(EngineError::Refused { code: "key_read_only", .. }) => {
                    still_in_file = Some(format!(
                        "{} ({}) cannot be written here: run `agent-mate key retire --to FILE` and put FILE in its place",
                        place.path.display(),
                        place.source
                    ));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(Retired { keys: gone, still_in_file })
    }
}
