//! A `/dev` without disks, memory, input devices and other people's terminals.

use super::{hide::named, mounts};
use rustix::{
    fs::{Mode, OFlags, open},
    mount::{MountFlags, mount},
};
use std::{
    fs, io,
    os::{fd::OwnedFd, unix::fs::symlink},
    path::{Path, PathBuf},
};

/// What programs use: the harmless ones, shared memory, and what computes or draws.
const KEPT: &[&str] = &[
    "null", "zero", "full", "random", "urandom", "tty", "shm", "mqueue", "fuse", "net", "kvm", "dri", "kfd",
    "dxg",
];

/// Devices of one maker come with many numbers.
const KEPT_PREFIX: &str = "nvidia";

/// Links to a process's own descriptors.
const LINKS: [(&str, &str); 5] = [
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("ptmx", "pts/ptmx"),
];

/// Replaces `/dev`.
pub(super) fn replace() -> io::Result<()> {
    let dev = Path::new("/dev");
    let kept = kept(dev)?;
    mount("dev", dev, "tmpfs", MountFlags::NOSUID | MountFlags::NOEXEC, c"mode=755,size=64k")
        .map_err(|error| named(dev, error.into()))?;
    for (path, open, folder) in &kept {
        if *folder {
            fs::create_dir(path)?;
        } else {
            fs::File::create_new(path)?;
        }
        mounts::bind(open, path).map_err(|error| named(path, error))?;
    }
    for (name, target) in LINKS {
        symlink(target, dev.join(name))?;
    }
    let terminals = dev.join("pts");
    fs::create_dir(&terminals)?;
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    mount("devpts", &terminals, "devpts", flags, c"newinstance,ptmxmode=0666,mode=620")
        .map_err(|error| named(&terminals, error.into()))
}

fn kept(dev: &Path) -> io::Result<Vec<(PathBuf, OwnedFd, bool)>> {
    let mut kept = Vec::new();
    for entry in fs::read_dir(dev)? {
        let entry = entry?;
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let kind = entry.file_type()?;
        if kind.is_symlink() || !(KEPT.contains(&name) || name.starts_with(KEPT_PREFIX)) {
            continue;
        }
        let open = open(entry.path(), OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        kept.push((entry.path(), open, kind.is_dir()));
    }
    Ok(kept)
}
