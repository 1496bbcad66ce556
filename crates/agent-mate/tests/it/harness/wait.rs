//! Waiting for conditions, never for time.

use mate_engine::surroundings::SystemClock;
use mate_model::Clock as _;
use std::{thread, time::Duration};

/// The longest that anything in these tests may take; microseconds.
const PATIENCE: i64 = 60 * 1_000_000;
const PAUSE: Duration = Duration::from_millis(20);

/// Waits until something is there.
pub(crate) fn until<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let clock = SystemClock::default();
    let since = clock.monotonic();
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(clock.monotonic() - since < PATIENCE, "waited 60 s in vain: {what}");
        thread::sleep(PAUSE);
    }
}

/// Looks again and again for `span`; fails at the first time that it does not hold.
pub(crate) fn while_true(what: &str, span: Duration, mut holds: impl FnMut() -> bool) {
    let clock = SystemClock::default();
    let since = clock.monotonic();
    while clock.monotonic() - since < i64::try_from(span.as_micros()).unwrap_or(i64::MAX) {
        assert!(holds(), "did not hold: {what}");
        thread::sleep(PAUSE);
    }
}
