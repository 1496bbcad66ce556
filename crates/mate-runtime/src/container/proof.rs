//! Whether anything of a session still lives, and the means to end it.

use super::{
    ContainerRecord, ExitRecord, Identity, Leaf, RecordError, StatementRecord, boot_id, descendants,
    identity::{all_pids, namespace_of},
};
use mate_model::containment::Means;
#[cfg(target_os = "linux")]
use rustix::process::Signal;
use serde::{Deserialize, Serialize};
use std::{io, path::Path, time::Duration};

/// What proves that nothing of a session lives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// The container in question; none was ever made when this is `None`.
    pub container: Option<ContainerRecord>,
    /// What was found.
    pub proof: Proof,
}

/// The finding behind an [`Evidence`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Proof {
    /// The session never had a container; nothing is started before its record is on disk.
    NeverStarted,
    /// The keeper saw the end of the container and wrote it down.
    Witnessed(ExitRecord),
    /// The container belonged to an earlier boot of the machine.
    EarlierBoot,
    /// Process 1 of the container is gone; the kernel lets it go last.
    InitGone,
    /// The keeper is gone, and the kernel says that the container's cgroup is empty. A process that was
    /// moved out of it by somebody who may do that is not seen.
    CgroupEmpty,
    /// The machine cannot prove it; a person who has the home says so.
    Stated {
        /// How the person knows.
        reason: String,
    },
}

/// Why emptiness is not proved.
#[derive(Debug, thiserror::Error)]
pub enum Living {
    /// Process 1 of the container runs.
    #[error("{processes} processes of the session live in the container of process {}; end the container first", .init.pid)]
    Running {
        /// Process 1 of the container.
        init: Identity,
        /// How many processes are in it, process 1 included.
        processes: usize,
    },
    /// The keeper was killed from outside, and there is nothing else that would tell.
    #[error(
        "the keeper of the session's container was killed (process {}), and without it nothing proves that all it \
         ran has ended; make sure of it, then state it with `agent-mate session confirm-ended`", .keeper.pid
    )]
    Unwitnessed {
        /// The keeper.
        keeper: Identity,
    },
    /// The files cannot be used.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The system does not say.
    #[error("/proc does not say whether the container lives: {0}")]
    Unknown(#[from] io::Error),
}

/// Proves that no process of the session whose folder this is lives, or says what does.
///
/// The number of a PID namespace is reused by the kernel, so it is used to count and never to prove.
///
/// # Errors
/// [`Living`], when something lives or it cannot be known.
pub fn prove_empty(folder: &Path) -> Result<Evidence, Living> {
    let Some(container) = ContainerRecord::read(folder)? else {
        return Ok(Evidence { container: None, proof: Proof::NeverStarted });
    };
    // The keeper looked at is the keeper that may write: its record is read after it.
    let keepers_live = container.means != Means::PidNamespace && keepers_live(&container)?;
    let witnessed = ExitRecord::read(folder)?.filter(|exit| exit.container == container);
    let proof = if let Some(exit) = witnessed {
        Proof::Witnessed(exit)
    } else if boot_id()? != container.init.boot_id {
        Proof::EarlierBoot
    } else {
        match container.means {
            Means::PidNamespace if init_lives(&container)? => {
                let processes = count_namespace(container.namespace)?;
                return Err(Living::Running { init: container.init, processes });
            }
            Means::PidNamespace => Proof::InitGone,
            Means::Cgroup | Means::Subreaper if keepers_live => {
                return Err(running(&container));
            }
            Means::Cgroup if leaf_is_empty(&container)? => Proof::CgroupEmpty,
            Means::Cgroup => return Err(running(&container)),
            Means::Subreaper => {
                match StatementRecord::read(folder)?.filter(|said| said.container == container) {
                    Some(statement) => Proof::Stated { reason: statement.reason },
                    None => return Err(Living::Unwitnessed { keeper: container.keeper }),
                }
            }
        }
    };
    if let Some(leaf) = &container.leaf {
        // The keeper does it, unless it was killed.
        leaf.remove();
    }
    Ok(Evidence { container: Some(container), proof })
}

/// Start times count in steps of 10 ms, so the namespace must agree, too. One that may not be looked at
/// is taken for the container's.
fn init_lives(container: &ContainerRecord) -> io::Result<bool> {
    let elsewhere =
        namespace_of(&container.init.pid.to_string()).is_ok_and(|inode| inode != container.namespace);
    Ok(!elsewhere && container.init.is_alive()?)
}

fn keepers_live(container: &ContainerRecord) -> io::Result<bool> {
    Ok(container.keeper.is_alive()? || container.init.is_alive()?)
}

fn leaf_is_empty(container: &ContainerRecord) -> io::Result<bool> {
    container.leaf.as_ref().map_or(Ok(false), Leaf::is_empty)
}

/// Of a container without a namespace.
fn running(container: &ContainerRecord) -> Living {
    let below = |root: i32| descendants::of(root).map_or(0, |found| found.len());
    let below = below(container.keeper.pid).max(below(container.init.pid));
    Living::Running { init: container.init.clone(), processes: below.max(1) }
}

/// Why a container could not be ended.
#[derive(Debug, thiserror::Error)]
pub enum EndError {
    /// It was told to die and still lives.
    #[error("the container did not end within {seconds} s: {living}")]
    StillLiving {
        /// How long was waited.
        seconds: u64,
        /// What lives.
        living: Living,
    },
    /// It cannot be told to die.
    #[error("the container cannot be ended: {0}")]
    Refused(#[from] io::Error),
    /// There is no such means on this system.
    #[error("this system has no means to end a container")]
    Unsupported,
}

/// Ends the container of the session whose folder this is, and waits until it is proved empty.
///
/// The processes of the keeper are named by boot, number and start time and signalled through a handle,
/// so nobody else's are. Blocks up to twice `patience`.
///
/// # Errors
/// When it cannot be killed, still lives after `patience`, or nothing can prove its end.
#[cfg(target_os = "linux")]
pub fn end_container(folder: &Path, patience: Duration) -> Result<Evidence, EndError> {
    let living = match prove_empty(folder) {
        Ok(evidence) => return Ok(evidence),
        Err(living) => living,
    };
    let Living::Running { init, .. } = &living else {
        return Err(EndError::StillLiving { seconds: 0, living });
    };
    let record = ContainerRecord::read(folder).ok().flatten().filter(|record| record.init == *init);
    if let Some(leaf) = record.as_ref().and_then(|record| record.leaf.as_ref()) {
        leaf.thaw();
    }
    match record.filter(|record| record.means != Means::PidNamespace) {
        Some(record) => tell_keepers(&record)?,
        None => {
            if let Some(handle) = init.open()? {
                send(&handle, Signal::KILL)?;
                wait_for(&handle, patience)?;
            }
        }
    }
    // The handle tells of the end a moment before the parent has taken note of it.
    let step = Duration::from_millis(5);
    let mut left = patience;
    loop {
        match prove_empty(folder) {
            Ok(evidence) => return Ok(evidence),
            Err(living @ Living::Unwitnessed { .. }) => {
                return Err(EndError::StillLiving { seconds: 0, living });
            }
            Err(living) if left.is_zero() => {
                return Err(EndError::StillLiving { seconds: patience.as_secs(), living });
            }
            Err(_) => std::thread::sleep(step),
        }
        left = left.saturating_sub(step);
    }
}

/// Without a namespace it is the keeper that ends all, so it must run, and its outer process must not be killed.
#[cfg(target_os = "linux")]
fn tell_keepers(container: &ContainerRecord) -> io::Result<()> {
    let outer = container.keeper.open()?;
    if let Some(outer) = &outer {
        send(outer, Signal::CONT)?;
    }
    if let Some(inner) = container.init.open()? {
        send(&inner, Signal::CONT)?;
        // With the outer one gone, it is the inner one that ends all when its worker is gone.
        if outer.is_some() || container.leaf.is_some() {
            send(&inner, Signal::KILL)?;
        }
    }
    if let Some(leaf) = &container.leaf {
        leaf.kill()?;
    }
    Ok(())
}

#[cfg(target_os = "linux")]
fn send(handle: &std::os::fd::OwnedFd, signal: Signal) -> io::Result<()> {
    match rustix::process::pidfd_send_signal(handle, signal) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Ends the container of the session whose folder this is; not possible on this system.
///
/// # Errors
/// Always, unless nothing lives.
#[cfg(not(target_os = "linux"))]
pub fn end_container(folder: &Path, _patience: Duration) -> Result<Evidence, EndError> {
    prove_empty(folder).map_err(|_| EndError::Unsupported)
}

#[cfg(target_os = "linux")]
fn wait_for(handle: &std::os::fd::OwnedFd, patience: Duration) -> io::Result<()> {
    use rustix::event::{PollFd, PollFlags, poll};
    let timeout = rustix::event::Timespec::try_from(patience).map_err(io::Error::other)?;
    match poll(&mut [PollFd::new(handle, PollFlags::IN)], Some(&timeout)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// How many processes are in a PID namespace, as far as they may be looked at.
pub(super) fn count_namespace(inode: u64) -> io::Result<usize> {
    let inside = |pid: &i32| namespace_of(&pid.to_string()).is_ok_and(|found| found == inode);
    Ok(all_pids()?.iter().filter(|pid| inside(pid)).count())
}
