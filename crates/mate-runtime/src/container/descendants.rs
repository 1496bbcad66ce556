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
fn children(parent: i32) -> Vec<i32> {
    let Ok(threads) = fs::read_dir(format!("/proc/{parent}/task")) else { return Vec::new() };
    let mut found = Vec::new();
    for thread in threads.flatten() {
        match fs::read_to_string(thread.path().join("children")) {
            Ok(text) => {
                found.extend(text.split_ascii_whitespace().filter_map(|word| word.parse::<i32>().ok()))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound && thread.path().exists() => {
                return children_by_parent(parent);
            }
            Err(_) => {}
        }
    }
    found
}

/// For kernels that do not list children.
fn children_by_parent(parent: i32) -> Vec<i32> {
    let is_child = |pid: &i32| Stat::read(*pid).is_ok_and(|stat| stat.parent == parent);
    all_pids().unwrap_or_default().into_iter().filter(is_child).collect()
}

/// Every descendant of a process at this moment, zombies left out; it may be more a moment later.
pub(super) fn of(root: i32) -> Vec<i32> {
    let mut found = Vec::new();
    let mut next = vec![root];
    while let Some(parent) = next.pop() {
        for child in children(parent) {
            if Stat::read(child).is_ok_and(|stat| !stat.is_dead()) {
                found.push(child);
            }
            next.push(child);
        }
    }
    found
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
    let mut next: Vec<(i32, i32)> = children(own).into_iter().map(|child| (child, own)).collect();
    let mut stopped = Vec::new();
    while let Some((pid, parent)) = next.pop() {
        let Some(handle) = handle(pid, parent) else { continue };
        let _ = pidfd_send_signal(&handle, Signal::STOP);
        next.extend(children(pid).into_iter().map(|child| (child, pid)));
        stopped.push(handle);
        // Handles are descriptors, of which there may be few.
        if stopped.len() >= 200 {
            stopped.drain(..).for_each(|handle| kill(&handle));
        }
    }
    stopped.iter().for_each(kill);
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
