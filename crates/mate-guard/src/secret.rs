//! Secrets in memory: wiped when dropped, never printed.

use hkdf::Hkdf;
use mate_model::Entropy;
use sha2::Sha256;
use std::fmt;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// A 256-bit key.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Key([u8; 32]);

impl Key {
    /// Takes 32 bytes that came from a cryptographic generator.
    #[must_use]
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// A fresh random key.
    #[must_use]
    pub fn random(entropy: &dyn Entropy) -> Self {
        Self(entropy.secret())
    }

    /// The bytes; for ciphers only.
    #[must_use]
    pub const fn expose(&self) -> &[u8; 32] {
        &self.0
    }

    /// A key for one purpose and context (HKDF-SHA256), from which this one cannot be found.
    ///
    /// `purpose` is a constant of the program; `context` names what the key is for, for example a
    /// session's id.
    #[must_use]
    pub fn derive(&self, purpose: &str, context: &[u8]) -> Self {
        let mut derived = [0; 32];
        let purpose_length = (purpose.len() as u64).to_be_bytes();
        let info: [&[u8]; 4] = [b"agent-mate/1", &purpose_length, purpose.as_bytes(), context];
        let expanded = Hkdf::<Sha256>::new(None, &self.0).expand_multi_info(&info, &mut derived);
        debug_assert!(expanded.is_ok(), "32 bytes are within the reach of HKDF-SHA256");
        Self(derived)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key([redacted])")
    }
}

/// Bytes that must not be seen: a credential of a connection, an opened envelope.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Secret(Vec<u8>);

impl Secret {
    /// Takes ownership of the secret; the vector is wiped when this is dropped.
    #[must_use]
    pub const fn new(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// The secret itself; to send, to seal or to look for.
    #[must_use]
    pub fn expose(&self) -> &[u8] {
        &self.0
    }

    /// The secret as text, if it is UTF-8.
    #[must_use]
    pub fn expose_text(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(text.into_bytes())
    }
}

impl AsRef<[u8]> for Secret {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret([redacted])")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g09_secrets_never_print() {
        let key = Key::new([0x41; 32]);
        let secret = Secret::from("hunter2hunter2".to_owned());
        assert_eq!(format!("{key:?} {secret:?}"), "Key([redacted]) Secret([redacted])");
    }

    #[test]
    fn derived_keys_differ_by_purpose_and_context_and_are_stable() {
        let key = Key::new([7; 32]);
        let first = key.derive("digest", b"ses_1");
        assert_eq!(first.expose(), key.derive("digest", b"ses_1").expose());
        for other in
            [key.derive("digest", b"ses_2"), key.derive("bearer", b"ses_1"), key.derive("digests", b"es_1")]
        {
            assert_ne!(first.expose(), other.expose());
        }
    }
}
