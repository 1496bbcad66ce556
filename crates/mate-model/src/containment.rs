//! How the processes of a session are held together, and what they may use.

use crate::{confinement::Confined, words::words};
use serde::{Deserialize, Serialize};

words!(/// How the kernel ends and counts the processes of a container, the strongest first.
Means, "a means of containment" {
    /// A PID namespace: nothing can leave it, and the end of its process 1 is the end of all.
    PidNamespace = "pid_namespace",
    /// A leaf of the cgroup v2 tree: killed as one, and the kernel tells when it is empty.
    Cgroup = "cgroup",
    /// A keeper to which every orphan comes; it kills until it has no child left.
    Subreaper = "subreaper",
});

words!(/// Which means is to be used.
MeansChoice, "a choice of a means of containment" {
    /// The strongest that the machine offers.
    Auto = "auto",
    /// This one or none.
    PidNamespace = "pid_namespace",
    /// This one or none.
    Cgroup = "cgroup",
    /// This one or none.
    Subreaper = "subreaper",
});

impl MeansChoice {
    /// What is tried, in this order.
    #[must_use]
    pub const fn candidates(self) -> &'static [Means] {
        match self {
            Self::Auto => Means::ALL,
            Self::PidNamespace => &[Means::PidNamespace],
            Self::Cgroup => &[Means::Cgroup],
            Self::Subreaper => &[Means::Subreaper],
        }
    }
}

words!(/// What a session's processes can be limited in.
LimitKind, "a kind of limit" {
    /// Memory of all of them together; bytes.
    Memory = "memory",
    /// How many there are.
    Processes = "processes",
    /// Processor time of all of them together; percent of one processor.
    Cpu = "cpu",
});

words!(/// Who holds a session to a limit.
Enforcer, "an enforcer" {
    /// The kernel, through the session's cgroup.
    Cgroup = "cgroup",
    /// The keeper counts, and kills what the session runs when it is over the limit.
    Keeper = "keeper",
});

/// What the processes of one session may use together; no limit where there is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Memory, in bytes.
    pub memory: Option<u64>,
    /// How many processes.
    pub processes: Option<u64>,
    /// Processor time, in percent of one processor.
    pub cpu: Option<u64>,
}

impl Limits {
    /// Those that are set.
    pub fn set(self) -> impl Iterator<Item = (LimitKind, u64)> {
        let all = [
            (LimitKind::Memory, self.memory),
            (LimitKind::Processes, self.processes),
            (LimitKind::Cpu, self.cpu),
        ];
        all.into_iter().filter_map(|(kind, value)| Some((kind, value?)))
    }
}

/// A limit of a container, as it is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldLimit {
    /// In what.
    pub kind: LimitKind,
    /// How much: bytes, processes, or percent of one processor.
    pub value: u64,
    /// Who holds the session to it; `None`: nobody can on this machine, so it is not enforced.
    pub enforced_by: Option<Enforcer>,
}

/// How a session's latest container holds its processes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Containment {
    /// The means.
    pub means: Means,
    /// Whether a cgroup of its own is used as well.
    pub with_cgroup: bool,
    /// Its limits.
    pub limits: Vec<HeldLimit>,
    /// How its processes are kept from what they must not see.
    pub confined: Confined,
}
