//! The kernel refuses to open what is not on a list; and keeps programs apart from each other.

use super::hide::{named, real};
use crate::container::kernel;
use rustix::fs::{Mode, OFlags, open};
use std::{
    fs, io,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

/// From this version on, `truncate` is covered as well.
const COVERS_FILES: u32 = 3;
/// From this version on, signals and abstract sockets are covered as well.
const KEEPS_APART: u32 = 6;

/// All that is done to files and folders, except for listing folders.
const ALL: u64 = 0x7fff & !READ_DIR;
const READ_DIR: u64 = 1 << 3;
/// What of it is done to files: execute, write, read, truncate.
const FILES: u64 = 1 | 1 << 1 | 1 << 2 | 1 << 14;
/// Abstract Unix sockets, and signals.
const SCOPES: u64 = 1 | 1 << 1;

/// Rules that were made and are put on whoever asks for it.
#[derive(Debug)]
pub(crate) struct Rules(OwnedFd);

impl Rules {
    /// Puts the rules on the calling thread and all that it starts, for ever.
    pub(crate) fn put_on_this_thread(&self) -> io::Result<()> {
        kernel::landlock_restrict(&self.0)
    }
}

/// What keeps programs apart, where the kernel can.
pub(super) fn apart() -> io::Result<Option<Rules>> {
    if kernel::landlock_version() < KEEPS_APART {
        return Ok(None);
    }
    let attributes = kernel::LandlockRuleset { files: 0, network: 0, scopes: SCOPES };
    Ok(Some(Rules(kernel::landlock_ruleset(&attributes)?)))
}

/// Everything but the hidden paths. Of the folders above those, nothing but what is there now can be used: the kernel
/// knows lists of what is allowed, and none of what is not.
pub(super) fn all_but(hidden: &[PathBuf], keep: &[PathBuf]) -> io::Result<Rules> {
    let version = kernel::landlock_version();
    if version < COVERS_FILES {
        return Err(io::Error::other(format!(
            "this kernel's Landlock has version {version}; {COVERS_FILES} is needed (Linux 6.2)"
        )));
    }
    let scopes = if version < KEEPS_APART { 0 } else { SCOPES };
    let attributes = kernel::LandlockRuleset { files: ALL, network: 0, scopes };
    let rules = kernel::landlock_ruleset(&attributes)?;
    allow_around(&rules, Path::new("/"), hidden)?;
    for path in real(keep)? {
        allow(&rules, &path)?;
    }
    Ok(Rules(rules))
}

fn allow_around(rules: &OwnedFd, folder: &Path, hidden: &[PathBuf]) -> io::Result<()> {
    for entry in fs::read_dir(folder).map_err(|error| named(folder, error))? {
        let path = entry?.path();
        if hidden.contains(&path) {
            continue;
        }
        if hidden.iter().any(|hidden| hidden.starts_with(&path)) {
            allow_around(rules, &path, hidden)?;
        } else {
            allow(rules, &path)?;
        }
    }
    Ok(())
}

fn allow(rules: &OwnedFd, path: &Path) -> io::Result<()> {
    let open = match open(path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty()) {
        Ok(open) => open,
        // Gone since, or not this user's to enter: then nothing is lost.
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::ACCESS) => return Ok(()),
        Err(error) => return Err(named(path, error.into())),
    };
    let kind = rustix::fs::FileType::from_raw_mode(rustix::fs::fstat(&open)?.st_mode);
    if kind.is_symlink() {
        // Where it leads has a rule of its own.
        return Ok(());
    }
    kernel::landlock_allow(rules, &open, if kind.is_dir() { ALL } else { FILES })
        .map_err(|error| named(path, error))
}
