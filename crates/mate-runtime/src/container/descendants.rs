//! Ending everything that descends from this process, where no namespace does it.
//!
//! The process is a child subreaper: whatever loses its parent comes to it. So every descendant is reached
//! by way of its parents, and when there is no child left, nothing is.

use super::identity::{Stat, all_pids};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, pidfd_open, pidfd_send_signal, wait};
use std::{fs, io, os::fd::OwnedFd};

/// Makes the orphans among this process's descendants its children.
pub(super) fn adopt_orphans() -> io::Result<()> {
    Ok(rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?)
}

/// The children of a process: those of each of its threads.
///
/// # Errors
/// When the kernel does not say, for want of descriptors for instance. That a process is gone is no error.
fn children(parent: i32) -> io::Result<Vec<i32>> {
    let threads = match fs::read_dir(format!("/proc/{parent}/task")) {
        Ok(threads) => threads,
        Err(error) if is_gone(&error) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut found = Vec::new();
    for thread in threads {
        let thread = match thread {
            Ok(thread) => thread,
            Err(error) if is_gone(&error) => break,
            Err(error) => return Err(error),
        };
        match fs::read_to_string(thread.path().join("children")) {
            Ok(text) => {
                found.extend(text.split_ascii_whitespace().filter_map(|word| word.parse::<i32>().ok()))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound && thread.path().exists() => {
                return children_by_parent(parent);
            }
            Err(error) if is_gone(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// Whether a process has ended meanwhile. ESRCH (3) has no kind of its own.
fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(3)
}

/// For kernels that do not list children.
fn children_by_parent(parent: i32) -> io::Result<Vec<i32>> {
    let is_child = |pid: &i32| Stat::read(*pid).is_ok_and(|stat| stat.parent == parent);
    Ok(all_pids()?.into_iter().filter(is_child).collect())
}

/// Every descendant of a process at this moment, zombies left out; it may be more a moment later.
///
/// # Errors
/// When the kernel does not say.
pub(super) fn of(root: i32) -> io::Result<Vec<i32>> {
    let mut found = Vec::new();
    let mut next = vec![root];
    while let Some(parent) = next.pop() {
        for child in children(parent)? {
            if Stat::read(child).is_ok_and(|stat| !stat.is_dead()) {
                found.push(child);
            }
            next.push(child);
        }
    }
    Ok(found)
}

/// A handle on a child of `parent`; `None` when the number is by now somebody else's.
fn handle(child: i32, parent: i32) -> Option<OwnedFd> {
    let handle = pidfd_open(Pid::from_raw(child)?, PidfdFlags::empty()).ok()?;
    // Looked at after the handle was opened, so it is the handle's process that was seen.
    (Stat::read(child).ok()?.parent == parent).then_some(handle)
}

/// One round: stops and kills every descendant that it reaches.
///
/// Each is stopped before its children are listed, so that the walk is faster than a fork storm. More
/// rounds are needed, because what is forked or orphaned meanwhile may have been passed by.
pub(super) fn kill_round() {
    let own = rustix::process::getpid().as_raw_pid();
    let mut next: Vec<(i32, i32)> = below(own).collect();
    let mut stopped = Vec::new();
    while let Some((pid, parent)) = next.pop() {
        let Some(handle) = handle(pid, parent) else { continue };
        let _ = pidfd_send_signal(&handle, Signal::STOP);
        next.extend(below(pid));
        stopped.push(handle);
        // Handles are descriptors, of which there may be few.
        if stopped.len() >= 200 {
            stopped.drain(..).for_each(|handle| kill(&handle));
        }
    }
    stopped.iter().for_each(kill);
}

/// The children of a process with its number; none where the kernel does not say, and then another round is needed.
fn below(parent: i32) -> impl Iterator<Item = (i32, i32)> {
    children(parent).unwrap_or_default().into_iter().map(move |child| (child, parent))
}

fn kill(handle: &OwnedFd) {
    // It may have ended by itself.
    let _ = pidfd_send_signal(handle, Signal::KILL);
}

/// Takes the ended children; whether there is any child left.
pub(super) fn reap() -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}
