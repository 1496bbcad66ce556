//! The keys of a home: each has an id by which what it sealed is known. Which of them seals is for the ledger to say.

use crate::{secret::Key, vault::Vault};
use mate_model::Entropy;
use std::{fmt, str::FromStr};
use zeroize::Zeroizing;

/// How many keys a ring has at most: one that seals, one that is about to, and those that are not retired yet.
pub const MOST: usize = 16;

/// The length of a key in bytes.
pub(crate) const SIZE: usize = 32;

/// Names a key: four bytes that are derived from it and say nothing about it. Written as eight hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId([u8; 4]);

impl KeyId {
    /// A stored id.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 4]) -> Self {
        Self(bytes)
    }

    /// For storing.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 4] {
        &self.0
    }

    /// Of a key.
    #[must_use]
    pub fn of(key: &Key) -> Self {
        let [a, b, c, d, ..] = *key.derive("vault key name", b"").expose();
        Self([a, b, c, d])
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text that names no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not the id of a key: eight hexadecimal digits, as `agent-mate key show` shows them")]
pub struct BadKeyId;

impl FromStr for KeyId {
    type Err = BadKeyId;

    fn from_str(text: &str) -> Result<Self, BadKeyId> {
        let mut bytes = [0; 4];
        hex::decode_to_slice(text, &mut bytes).map_err(|_| BadKeyId)?;
        Ok(Self(bytes))
    }
}

/// Some keys, each once, in the order of their file. Never empty.
#[derive(Clone)]
pub struct KeyRing(Vec<(KeyId, Key)>);

impl KeyRing {
    /// A ring of one key.
    #[must_use]
    pub fn of(key: Key) -> Self {
        Self(vec![(KeyId::of(&key), key)])
    }

    /// The keys that a file holds, one after the other; none when it is not that.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let (keys, rest) = bytes.as_chunks::<SIZE>();
        if !rest.is_empty() || keys.is_empty() || keys.len() > MOST {
            return None;
        }
        let mut ring = Self(Vec::with_capacity(keys.len()));
        for key in keys {
            ring.add(Key::new(*key));
        }
        Some(ring)
    }

    /// What [`KeyRing::parse`] reads.
    #[must_use]
    pub fn bytes(&self) -> Zeroizing<Vec<u8>> {
        let mut bytes = Zeroizing::new(Vec::with_capacity(self.0.len() * SIZE));
        for (_, key) in &self.0 {
            bytes.extend_from_slice(key.expose());
        }
        bytes
    }

    /// The first key of the file: the one that a new home begins with.
    ///
    /// A ring always has one; none is for the compiler.
    #[must_use]
    pub fn first(&self) -> Option<(KeyId, &Key)> {
        self.0.first().map(|(id, key)| (*id, key))
    }

    /// The key with this id.
    #[must_use]
    pub fn get(&self, id: KeyId) -> Option<&Key> {
        self.0.iter().find(|(found, _)| *found == id).map(|(_, key)| key)
    }

    /// The vault under the key with this id.
    #[must_use]
    pub fn vault(&self, id: KeyId) -> Option<Vault> {
        self.get(id).map(Vault::new)
    }

    /// The ids of its keys.
    pub fn ids(&self) -> impl Iterator<Item = KeyId> + '_ {
        self.0.iter().map(|(id, _)| *id)
    }

    /// Adds a fresh key, whose id no other one has, at the end; none when the ring is full.
    pub fn grow(&mut self, entropy: &dyn Entropy) -> Option<KeyId> {
        if self.0.len() >= MOST {
            return None;
        }
        // That one id comes twice happens once in four thousand million rings.
        (0..8).find_map(|_| self.add(Key::random(entropy)))
    }

    /// Drops the keys with these ids. The last one stays.
    pub fn drop_all(&mut self, ids: &[KeyId]) {
        if self.0.iter().any(|(id, _)| !ids.contains(id)) {
            self.0.retain(|(id, _)| !ids.contains(id));
        }
    }

    fn add(&mut self, key: Key) -> Option<KeyId> {
        let id = KeyId::of(&key);
        if self.get(id).is_some() {
            return None;
        }
        self.0.push((id, key));
        Some(id)
    }
}

impl fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.ids()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(bytes: &[u8]) -> KeyRing {
        let whole: Vec<u8> = bytes.iter().flat_map(|byte| [*byte; SIZE]).collect();
        KeyRing::parse(&whole).expect("a ring")
    }

    #[test]
    fn a_ring_is_read_as_it_was_written() {
        let three = ring(&[1, 2, 3]);
        assert_eq!(three.ids().count(), 3);
        assert_eq!(
            KeyRing::parse(&three.bytes()).expect("reads").ids().collect::<Vec<_>>(),
            three.ids().collect::<Vec<_>>()
        );
        assert_eq!(ring(&[1, 1, 2]).ids().count(), 2, "each once");
        assert_eq!(three.first().expect("a key").1.expose(), &[1; SIZE]);
        for bad in [0, 1, 31, 33, SIZE * (MOST + 1)] {
            assert!(KeyRing::parse(&vec![7; bad]).is_none(), "{bad} bytes");
        }
    }

    #[test]
    fn the_last_key_of_a_ring_stays() {
        let mut three = ring(&[1, 2, 3]);
        let ids: Vec<_> = three.ids().collect();
        three.drop_all(&ids);
        assert_eq!(three.ids().count(), 3, "all of them is a mistake");
        three.drop_all(&ids[..2]);
        assert_eq!(three.ids().collect::<Vec<_>>(), ids[2..]);
    }

    #[test]
    fn g09_a_ring_prints_ids_alone() {
        let one = ring(&[0x41]);
        let id = one.ids().next().expect("a key");
        assert_eq!(format!("{one:?}"), format!("[{id}]"));
        assert_eq!(id.to_string().parse(), Ok(id));
        assert_eq!("12345".parse::<KeyId>(), Err(BadKeyId));
    }
}
