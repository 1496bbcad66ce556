//! Dropping steps from a schedule for as long as it still fails, within a bound.

use super::schedule::Schedule;

/// The most tries.
const TRIES: u32 = 12;

/// A shorter schedule that fails as well, and after how many tries.
pub(super) fn shrink(failing: &Schedule, mut fails: impl FnMut(&Schedule) -> bool) -> (Schedule, u32) {
    let mut least = failing.clone();
    let mut tries = 0;
    let mut chunk = least.steps.len().div_ceil(2);
    while chunk > 0 {
        let mut at = 0;
        while at < least.steps.len() {
            if tries == TRIES {
                return (least, tries);
            }
            let mut fewer = least.clone();
            fewer.steps.drain(at..(at + chunk).min(fewer.steps.len()));
            tries += 1;
            if fails(&fewer) {
                least = fewer;
            } else {
                at += chunk;
            }
        }
        chunk /= 2;
    }
    (least, tries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crash::chaos::schedule::{Action, Step};

    #[test]
    fn what_does_not_matter_is_dropped_within_the_bound() {
        let step = |action| Step { after_ms: 0, action };
        let mut steps = vec![step(Action::StartServe); 7];
        steps.insert(5, step(Action::Revoke));
        let bad = |schedule: &Schedule| schedule.steps.iter().any(|step| step.action == Action::Revoke);
        let (least, tries) = shrink(&Schedule { steps }, bad);
        assert!(tries <= TRIES);
        assert_eq!(least.steps, [step(Action::Revoke)]);
    }
}
