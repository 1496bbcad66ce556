//! Chaos: several sessions at once, and whatever can happen to them, by a schedule that a seed makes. The same
//! checker judges each round as judges the crash matrix.
//!
//! `./test chaos [--minutes N] [--seed S] [--round R]`; a failing round is told with the smallest schedule that still
//! fails, as far as a few tries find it.

mod disk;
mod perform;
mod random;
mod schedule;
mod shrink;

use crate::harness::Store;
use mate_engine::surroundings::{SystemClock, SystemEntropy};
use mate_model::{Clock as _, Entropy as _};
use schedule::Schedule;
use std::env;

/// How long a run lasts when nobody says it.
const MINUTES: u64 = 3;
const MINUTE: i64 = 60_000_000;

#[test]
fn the_record_holds_whatever_happens() {
    let clock = SystemClock::default();
    let until =
        clock.monotonic() + MINUTE * i64::try_from(number("MINUTES").unwrap_or(MINUTES)).expect("a span");
    let seed = number("SEED").unwrap_or_else(|| SystemEntropy.uuid().as_u64_pair().1 % 1_000_000_000);
    eprintln!("chaos: --seed {seed}");
    let only = number("ROUND");
    let mut round = only.unwrap_or(0);
    loop {
        let store = if round.is_multiple_of(2) { Store::Sqlite } else { Store::Postgres };
        let schedule = Schedule::of(random::Random::of(seed, round));
        if let Err(why) = perform::attempt(store, &schedule) {
            let (least, tries) = shrink::shrink(&schedule, |fewer| perform::attempt(store, fewer).is_err());
            panic!(
                "chaos: --seed {seed} --round {round} on {store:?}: {why}\nthe least schedule that fails, after \
                 {tries} tries:\n{least}"
            );
        }
        eprintln!("chaos: round {round} on {store:?} holds ({} steps)", schedule.steps.len());
        round += 1;
        if only.is_some() || clock.monotonic() >= until {
            return;
        }
    }
}

fn number(name: &str) -> Option<u64> {
    let text = env::var(format!("AGENT_MATE_CHAOS_{name}")).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("AGENT_MATE_CHAOS_{name}: {text:?} is no number")))
}
