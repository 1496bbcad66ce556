//! Sealing under the key that the ledger says, and opening under any of the ring.

use super::Keys;
use crate::{Engine, EngineError};
use mate_guard::{KeyId, Place, Secret, Vault, VaultError};

impl Engine {
    /// The envelope of `clear` for `place`, under the key that seals.
    ///
    /// # Errors
    /// That the key is not at hand; the ledger's.
    pub(crate) async fn seal(&self, place: Place<'_>, clear: &[u8]) -> Result<Vec<u8>, EngineError> {
        let (_, vault) = self.sealing().await?;
        vault
            .seal(place, clear, self.entropy.as_ref())
            .map_err(|error| EngineError::Internal(error.to_string()))
    }

    /// What was sealed for `place` under a key of the home.
    ///
    /// # Errors
    /// As [`Vault::open`].
    pub fn unseal(&self, place: Place<'_>, envelope: &[u8]) -> Result<Secret, VaultError> {
        self.keys.open(place, envelope)
    }

    /// The key that seals, as the ledger says at this moment.
    pub(super) async fn sealing(&self) -> Result<(KeyId, Vault), EngineError> {
        for _ in 0..2 {
            let keys = self.ledger.keys().await?;
            if let Some(key) = keys.iter().find(|key| key.seals) {
                let id = KeyId::from_bytes(key.id);
                let vault = self.keys.vault(id).ok_or_else(|| self.keys.missing(id))?;
                return Ok((id, vault));
            }
            Keys::begin(&self.keys, &self.ledger, &self.key, self.entropy.as_ref(), self.clock.as_ref())
                .await?;
        }
        Err(EngineError::Internal("the ledger names no key".to_owned()))
    }
}
