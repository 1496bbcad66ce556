//! Whether anything of a session still lives, and the means to end it.

use super::{ContainerRecord, ExitRecord, Identity, RecordError, boot_id, identity::namespace_of};
use serde::{Deserialize, Serialize};
use std::{fs, io, path::Path, time::Duration};

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
}

/// Why emptiness is not proved.
#[derive(Debug, thiserror::Error)]
pub enum Living {
    /// Process 1 of the container runs.
    #[error("{processes} processes of the session live in the container of process {}; end the container first", .init.pid)]
    Running {
        /// Process 1 of the container.
        init: Identity,
        /// How many processes are in the namespace, process 1 included.
        processes: usize,
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
/// Process 1 of a namespace is let go only after every other process in it, so its end is the proof.
///
/// # Errors
/// [`Living`], when something lives or it cannot be known.
pub fn prove_empty(folder: &Path) -> Result<Evidence, Living> {
    let Some(container) = ContainerRecord::read(folder)? else {
        return Ok(Evidence { container: None, proof: Proof::NeverStarted });
    };
    let witnessed = ExitRecord::read(folder)?.filter(|exit| exit.container == container);
    let proof = if let Some(exit) = witnessed {
        Proof::Witnessed(exit)
    } else if boot_id()? != container.init.boot_id {
        Proof::EarlierBoot
    } else if init_lives(&container)? {
        let processes = count_namespace(container.namespace)?;
        return Err(Living::Running { init: container.init, processes });
    } else {
        Proof::InitGone
    };
    Ok(Evidence { container: Some(container), proof })
}

/// Start times count in steps of 10 ms, so the namespace must agree, too. One that may not be looked at
/// is taken for the container's.
fn init_lives(container: &ContainerRecord) -> io::Result<bool> {
    let elsewhere =
        namespace_of(&container.init.pid.to_string()).is_ok_and(|inode| inode != container.namespace);
    Ok(!elsewhere && container.init.is_alive()?)
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
/// The process is named by boot, number and start time and killed through a handle, so nobody else's
/// is. Blocks up to twice `patience`.
///
/// # Errors
/// When it cannot be killed, or still lives after `patience`.
#[cfg(target_os = "linux")]
pub fn end_container(folder: &Path, patience: Duration) -> Result<Evidence, EndError> {
    let living = match prove_empty(folder) {
        Ok(evidence) => return Ok(evidence),
        Err(living) => living,
    };
    let Living::Running { init, .. } = &living else {
        return Err(EndError::StillLiving { seconds: 0, living });
    };
    if let Some(handle) = init.open()? {
        match rustix::process::pidfd_send_signal(&handle, rustix::process::Signal::KILL) {
            Ok(()) | Err(rustix::io::Errno::SRCH) => {}
            Err(error) => return Err(EndError::Refused(error.into())),
        }
        wait_for(&handle, patience)?;
    }
    // The handle tells of the end a moment before the parent has taken note of it.
    let step = Duration::from_millis(5);
    let mut left = patience;
    loop {
        match prove_empty(folder) {
            Ok(evidence) => return Ok(evidence),
            Err(living) if left.is_zero() => {
                return Err(EndError::StillLiving { seconds: patience.as_secs(), living });
            }
            Err(_) => std::thread::sleep(step),
        }
        left = left.saturating_sub(step);
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
    let mut count = 0;
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(pid) = name.to_str().filter(|n| n.bytes().all(|b| b.is_ascii_digit())) else { continue };
        if namespace_of(pid).is_ok_and(|found| found == inode) {
            count += 1;
        }
    }
    Ok(count)
}
