//! Hiding files and folders under mounts.

use super::{links, mounts};
use rustix::fs::{Mode, OFlags, open};
use rustix::mount::{MountFlags, mount, mount_bind, mount_remount};
use std::{
    fs, io,
    os::{
        fd::OwnedFd,
        unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    },
    path::{Path, PathBuf},
};

const QUIET: MountFlags = MountFlags::NOSUID.union(MountFlags::NODEV).union(MountFlags::NOEXEC);

/// What is really meant by the paths: links followed, what is not there left out, each once, and nothing below another.
pub(super) fn real(paths: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
    let mut found: Vec<PathBuf> = Vec::new();
    for path in paths {
        match path.canonicalize() {
            Ok(path) => found.push(path),
            // Where this user may not go, a session may not go either.
            Err(error) if is_missing(&error) || error.kind() == io::ErrorKind::PermissionDenied => {}
            Err(error) => return Err(named(path, error)),
        }
    }
    found.sort();
    found.dedup_by(|later, earlier| later.starts_with(&*earlier));
    Ok(found)
}

pub(super) fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

pub(super) fn named(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// Every path that leads to what is to be hidden. Refuses what has names that cannot be found.
pub(super) fn every_way(hide: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
    let hidden = real(hide)?;
    let all = mounts::all()?;
    let mut ways = hidden.clone();
    for path in hidden.iter().filter(|path| path.as_path() != Path::new("/")) {
        links::refuse(path).map_err(|error| named(path, error))?;
        ways.extend(mounts::aliases(&all, path)?);
    }
    real(&ways)
}

/// Something that is kept: held open, since its path will lead to nothing.
struct Kept {
    path: PathBuf,
    open: OwnedFd,
    folder: bool,
}

/// Lets every hidden folder be empty and every hidden file have nothing in it, except for what is kept.
pub(super) fn cover(ways: &[PathBuf], keep: &[PathBuf]) -> io::Result<()> {
    let mut kept = Vec::new();
    for path in real(keep)? {
        let open = open(&path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        kept.push(Kept { folder: path.is_dir(), path, open });
    }
    for way in ways {
        if !way.is_dir() {
            mount_bind("/dev/null", way).map_err(|error| named(way, error.into()))?;
            continue;
        }
        mount("hidden", way, "tmpfs", QUIET, c"mode=700,size=64k")
            .map_err(|error| named(way, error.into()))?;
        for kept in kept.iter().filter(|kept| kept.path.starts_with(way) && kept.path != *way) {
            give_back(kept).map_err(|error| named(&kept.path, error))?;
        }
        mount_remount(way, MountFlags::BIND | MountFlags::RDONLY | QUIET, c"")?;
    }
    Ok(())
}

fn give_back(kept: &Kept) -> io::Result<()> {
    let parent = kept.path.parent().unwrap_or(Path::new("/"));
    fs::DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
    if kept.folder {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&kept.path)?;
    } else {
        fs::OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&kept.path)?;
    }
    mounts::bind(&kept.open, &kept.path)
}

/// Puts an empty folder that can be written over one, or nothing over a file.
pub(super) fn empty(path: &Path) -> io::Result<()> {
    let Ok(found) = fs::metadata(path) else { return Ok(()) };
    if found.is_dir() {
        let mode = if is_open_to_all(&found) { c"mode=1777,size=1m" } else { c"mode=700,size=1m" };
        mount("hidden", path, "tmpfs", QUIET, mode)?;
    } else {
        mount_bind("/dev/null", path)?;
    }
    Ok(())
}

fn is_open_to_all(found: &fs::Metadata) -> bool {
    std::os::unix::fs::PermissionsExt::mode(&found.permissions()) & 0o002 != 0
}
