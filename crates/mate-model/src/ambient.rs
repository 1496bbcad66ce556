//! The two things that a program takes from its surroundings: time and randomness.
//!
//! Only these traits are known below the binary; `clippy.toml` forbids the ambient functions.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A moment: microseconds since 1970-01-01T00:00:00 UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Micros(pub i64);

impl Micros {
    /// This moment moved by `seconds` (negative: earlier); saturates at the ends of the range.
    #[must_use]
    pub const fn plus_seconds(self, seconds: i64) -> Self {
        Self(self.0.saturating_add(seconds.saturating_mul(1_000_000)))
    }

    /// Microseconds from `earlier` to this moment; negative when `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// Where the time comes from.
pub trait Clock: Send + Sync + std::fmt::Debug {
    /// The wall clock, UTC. May jump.
    fn now(&self) -> Micros;
    /// Microseconds on a clock that never goes back, from an arbitrary origin. For durations.
    fn monotonic(&self) -> i64;
}

/// Where ids and secrets come from.
pub trait Entropy: Send + Sync + std::fmt::Debug {
    /// A fresh UUID, version 7 (RFC 9562): sorts by the time of its making.
    fn uuid(&self) -> Uuid;
    /// 32 bytes from a cryptographic generator.
    fn secret(&self) -> [u8; 32];
}
