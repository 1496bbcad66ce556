//! What the kernel must be asked in ways that the compiler cannot check: new namespaces, and strangers'
//! descriptors. The one place of this crate that needs `unsafe`.

use rustix::{
    mount::{MountPropagationFlags, mount_change},
    process::{getgid, getuid},
    thread::{
        CapabilitySet, UnshareFlags, capabilities, configure_capability_in_ambient_set, set_capabilities,
    },
};
use std::{
    fs, io,
    os::fd::{BorrowedFd, FromRawFd as _, OwnedFd},
};

/// Makes the children of this process live in a new PID namespace.
///
/// Without the right to do so, a user namespace gives it, in which the user is still the same user.
/// The process must have one thread.
pub(super) fn enter() -> io::Result<()> {
    match unshare(UnshareFlags::NEWPID) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            let (user, group) = (getuid().as_raw(), getgid().as_raw());
            unshare(UnshareFlags::NEWPID | UnshareFlags::NEWUSER)?;
            fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
            fs::write("/proc/self/setgroups", "deny")?;
            fs::write("/proc/self/gid_map", format!("{group} {group} 1"))?;
            keep_mount_right()
        }
        done => done,
    }
}

/// Gives this process mounts of its own; what it mounts is seen by its children only.
pub(super) fn own_mounts() -> io::Result<()> {
    unshare(UnshareFlags::NEWNS)?;
    Ok(mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?)
}

/// Lets process 1 mount its own `/proc` although it is no root user; it drops the right after that.
fn keep_mount_right() -> io::Result<()> {
    let mut sets = capabilities(None)?;
    sets.inheritable |= CapabilitySet::SYS_ADMIN;
    set_capabilities(None, sets)?;
    Ok(configure_capability_in_ambient_set(CapabilitySet::SYS_ADMIN, true)?)
}

#[expect(unsafe_code, reason = "the kernel's call can part a thread from its files; these flags do not")]
fn unshare(flags: UnshareFlags) -> io::Result<()> {
    // SAFETY: the descriptor table is not unshared (no CLONE_FILES), which is what makes the call
    // unsafe in general; the caller has one thread.
    Ok(unsafe { rustix::thread::unshare_unsafe(flags) }?)
}

/// Closes every descriptor above the three standard ones, whoever left it open.
///
/// Must be called first of all, before the program opens anything.
pub(super) fn close_strangers() -> io::Result<()> {
    let mut numbers: Vec<i32> = Vec::new();
    for entry in fs::read_dir("/proc/self/fd")? {
        numbers
            .extend(entry?.file_name().to_str().and_then(|name| name.parse().ok()).filter(|n: &i32| *n > 2));
    }
    for number in numbers {
        close_stranger(number);
    }
    Ok(())
}

#[expect(unsafe_code, reason = "a descriptor that the program was started with has no owner in it")]
fn close_stranger(number: i32) {
    // SAFETY: the number is not -1, and the borrow ends at once.
    let open = rustix::io::fcntl_getfd(unsafe { BorrowedFd::borrow_raw(number) }).is_ok();
    if open {
        // SAFETY: it is open, and nothing in this program owns it, since nothing was opened yet.
        drop(unsafe { OwnedFd::from_raw_fd(number) });
    }
}
