//! Sealing secrets at rest: XChaCha20-Poly1305, bound to the place where they are kept.

use crate::{
    ring::KeyId,
    secret::{Key, Secret},
};
use chacha20poly1305::{
    XChaCha20Poly1305, XNonce,
    aead::{Aead, KeyInit, Payload},
};
use mate_model::Entropy;
use std::fmt;

const VERSION: u8 = 1;
const KEY_NAME: usize = 4;
const NONCE: usize = 24;
const TAG: usize = 16;
const HEADER: usize = 1 + KEY_NAME + NONCE;
/// How much longer an envelope is than what is in it, in bytes.
pub const OVERHEAD: usize = HEADER + TAG;

/// Where a sealed value is kept. An envelope opens in its own place only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'a> {
    /// The table.
    pub table: &'a str,
    /// The row's id.
    pub id: &'a str,
    /// The column, or the name of the value within the row.
    pub column: &'a str,
}

/// Why a value was not sealed or opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VaultError {
    /// Not an envelope of this program.
    #[error("the sealed value in {place} is damaged: it is no envelope that this release can read")]
    NotAnEnvelope {
        /// Where it was read from.
        place: String,
    },
    /// Sealed under another key.
    #[error(
        "the sealed value in {place} belongs to the key {key}, which is not at hand: use the key file of this home"
    )]
    OtherKey {
        /// Where it was read from.
        place: String,
        /// The key that it was sealed under.
        key: KeyId,
    },
    /// Changed, or moved here from another row.
    #[error("the sealed value in {place} was changed or moved from another place: set the secret again")]
    Tampered {
        /// Where it was read from.
        place: String,
    },
    /// The cipher refused: the value is longer than it can take.
    #[error("the value for {place} is too long to be sealed")]
    TooLong {
        /// Where it was to be kept.
        place: String,
    },
}

/// Seals and opens under one key.
///
/// The envelope is a version byte, four bytes that name the key (found by derivation, so they say
/// nothing about it), a random nonce, and the ciphertext with its tag.
#[derive(Clone)]
pub struct Vault {
    cipher: XChaCha20Poly1305,
    key: KeyId,
}

impl Vault {
    /// A vault under `key`; see [`crate::key_file`].
    #[must_use]
    pub fn new(key: &Key) -> Self {
        let cipher = XChaCha20Poly1305::new(key.derive("vault", b"").expose().into());
        Self { cipher, key: KeyId::of(key) }
    }

    /// Under which key an envelope was sealed; none when it is no envelope.
    #[must_use]
    pub fn key_of(envelope: &[u8]) -> Option<KeyId> {
        let (version, rest) = envelope.split_first()?;
        let name = rest.first_chunk::<KEY_NAME>()?;
        (*version == VERSION).then(|| KeyId::from_bytes(*name))
    }

    /// The envelope of `clear` for `place`.
    ///
    /// # Errors
    /// [`VaultError::TooLong`] beyond what the cipher can take (256 GiB).
    pub fn seal(&self, place: Place<'_>, clear: &[u8], entropy: &dyn Entropy) -> Result<Vec<u8>, VaultError> {
        let mut nonce = [0; NONCE];
        nonce.copy_from_slice(&entropy.secret()[..NONCE]);
        let bound = place.bound();
        let payload = Payload { msg: clear, aad: &bound };
        let body = self
            .cipher
            .encrypt(&XNonce::from(nonce), payload)
            .map_err(|_| VaultError::TooLong { place: place.to_string() })?;
        let mut envelope = Vec::with_capacity(HEADER + body.len());
        envelope.push(VERSION);
        envelope.extend_from_slice(self.key.as_bytes());
        envelope.extend_from_slice(&nonce);
        envelope.extend_from_slice(&body);
        Ok(envelope)
    }

    /// What was sealed for `place`.
    ///
    /// # Errors
    /// When the envelope is damaged, of another key, changed, or from another place.
    pub fn open(&self, place: Place<'_>, envelope: &[u8]) -> Result<Secret, VaultError> {
        let named = || place.to_string();
        let damaged = || VaultError::NotAnEnvelope { place: named() };
        let (version, rest) = envelope.split_first().ok_or_else(damaged)?;
        if *version != VERSION {
            return Err(damaged());
        }
        let (key_name, rest) = rest.split_first_chunk::<KEY_NAME>().ok_or_else(damaged)?;
        let (nonce, body) = rest.split_first_chunk::<NONCE>().ok_or_else(damaged)?;
        if body.len() < TAG {
            return Err(damaged());
        }
        let key = KeyId::from_bytes(*key_name);
        if key != self.key {
            return Err(VaultError::OtherKey { place: named(), key });
        }
        let bound = place.bound();
        self.cipher
            .decrypt(&XNonce::from(*nonce), Payload { msg: body, aad: &bound })
            .map(Secret::new)
            .map_err(|_| VaultError::Tampered { place: named() })
    }
}

impl fmt::Debug for Vault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Vault([redacted])")
    }
}

impl Place<'_> {
    /// The associated data: each part behind its length, so that no two places read alike.
    fn bound(&self) -> Vec<u8> {
        let mut bound = vec![VERSION];
        for part in [self.table, self.id, self.column] {
            bound.extend_from_slice(&(part.len() as u64).to_be_bytes());
            bound.extend_from_slice(part.as_bytes());
        }
        bound
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{} of {}", self.table, self.column, self.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Fixed;

    impl Entropy for Fixed {
        fn uuid(&self) -> uuid::Uuid {
            uuid::Uuid::nil()
        }
        fn secret(&self) -> [u8; 32] {
            [0x24; 32]
        }
    }

    const HERE: Place<'_> = Place { table: "connection_secret", id: "con_1", column: "GITHUB_TOKEN" };

    fn vault(byte: u8) -> Vault {
        Vault::new(&Key::new([byte; 32]))
    }

    #[test]
    fn what_was_sealed_opens_in_its_place() {
        let sealed = vault(1).seal(HERE, b"hunter2", &Fixed).expect("seals");
        assert!(!sealed.windows(7).any(|w| w == b"hunter2"));
        assert_eq!(vault(1).open(HERE, &sealed).expect("opens").expose(), b"hunter2");
    }

    #[test]
    fn g09_a_swapped_row_does_not_open() {
        let sealed = vault(1).seal(HERE, b"hunter2", &Fixed).expect("seals");
        for other in [
            Place { id: "con_2", ..HERE },
            Place { column: "OTHER", ..HERE },
            Place { table: "connection", id: "_secretcon_1", ..HERE },
        ] {
            assert!(matches!(vault(1).open(other, &sealed), Err(VaultError::Tampered { .. })));
        }
    }

    #[test]
    fn g09_any_changed_byte_is_noticed() {
        let sealed = vault(1).seal(HERE, b"hunter2", &Fixed).expect("seals");
        for position in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[position] ^= 1;
            assert!(vault(1).open(HERE, &changed).is_err(), "byte {position}");
            assert!(vault(1).open(HERE, &sealed[..position]).is_err(), "cut at {position}");
        }
    }

    #[test]
    fn another_key_is_named_as_the_cause() {
        let sealed = vault(1).seal(HERE, b"", &Fixed).expect("seals");
        assert!(matches!(vault(2).open(HERE, &sealed), Err(VaultError::OtherKey { .. })));
    }

    /// Released envelopes must stay readable: this one was written by the first release.
    #[test]
    fn the_first_envelope_still_opens() {
        let sealed = hex::decode(FIRST).expect("hexadecimal");
        assert_eq!(vault(1).open(HERE, &sealed).expect("opens").expose(), b"hunter2");
    }

    const FIRST: &str = "01b2ae71d824242424242424242424242424242424242424242424242408edabbb6d869e06800061accd1a14a4229b1d2351789e";
}
