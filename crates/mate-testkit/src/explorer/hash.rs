//! A fast hash for small keys that nobody chooses to collide.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
};

/// A map for keys of our own making.
pub(super) type FastMap<K, V> = HashMap<K, V, BuildHasherDefault<Fast>>;

/// Multiply and rotate; the last mix spreads the bits.
#[derive(Debug, Default)]
pub(super) struct Fast(u64);

impl Fast {
    const fn add(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

impl Hasher for Fast {
    fn finish(&self) -> u64 {
        let mixed = (self.0 ^ (self.0 >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^ (mixed >> 32)
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.add(u64::from(*byte));
        }
    }

    fn write_u8(&mut self, i: u8) {
        self.add(u64::from(i));
    }

    fn write_u64(&mut self, i: u64) {
        self.add(i);
    }

    fn write_u128(&mut self, i: u128) {
        self.add((i & u128::from(u64::MAX)) as u64);
        self.add((i >> 64) as u64);
    }

    fn write_isize(&mut self, i: isize) {
        self.add(i as u64);
    }

    fn write_usize(&mut self, i: usize) {
        self.add(i as u64);
    }
}
