//! Watching the limits: what the kernel tells of those that it holds, and the count that the keeper makes itself.

use mate_model::containment::{Enforcer, LimitKind};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A limit that was reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Breach {
    /// Which.
    pub kind: LimitKind,
    /// Who acted on it.
    pub enforced_by: Enforcer,
    /// What was done, in words for people.
    pub detail: String,
}

impl Breach {
    /// Whether the keeper has to act.
    pub(super) fn is_for_keeper(&self) -> bool {
        self.enforced_by == Enforcer::Keeper
    }
}

pub(super) struct Watch {
    /// Whether the kernel holds limits that it counts.
    by_kernel: bool,
    most: Option<u64>,
    killed: u64,
    refused: u64,
}

/// What the kernel has counted so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counted {
    /// Processes killed for memory.
    pub(super) killed: u64,
    /// Processes refused for their number.
    pub(super) refused: u64,
}

impl Watch {
    /// Between two looks.
    pub(super) const PAUSE: Duration = Duration::from_millis(100);

    /// A watch, if there is anything to watch: limits that the kernel holds, or a number of processes.
    pub(super) fn over(by_kernel: bool, most: Option<u64>) -> Option<Self> {
        (by_kernel || most.is_some()).then_some(Self { by_kernel, most, killed: 0, refused: 0 })
    }

    /// What happened since the last look.
    pub(super) fn look(
        &mut self,
        counted: impl FnOnce() -> Counted,
        living: impl FnOnce() -> usize,
    ) -> Option<Breach> {
        if self.by_kernel {
            let Counted { killed, refused } = counted();
            if killed > self.killed {
                self.killed = killed;
                return Some(Breach {
                    kind: LimitKind::Memory,
                    enforced_by: Enforcer::Cgroup,
                    detail: format!("the kernel killed {killed} of its processes for memory"),
                });
            }
            if refused > 0 && self.refused == 0 {
                self.refused = refused;
                return Some(Breach {
                    kind: LimitKind::Processes,
                    enforced_by: Enforcer::Cgroup,
                    detail: "the kernel refused it more processes".to_owned(),
                });
            }
        }
        let most = self.most?;
        let found = u64::try_from(living()).unwrap_or(u64::MAX);
        (found > most).then(|| Breach {
            kind: LimitKind::Processes,
            enforced_by: Enforcer::Keeper,
            detail: format!("{found} processes where {most} are allowed: all of them were killed"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_counted_is_told_once() {
        assert!(Watch::over(false, None).is_none(), "nothing to watch");
        let mut watch = Watch::over(true, None).unwrap();
        let mut look =
            |killed, refused| watch.look(|| Counted { killed, refused }, || 9).map(|breach| breach.kind);
        assert_eq!(look(0, 0), None);
        assert_eq!(look(1, 0), Some(LimitKind::Memory));
        assert_eq!(look(1, 0), None);
        assert_eq!(look(1, 3), Some(LimitKind::Processes));
        assert_eq!(look(1, 4), None);
        assert_eq!(look(2, 4), Some(LimitKind::Memory));
    }

    #[test]
    fn the_keeper_counts_where_the_kernel_does_not() {
        let mut watch = Watch::over(false, Some(3)).unwrap();
        assert_eq!(watch.look(Counted::default, || 3), None);
        let breach = watch.look(Counted::default, || 4).unwrap();
        assert!(breach.is_for_keeper() && breach.detail.starts_with("4 processes"), "{breach:?}");
    }
}
