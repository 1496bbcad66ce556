//! What the kernel must be asked in ways that the compiler cannot check: new namespaces, strangers'
//! descriptors, and Landlock. The one place of this crate that needs `unsafe`.

use rustix::{
    mount::{MountPropagationFlags, mount_change},
    process::{getgid, getuid},
    thread::{
        CapabilitySet, UnshareFlags, capabilities, configure_capability_in_ambient_set, set_capabilities,
    },
};
use std::{
    fs, io,
    os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd},
};

/// Makes the children of this process live in a new PID namespace.
///
/// Without the right to do so, a user namespace gives it, in which the user is still the same user.
/// The process must have one thread.
pub(super) fn enter() -> io::Result<()> {
    match unshare(UnshareFlags::NEWPID) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            as_same_user(UnshareFlags::NEWPID)?;
            keep_mount_rights()
        }
        done => done,
    }
}

/// New namespaces under a new user namespace, in which the user is still the same user.
fn as_same_user(flags: UnshareFlags) -> io::Result<()> {
    let (user, group) = (getuid().as_raw(), getgid().as_raw());
    unshare(flags | UnshareFlags::NEWUSER)?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

/// Gives this process mounts of its own; what it mounts is seen by its children only.
pub(crate) fn own_mounts() -> io::Result<()> {
    match unshare(UnshareFlags::NEWNS) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => as_same_user(UnshareFlags::NEWNS)?,
        done => done?,
    }
    Ok(mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?)
}

/// Lets process 1 mount what it needs, and limit what it starts, although it is no root user; it drops both rights
/// after that.
fn keep_mount_rights() -> io::Result<()> {
    let kept = [CapabilitySet::SYS_ADMIN, CapabilitySet::SETPCAP];
    let mut sets = capabilities(None)?;
    kept.iter().for_each(|right| sets.inheritable |= *right);
    set_capabilities(None, sets)?;
    for right in kept {
        configure_capability_in_ambient_set(right, true)?;
    }
    Ok(())
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

/// Puts a filter of system calls on the calling thread and all that it starts. Each step is an operation, how many steps
/// to skip when it holds and when it does not, and its number.
#[expect(unsafe_code, reason = "the library has no name for this call")]
pub(crate) fn filter_calls(steps: &[(u16, u8, u8, u32)]) -> io::Result<()> {
    let mut filter: Vec<libc::sock_filter> =
        steps.iter().map(|&(code, jt, jf, k)| libc::sock_filter { code, jt, jf, k }).collect();
    let program = libc::sock_fprog {
        len: libc::c_ushort::try_from(filter.len()).map_err(io::Error::other)?,
        filter: filter.as_mut_ptr(),
    };
    // SAFETY: the kernel copies as many steps as it is told, which are there while the call lasts.
    let done = unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// What a set of Landlock rules is about, as the kernel reads it.
#[repr(C)]
pub(crate) struct LandlockRuleset {
    /// Kinds of access to files and folders.
    pub(crate) files: u64,
    /// Kinds of access to the network.
    pub(crate) network: u64,
    /// What does not reach beyond those who are under the same rules.
    pub(crate) scopes: u64,
}

/// Which version of Landlock the kernel has; 0 where it has none.
#[expect(unsafe_code, reason = "the library has no name for this call")]
pub(crate) fn landlock_version() -> u32 {
    const VERSION: libc::c_uint = 1;
    // SAFETY: with this flag the kernel reads no memory and opens nothing.
    let version = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<LandlockRuleset>(),
            0_usize,
            VERSION,
        )
    };
    // Negative: it is not there, or switched off.
    u32::try_from(version).unwrap_or(0)
}

/// Makes a set of rules without a rule.
#[expect(unsafe_code, reason = "the library has no name for this call")]
pub(crate) fn landlock_ruleset(about: &LandlockRuleset) -> io::Result<OwnedFd> {
    // Older kernels know fewer fields, and refuse more bytes unless they are zero; so they do take all of them.
    // SAFETY: the kernel reads as many bytes as it is told, which are there while the call lasts.
    let made = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            about,
            size_of::<LandlockRuleset>(),
            0 as libc::c_uint,
        )
    };
    let made = i32::try_from(made).ok().filter(|made| *made >= 0).ok_or_else(io::Error::last_os_error)?;
    // SAFETY: the kernel opened it for this call, and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(made) })
}

/// Allows these kinds of access at and below an open path.
#[expect(unsafe_code, reason = "the library has no name for this call")]
pub(crate) fn landlock_allow(rules: &OwnedFd, at: &OwnedFd, access: u64) -> io::Result<()> {
    const PATH_BENEATH: libc::c_uint = 1;
    #[repr(C, packed)]
    struct Beneath {
        access: u64,
        at: i32,
    }
    let rule = Beneath { access, at: at.as_raw_fd() };
    // SAFETY: the kernel reads one rule, which is there while the call lasts; both descriptors are open.
    let done = unsafe {
        libc::syscall(
            libc::SYS_landlock_add_rule,
            rules.as_raw_fd(),
            PATH_BENEATH,
            &raw const rule,
            0 as libc::c_uint,
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Puts the rules on the calling thread.
#[expect(unsafe_code, reason = "the library has no name for this call")]
pub(crate) fn landlock_restrict(rules: &OwnedFd) -> io::Result<()> {
    // SAFETY: no memory is passed, and the descriptor is open.
    let done =
        unsafe { libc::syscall(libc::SYS_landlock_restrict_self, rules.as_raw_fd(), 0 as libc::c_uint) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
