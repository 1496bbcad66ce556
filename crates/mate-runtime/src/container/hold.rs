//! How the keeper's inner process holds what it starts: kills it, counts it, and makes sure of its end.

use super::{
    cgroup, descendants,
    identity::namespace_of,
    kernel,
    opened::{Opened, folder_in_hand},
    plan::{HoldPlan, Witness},
    proof::count_namespace,
};
use crate::confine::{self, Confined, Confinement, Fence};
use rustix::{
    mount::{MountFlags, mount},
    process::{Pid, Signal, kill_process_group, set_parent_process_death_signal},
    thread::{CapabilitySet, CapabilitySets, clear_ambient_capability_set, set_capabilities},
};
use std::{io, thread, time::Duration};

/// Between two rounds of killing.
const PAUSE: Duration = Duration::from_millis(2);

pub(super) enum Hold {
    Namespace { leaf: Option<Opened> },
    Leaf { leaf: Opened },
    Orphans,
}

/// What came of the preparation.
pub(super) struct Prepared {
    pub(super) hold: Hold,
    pub(super) fence: Fence,
    pub(super) witness: Option<Witness>,
    pub(super) own_proc: bool,
    pub(super) in_leaf: bool,
    pub(super) confined: Confined,
}

impl Hold {
    /// Takes hold, then confines this process and all that it starts. What is needed of hidden places is opened first.
    pub(super) fn prepare(plan: HoldPlan, told: &Confinement) -> io::Result<Prepared> {
        let (hold, witness, own_proc) = match plan {
            HoldPlan::Namespace { leaf } => {
                set_parent_process_death_signal(Some(Signal::KILL))?;
                let leaf = leaf.filter(|leaf| leaf.enter().is_ok());
                let leaf = leaf.and_then(|leaf| Opened::open(&leaf, None).ok());
                (Self::Namespace { leaf }, None, own_proc().is_ok())
            }
            HoldPlan::Leaf { leaf, own, witness } => {
                descendants::adopt_orphans()?;
                leaf.enter()?;
                cgroup::enter(&own)?;
                (Self::Leaf { leaf: Opened::open(&leaf, Some(&own))? }, Some(in_hand(&witness)?), false)
            }
            HoldPlan::Orphans { witness } => {
                descendants::adopt_orphans()?;
                (Self::Orphans, Some(in_hand(&witness)?), false)
            }
        };
        let (fence, confined) = confine::enter(told)?;
        drop_rights()?;
        confine::shut_to_others()?;
        let in_leaf = hold.opened().is_some();
        Ok(Prepared { hold, fence, witness, own_proc, in_leaf, confined })
    }

    /// The leaf that holds the programs.
    pub(super) const fn opened(&self) -> Option<&Opened> {
        match self {
            Self::Namespace { leaf } => leaf.as_ref(),
            Self::Leaf { leaf } => Some(leaf),
            Self::Orphans => None,
        }
    }

    /// Starts a program where it is held from its first moment on.
    pub(super) fn start<T>(&self, start: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
        match self {
            Self::Namespace { .. } | Self::Orphans => start(),
            Self::Leaf { leaf } => {
                leaf.enter().map_err(|error| format!("the session's cgroup cannot be entered: {error}"))?;
                let started = start();
                // Should that fail, the keeper's inner process ends with what it started.
                let _ = leaf.leave();
                started
            }
        }
    }

    /// Kills what it reaches; more may be there a moment later.
    pub(super) fn kill_round(&self) {
        match self {
            // "Group 1" is the kernel's way to write "all but me"; outside of a namespace that is everybody.
            Self::Namespace { .. } if rustix::process::getpid() == Pid::INIT => {
                let _ = kill_process_group(Pid::INIT, Signal::KILL);
            }
            Self::Namespace { .. } => {}
            Self::Leaf { leaf } => {
                let _ = leaf.kill();
                descendants::kill_round();
            }
            Self::Orphans => descendants::kill_round(),
        }
    }

    /// How many processes live in the container, the keeper excluded. What cannot be counted is not none.
    pub(super) fn count(&self) -> usize {
        match self {
            // Without a /proc of its own, the namespace tells its processes from the others.
            Self::Namespace { .. } => {
                let own = namespace_of("self").unwrap_or_default();
                count_namespace(own).map_or(1, |all| all.saturating_sub(1))
            }
            Self::Leaf { .. } | Self::Orphans => {
                descendants::of(rustix::process::getpid().as_raw_pid()).map_or(1, |found| found.len())
            }
        }
    }
}

/// The records lie in what is hidden from here on.
fn in_hand(witness: &Witness) -> io::Result<Witness> {
    Ok(Witness { folder: folder_in_hand(&witness.folder)?, ..witness.clone() })
}

/// Kills until this process has no child and the leaf no process: the proof that nothing lives.
pub(super) fn end_all(leaf: Option<&Opened>) {
    loop {
        if let Some(leaf) = leaf {
            let _ = leaf.kill();
        }
        descendants::kill_round();
        let none_left = !descendants::reap();
        // What the kernel does not tell is not taken for empty.
        if none_left && leaf.is_none_or(|leaf| leaf.is_empty().unwrap_or(false)) {
            return;
        }
        thread::sleep(PAUSE);
    }
}

/// A `/proc` that shows the container and nothing else, seen by the container only.
fn own_proc() -> io::Result<()> {
    kernel::own_mounts()?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    Ok(mount("proc", "/proc", "proc", flags, None)?)
}

/// The rights that came with a user namespace.
fn drop_rights() -> io::Result<()> {
    if !rustix::process::getuid().is_root() {
        clear_ambient_capability_set()?;
        let none = CapabilitySet::empty();
        set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
    }
    Ok(())
}
