//! What the session's programs may not do, even as root.

use rustix::thread::{
    CapabilitySet, CapabilitySets, capability_is_in_bounding_set, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_no_new_privs,
};
use std::io;

/// What programs that run as root keep: what package managers, builds and changes of user need. None of these
/// reaches beyond the files and processes that the session sees.
///
/// Left out with a reason: `SYS_ADMIN` (would undo the mounts), `SYS_PTRACE`, `DAC_READ_SEARCH` (opens files by
/// number, past all mounts), `MKNOD` and `SYS_RAWIO` (the disk under the files), `NET_RAW` and `NET_ADMIN`
/// (would read the tokens of others on the loopback interface), `SYS_MODULE`, `BPF`, `PERFMON`.
const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::SETPCAP)
    .union(CapabilitySet::SETFCAP)
    .union(CapabilitySet::NET_BIND_SERVICE)
    .union(CapabilitySet::SYS_CHROOT)
    .union(CapabilitySet::AUDIT_WRITE);

/// Makes sure that no program started from here gets more than it should. Of a process that is not root nothing is
/// left, and nothing that it starts gets more; root's own rights are for the keeper to start programs with.
pub(super) fn give_up() -> io::Result<()> {
    let root = rustix::process::getuid().is_root();
    let kept = if root { KEPT } else { CapabilitySet::empty() };
    if root {
        super::calls::keep_cgroup_namespace()?;
    }
    limit(kept)?;
    clear_ambient_capability_set()?;
    if !root {
        let none = CapabilitySet::empty();
        set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
        set_no_new_privs(true)?;
    }
    Ok(())
}

fn limit(kept: CapabilitySet) -> io::Result<()> {
    for number in 0..u64::BITS {
        let capability = CapabilitySet::from_bits_retain(1 << number);
        match capability_is_in_bounding_set(capability) {
            Ok(true) if !kept.contains(capability) => match remove_capability_from_bounding_set(capability) {
                // Whoever may not do this has no rights, and gets none with `no_new_privs`.
                Err(rustix::io::Errno::PERM) if !rustix::process::getuid().is_root() => {}
                done => done?,
            },
            Ok(_) => {}
            // This kernel has no more of them.
            Err(rustix::io::Errno::INVAL) => break,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
