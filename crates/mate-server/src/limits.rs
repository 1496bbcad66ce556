//! How fast requests may come: so many a second on average, and so many at once.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Mutex, PoisonError},
};

/// The most keys that a table remembers.
const MOST: usize = 4096;

/// A rate: `burst` at once, and `per_second` from then on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// How many a second; at least 1.
    pub per_second: u32,
    /// How many at once; at least 1.
    pub burst: u32,
}

/// The rates of the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimits {
    /// Requests of one account.
    pub requests: RateLimit,
    /// Requests without a valid token from one address.
    pub failures: RateLimit,
}

impl Default for RateLimits {
    fn default() -> Self {
        Self {
            requests: RateLimit { per_second: 200, burst: 1000 },
            failures: RateLimit { per_second: 10, burst: 300 },
        }
    }
}

/// Counts by key. For each key one moment is kept: when all that was let through will have been paid for by time.
#[derive(Debug)]
pub(crate) struct Meter<K> {
    limit: RateLimit,
    paid_at: Mutex<HashMap<K, i64>>,
}

impl<K: Eq + Hash + Clone> Meter<K> {
    pub(crate) fn new(limit: RateLimit) -> Self {
        Self { limit, paid_at: Mutex::default() }
    }

    /// Counts one more at `now`, in microseconds of a monotonic clock.
    ///
    /// # Errors
    /// That it is one too many, and after how many seconds it would not be.
    pub(crate) fn count(&self, key: &K, now: i64) -> Result<(), u32> {
        let each = 1_000_000 / i64::from(self.limit.per_second.max(1));
        let room = each * i64::from(self.limit.burst.max(1));
        let mut paid_at = self.paid_at.lock().unwrap_or_else(PoisonError::into_inner);
        let next = paid_at.get(key).copied().unwrap_or(now).max(now) + each;
        let over = next - now - room;
        if over > 0 {
            return Err(u32::try_from((over + 999_999) / 1_000_000).unwrap_or(u32::MAX));
        }
        if paid_at.len() >= MOST && !paid_at.contains_key(key) {
            make_room(&mut paid_at, now);
        }
        paid_at.insert(key.clone(), next);
        Ok(())
    }
}

/// Forgets who has paid; if nobody has, who has least left to pay.
fn make_room<K: Eq + Hash + Clone>(paid_at: &mut HashMap<K, i64>, now: i64) {
    paid_at.retain(|_, at| *at > now);
    if paid_at.len() >= MOST
        && let Some(least) = paid_at.iter().min_by_key(|(_, at)| **at).map(|(key, _)| key.clone())
    {
        paid_at.remove(&least);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_and_then_the_rate() {
        let meter = Meter::new(RateLimit { per_second: 2, burst: 3 });
        for _ in 0..3 {
            assert_eq!(meter.count(&"a", 0), Ok(()));
        }
        assert_eq!(meter.count(&"a", 0), Err(1), "too many");
        assert_eq!(meter.count(&"b", 0), Ok(()), "others are not touched");
        assert_eq!(meter.count(&"a", 499_999), Err(1));
        assert_eq!(meter.count(&"a", 500_000), Ok(()));
        assert_eq!(meter.count(&"a", 500_000), Err(1), "what is refused costs nothing and gains nothing");
        assert_eq!(meter.count(&"a", 1_000_000), Ok(()));
    }

    #[test]
    fn the_table_is_bounded_and_keeps_the_greediest() {
        let meter = Meter::new(RateLimit { per_second: 1, burst: 2 });
        for _ in 0..2 {
            meter.count(&0, 0).expect("a burst");
        }
        for key in 1..20_000 {
            meter.count(&key, 0).expect("its first");
            assert!(meter.paid_at.lock().expect("held").len() <= MOST);
        }
        assert!(meter.count(&0, 0).is_err(), "it was not forgotten");
    }
}
