//! What happens when.

use super::random::Random;
use std::fmt;

/// Who is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    Worker,
    Runtime,
    Upstream,
}

/// Something that happens. `nth` chooses among the sessions that are there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// A task in a new session, or in one that is there.
    Submit {
        fresh: bool,
        nth: u64,
        script: u64,
    },
    /// SIGKILL.
    Kill {
        who: Who,
        nth: u64,
    },
    /// SIGSTOP; goes on after so many steps.
    Pause {
        who: Who,
        nth: u64,
        steps: u64,
    },
    /// The coordinator is killed; the next start brings it back.
    KillServe,
    /// The coordinator is asked to end.
    EndServe,
    /// The coordinator is started, if it is not there.
    StartServe,
    /// The coordinator stands still for so many milliseconds.
    PauseServe {
        ms: u64,
    },
    /// Everything is killed.
    KillEverything,
    /// The task that was submitted last in a session is asked to stop, or killed.
    Stop {
        nth: u64,
        kill: bool,
    },
    /// The grant for effects is revoked; the next one grants again.
    Revoke,
    Grant,
    /// Somebody follows a task, and goes away in the middle.
    Follow {
        nth: u64,
        ms: u64,
    },
    /// The disk is full.
    FillDisk,
    /// There is room again.
    FreeDisk,
    /// Each commit takes so many milliseconds more.
    SlowDisk {
        ms: u64,
    },
    /// And no more.
    QuickDisk,
}

/// An action, so many milliseconds after the one before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) after_ms: u64,
    pub(super) action: Action,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Schedule {
    pub(super) steps: Vec<Step>,
}

impl Schedule {
    /// One round: tasks first, then a mixture.
    pub(super) fn of(mut random: Random) -> Self {
        let mut steps = Vec::new();
        for _ in 0..2 {
            steps.push(Step { after_ms: 0, action: submit(&mut random, true) });
        }
        for _ in 0..random.within(16, 30) {
            let after_ms = random.within(20, 600);
            steps.push(Step { after_ms, action: any(&mut random) });
        }
        Self { steps }
    }
}

fn submit(random: &mut Random, fresh: bool) -> Action {
    Action::Submit { fresh, nth: random.next(), script: random.next() }
}

fn any(random: &mut Random) -> Action {
    let nth = random.next();
    let who = random.one_of(&[Who::Worker, Who::Runtime, Who::Upstream]);
    match random.within(0, 100) {
        0..=9 => submit(random, true),
        10..=27 => submit(random, false),
        28..=43 => Action::Kill { who, nth },
        44..=51 => Action::Pause { who, nth, steps: random.within(1, 4) },
        52..=57 => Action::KillServe,
        58..=59 => Action::EndServe,
        60..=66 => Action::StartServe,
        67..=69 => Action::PauseServe { ms: random.within(50, 1500) },
        70..=72 => Action::KillEverything,
        73..=78 => Action::Stop { nth, kill: random.within(0, 3) == 0 },
        79..=82 => Action::Revoke,
        83..=86 => Action::Grant,
        87..=90 => Action::Follow { nth, ms: random.within(20, 800) },
        91..=92 => Action::FillDisk,
        93..=95 => Action::FreeDisk,
        96..=97 => Action::SlowDisk { ms: random.within(5, 80) },
        _ => Action::QuickDisk,
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Step { after_ms, action } in &self.steps {
            writeln!(f, "  +{after_ms} ms {action:?}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_makes_the_same_schedule_and_another_one_another() {
        let of = |seed, round| Schedule::of(Random::of(seed, round));
        assert_eq!(of(7, 0), of(7, 0));
        assert_ne!(of(7, 0), of(7, 1));
        assert_ne!(of(7, 0), of(8, 0));
    }
}
