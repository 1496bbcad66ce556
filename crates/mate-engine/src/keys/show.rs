//! Which keys there are, and what is sealed under each.

use crate::{Engine, EngineError};
use mate_guard::{KeyId, KeyPlace};
use mate_store::ledger::SealedIn;

/// What a key is to the home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyState {
    /// It seals what is new.
    Current,
    /// It sealed once, and may be needed to open.
    Older,
    /// It is in the file, and the ledger does not know it: the next rotation takes it.
    Prepared,
    /// It opens nothing any more, and can leave the file.
    Retired,
}

impl KeyState {
    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Current => "current",
            Self::Older => "older",
            Self::Prepared => "prepared",
            Self::Retired => "retired",
        }
    }
}

/// One key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyView {
    /// Its id.
    pub id: KeyId,
    /// What it is.
    pub state: KeyState,
    /// Whether it is in the key file.
    pub in_file: bool,
    /// How many connections' secrets, connections' tokens (and requests for them), are sealed under it.
    pub connections: i64,
    /// See `connections`.
    pub authorizations: i64,
    /// Whether the home's own secret is sealed under it: what keys of sessions and of artifacts come from.
    pub home_secret: bool,
}

/// All of them, and where they are.
#[derive(Clone, Debug)]
pub struct KeysView {
    /// The key file.
    pub place: KeyPlace,
    /// The keys: those that the ledger knows by age, then those that only the file has.
    pub keys: Vec<KeyView>,
}

impl Engine {
    /// The keys of this home.
    ///
    /// # Errors
    /// What is wrong with the key file; the ledger's.
    pub async fn keys_view(&self) -> Result<KeysView, EngineError> {
        let place = super::rotate::place_of(&self.keys)?.clone();
        let ring = self.keys.again().map_err(|error| super::rotate::file_error(&error))?;
        let known = self.ledger.keys().await?;
        let mut keys = Vec::with_capacity(known.len() + 1);
        for key in &known {
            let count = async |place| self.ledger.count_sealed(place, key.id).await;
            let id = KeyId::from_bytes(key.id);
            keys.push(KeyView {
                id,
                state: if key.seals { KeyState::Current } else { KeyState::Older },
                in_file: ring.get(id).is_some(),
                connections: count(SealedIn::Connections).await? + count(SealedIn::Former).await?,
                authorizations: count(SealedIn::Authorizations).await? + count(SealedIn::Pending).await?,
                home_secret: count(SealedIn::HomeSecret).await? > 0,
            });
        }
        for id in ring.ids().filter(|id| known.iter().all(|key| key.id != *id.as_bytes())) {
            let retired = self.ledger.key_retired(*id.as_bytes()).await?.is_some();
            let state = if retired { KeyState::Retired } else { KeyState::Prepared };
            keys.push(KeyView {
                id,
                state,
                in_file: true,
                connections: 0,
                authorizations: 0,
                home_secret: false,
            });
        }
        Ok(KeysView { place, keys })
    }
}
