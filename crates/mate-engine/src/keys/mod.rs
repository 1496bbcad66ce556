//! The home's keys: which one seals, and how another takes its place.
//!
//! The key file holds a ring of keys. The ledger says which of them seals; whatever is sealed names its key, and refers
//! to it, so that the store itself lets no key go that is still needed. A new key is in the file, synced, before the
//! ledger knows it, and leaves the file after the ledger has retired it: whenever a rotation ends, the home can be read.
//!
//! Under a key of the ring are sealed: the secrets and tokens of connections, and *the home's own secret*. From that
//! secret keys of sessions and of contents are derived, so digests of arguments, kept results and artifacts stay what
//! they are when the key changes.

mod retire;
mod rotate;
mod seal;
mod show;

pub use retire::Retired;
pub use rotate::Rotated;
pub use show::{KeyState, KeyView, KeysView};

use crate::EngineError;
use mate_guard::{
    Key, KeyId, KeyPlace, KeyRing, Place, Secret, Vault, VaultError,
    key_file::{self, KeyFileError},
};
use mate_model::{Clock, Entropy};
use mate_store::{Ledger, ledger::SealedIn};
use std::sync::{Arc, PoisonError, RwLock};

/// The ring, as this process read it last.
#[derive(Debug)]
pub struct Keys {
    /// Where it is read from; none where a key is given to the program's tests.
    place: Option<KeyPlace>,
    ring: RwLock<Arc<KeyRing>>,
}

impl Keys {
    /// Reads the ring of a home.
    ///
    /// # Errors
    /// What is wrong with the key file.
    pub fn read(place: KeyPlace) -> Result<Self, KeyFileError> {
        let ring = key_file::load(&place)?;
        Ok(Self { place: Some(place), ring: RwLock::new(Arc::new(ring)) })
    }

    /// One key that is in no file.
    #[must_use]
    pub fn fixed(key: Key) -> Self {
        Self { place: None, ring: RwLock::new(Arc::new(KeyRing::of(key))) }
    }

    /// Where the ring is read from.
    #[must_use]
    pub const fn place(&self) -> Option<&KeyPlace> {
        self.place.as_ref()
    }

    /// The ring as it was read last.
    #[must_use]
    pub fn ring(&self) -> Arc<KeyRing> {
        Arc::clone(&self.ring.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the ring again.
    fn again(&self) -> Result<Arc<KeyRing>, KeyFileError> {
        let Some(place) = &self.place else { return Ok(self.ring()) };
        let ring = Arc::new(key_file::load(place)?);
        *self.ring.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&ring);
        Ok(ring)
    }

    /// The vault under a key. One that is not known makes the ring be read once more: somebody may have rotated.
    fn vault(&self, id: KeyId) -> Option<Vault> {
        self.ring().vault(id).or_else(|| match self.again() {
            Ok(ring) => ring.vault(id),
            Err(error) => {
                tracing::error!(%error, key = %id, "the key file cannot be read again");
                None
            }
        })
    }

    /// What was sealed for `place`, under whichever key.
    ///
    /// # Errors
    /// As [`Vault::open`].
    pub fn open(&self, place: Place<'_>, envelope: &[u8]) -> Result<Secret, VaultError> {
        let id =
            Vault::key_of(envelope).ok_or_else(|| VaultError::NotAnEnvelope { place: place.to_string() })?;
        let vault = self.vault(id);
        vault.ok_or_else(|| VaultError::OtherKey { place: place.to_string(), key: id })?.open(place, envelope)
    }

    /// The home's own secret. A ledger that has none gets one, sealed under the first key of the ring.
    ///
    /// # Errors
    /// That the ledger's key is not in the ring; the ledger's.
    pub async fn home_secret(
        &self,
        ledger: &Ledger,
        entropy: &dyn Entropy,
        clock: &dyn Clock,
    ) -> Result<Key, EngineError> {
        if let Some(sealed) = ledger.home_secret().await? {
            return self.opened(&sealed);
        }
        let secret = Key::random(entropy);
        if self.begin(ledger, &secret, entropy, clock).await? {
            return Ok(secret);
        }
        let sealed = ledger.home_secret().await?;
        let sealed =
            sealed.ok_or_else(|| EngineError::Internal("the home's secret is missing".to_owned()))?;
        self.opened(&sealed)
    }

    /// Makes the ring's first key the one that seals, in a ledger that has none. Answers false when it has one.
    async fn begin(
        &self,
        ledger: &Ledger,
        secret: &Key,
        entropy: &dyn Entropy,
        clock: &dyn Clock,
    ) -> Result<bool, EngineError> {
        let ring = self.ring();
        let first = ring.first().map(|(id, key)| (id, Vault::new(key)));
        let (id, vault) = first.ok_or_else(|| EngineError::Internal("the ring is empty".to_owned()))?;
        let sealed = vault.seal(secret_place(), secret.expose(), entropy);
        let sealed = sealed.map_err(|error| EngineError::Internal(error.to_string()))?;
        match ledger.first_key(*id.as_bytes(), &sealed, clock.now()).await {
            Ok(()) => Ok(true),
            Err(mate_store::LedgerError::Taken(_) | mate_store::LedgerError::Conflict(_)) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn opened(&self, sealed: &[u8]) -> Result<Key, EngineError> {
        match self.open(secret_place(), sealed) {
            Ok(secret) => secret
                .expose()
                .try_into()
                .map(Key::new)
                .map_err(|_| EngineError::Internal("the home's secret is not what was sealed".to_owned())),
            Err(VaultError::OtherKey { key, .. }) => Err(self.missing(key)),
            Err(error) => Err(EngineError::Internal(error.to_string())),
        }
    }

    /// A key of the ledger's that the ring does not have.
    fn missing(&self, key: KeyId) -> EngineError {
        let found: Vec<String> = self.ring().ids().map(|id| id.to_string()).collect();
        let file = self.place.as_ref().map(|place| place.path.display().to_string()).unwrap_or_default();
        EngineError::refused(
            "key_missing",
            format!(
                "this home's ledger is sealed under the key {key}, and {file} holds {}: put the key file there that \
                 belongs to this ledger (of its backup, or of the host where the key was rotated)",
                found.join(", ")
            ),
        )
    }
}

fn secret_place() -> Place<'static> {
    let (table, column) = SealedIn::HomeSecret.names();
    Place { table, id: "1", column }
}
