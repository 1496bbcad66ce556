//! A filter of system calls by which no program gets a cgroup namespace of its own: with one it could mount the tree of
//! cgroups anew, and as root write it.

use crate::container::kernel;
use std::io;

/// The system calls of one kind of program.
struct Calls {
    arch: u32,
    unshare: u32,
    clone: u32,
}

#[cfg(target_arch = "x86_64")]
const CALLS: &[Calls] = &[
    Calls { arch: 0xC000_003E, unshare: 272, clone: 56 },
    Calls { arch: 0x4000_0003, unshare: 310, clone: 120 },
];
#[cfg(target_arch = "aarch64")]
const CALLS: &[Calls] = &[
    Calls { arch: 0xC000_00B7, unshare: 97, clone: 220 },
    Calls { arch: 0x4000_0028, unshare: 337, clone: 120 },
];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const CALLS: &[Calls] = &[];

/// The same number everywhere. Its flags lie in memory, where no filter sees them; libraries fall back to `clone`.
const CLONE3: u32 = 435;
const NEW_CGROUP_NAMESPACE: u32 = 0x0200_0000;
/// Marks calls of programs with short pointers, which are otherwise the same.
const SHORT_POINTERS: u32 = 0x4000_0000;

const ALLOW: u32 = 0x7fff_0000;
const REFUSE: u32 = 0x0005_0000;
const EPERM: u32 = 1;
const ENOSYS: u32 = 38;

// Words of the filter's language: load a word, compare, test bits, mask, return.
const LOAD: u16 = 0x20;
const EQUAL: u16 = 0x15;
const ANY_BIT: u16 = 0x45;
const MASK: u16 = 0x54;
const RETURN: u16 = 0x06;
// Where the kernel puts the call's number, the kind of program, and the low half of the first argument.
const NUMBER: u32 = 0;
const ARCH: u32 = 4;
const FIRST: u32 = 16;

/// Puts the filter on the calling thread and all that it starts. On machines of other kinds there is none.
///
/// # Errors
/// When the kernel has no filters.
pub(super) fn keep_cgroup_namespace() -> io::Result<()> {
    if CALLS.is_empty() { Ok(()) } else { kernel::filter_calls(&filter()) }
}

/// Each step: what to do, how many steps to skip when it holds and when it does not, and its number.
fn filter() -> Vec<(u16, u8, u8, u32)> {
    let mut steps = Vec::new();
    for calls in CALLS {
        steps.extend([
            (LOAD, 0, 0, ARCH),
            (EQUAL, 0, 11, calls.arch),
            (LOAD, 0, 0, NUMBER),
            (MASK, 0, 0, !SHORT_POINTERS),
            (EQUAL, 5, 0, CLONE3),
            (EQUAL, 2, 0, calls.unshare),
            (EQUAL, 1, 0, calls.clone),
            (RETURN, 0, 0, ALLOW),
            (LOAD, 0, 0, FIRST),
            (ANY_BIT, 1, 2, NEW_CGROUP_NAMESPACE),
            (RETURN, 0, 0, REFUSE | ENOSYS),
            (RETURN, 0, 0, REFUSE | EPERM),
            (RETURN, 0, 0, ALLOW),
        ]);
    }
    // Nobody knows the numbers of any other kind of program.
    steps.push((RETURN, 0, 0, REFUSE | EPERM));
    steps
}
