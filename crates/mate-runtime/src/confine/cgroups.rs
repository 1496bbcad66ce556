//! The tree of cgroups: whoever may write it can freeze and kill what is held in it, and move processes out.

use super::{hide, mounts};
use rustix::{io::Errno, mount::MountFlags};
use std::{io, path::PathBuf};

/// Where the trees are mounted.
pub(super) fn points() -> io::Result<Vec<PathBuf>> {
    let all = mounts::all()?;
    Ok(all.into_iter().filter(mounts::Mount::is_of_cgroups).map(|mount| mount.point).collect())
}

/// Lets every tree be read only. One that cannot be made so is covered.
pub(super) fn close() -> io::Result<()> {
    for mount in mounts::all()?.iter().filter(|mount| mount.is_of_cgroups()) {
        match mounts::restrict(mount, MountFlags::RDONLY) {
            Ok(()) => {}
            // It lies under another mount, and nobody reaches it.
            Err(error) if hide::is_missing(&error) || is(&error, Errno::INVAL) => {}
            Err(_) => hide::empty(&mount.point).map_err(|error| hide::named(&mount.point, error))?,
        }
    }
    Ok(())
}

fn is(error: &io::Error, errno: Errno) -> bool {
    error.raw_os_error() == Some(errno.raw_os_error())
}
