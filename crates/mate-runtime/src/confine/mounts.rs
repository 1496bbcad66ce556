//! What is mounted where, and with which flags.

use rustix::mount::{MountFlags, mount_bind, mount_bind_recursive, mount_remount};
use std::{
    ffi::OsString,
    fs, io,
    os::unix::{
        ffi::{OsStrExt as _, OsStringExt as _},
        fs::MetadataExt as _,
    },
    path::{Path, PathBuf},
};

/// One line of `/proc/self/mountinfo`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mount {
    /// The file system's number.
    device: Vec<u8>,
    /// The part of the file system that is mounted.
    root: PathBuf,
    /// Where.
    pub(super) point: PathBuf,
    flags: MountFlags,
    /// The kind of file system.
    kind: Vec<u8>,
}

impl Mount {
    /// Whether it shows a tree of cgroups, of either version.
    pub(super) fn is_of_cgroups(&self) -> bool {
        matches!(self.kind.as_slice(), b"cgroup" | b"cgroup2")
    }
}

/// Every mount of this process, in the order in which they were made.
pub(super) fn all() -> io::Result<Vec<Mount>> {
    let text = fs::read("/proc/self/mountinfo")?;
    Ok(text.split(|byte| *byte == b'\n').filter_map(parse).collect())
}

fn parse(line: &[u8]) -> Option<Mount> {
    let fields: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
    Some(Mount {
        device: fields.get(2)?.to_vec(),
        root: path(fields.get(3)?),
        point: path(fields.get(4)?),
        flags: flags(fields.get(5)?),
        // After fields whose number varies.
        kind: fields.iter().position(|field| *field == b"-").and_then(|at| fields.get(at + 1))?.to_vec(),
    })
}

fn flags(text: &[u8]) -> MountFlags {
    text.split(|byte| *byte == b',').fold(MountFlags::empty(), |flags, word| {
        flags
            | match word {
                b"ro" => MountFlags::RDONLY,
                b"nosuid" => MountFlags::NOSUID,
                b"nodev" => MountFlags::NODEV,
                b"noexec" => MountFlags::NOEXEC,
                b"noatime" => MountFlags::NOATIME,
                b"nodiratime" => MountFlags::NODIRATIME,
                b"relatime" => MountFlags::RELATIME,
                _ => MountFlags::empty(),
            }
    })
}

/// Blanks, tabs, line ends and backslashes are written as three octal digits.
fn path(text: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&first, tail)) = rest.split_first() {
        let digits = tail.get(..3).filter(|_| first == b'\\');
        let octal = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        if let Some(byte) = octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            bytes.push(byte);
            rest = tail.get(3..).unwrap_or_default();
        } else {
            bytes.push(first);
            rest = tail;
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}

/// The other paths by which the same file or folder can be reached, since its file system, or a part of it, is
/// mounted more than once.
pub(super) fn aliases(mounts: &[Mount], real: &Path) -> io::Result<Vec<PathBuf>> {
    let meant = fs::metadata(real)?;
    let holder = mounts.iter().filter(|mount| real.starts_with(&mount.point));
    let Some(holder) = holder.max_by_key(|mount| mount.point.as_os_str().len()) else {
        return Ok(Vec::new());
    };
    let Ok(below) = real.strip_prefix(&holder.point) else { return Ok(Vec::new()) };
    let within = holder.root.join(below);
    let same = mounts.iter().filter(|mount| mount.device == holder.device);
    let found =
        same.filter_map(|mount| within.strip_prefix(&mount.root).ok().map(|rest| join(&mount.point, rest)));
    let reached = found.filter(|path| path != real && is(path, &meant));
    Ok(reached.collect())
}

fn join(point: &Path, rest: &Path) -> PathBuf {
    if rest.as_os_str().as_bytes().is_empty() { point.to_owned() } else { point.join(rest) }
}

fn is(path: &Path, meant: &fs::Metadata) -> bool {
    fs::metadata(path).is_ok_and(|found| (found.dev(), found.ino()) == (meant.dev(), meant.ino()))
}

/// Makes a mount read-only and takes devices out of its use, each as far as asked; what it forbids already stays
/// forbidden.
pub(super) fn restrict(mount: &Mount, more: MountFlags) -> io::Result<()> {
    Ok(mount_remount(&mount.point, MountFlags::BIND | mount.flags | more, c"")?)
}

/// Makes a path a read-only mount of itself.
pub(super) fn make_read_only(path: &Path) -> io::Result<()> {
    mount_bind(path, path)?;
    let made = all()?.into_iter().rev().find(|mount| mount.point == path);
    let made = made.ok_or_else(|| io::Error::other(format!("{} was not mounted", path.display())))?;
    restrict(&made, MountFlags::RDONLY)
}

/// Mounts what an open file stands for at another place.
pub(super) fn bind(open: &impl std::os::fd::AsRawFd, at: &Path) -> io::Result<()> {
    let source = format!("/proc/self/fd/{}", open.as_raw_fd());
    Ok(mount_bind_recursive(source, at)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_with_its_escapes_and_flags() {
        let line = br"36 35 98:0 /a\040b /mnt\011x rw,nosuid,relatime master:1 - ext4 /dev/root rw";
        let mount = parse(line).unwrap();
        assert_eq!((mount.root.to_str(), mount.point.to_str()), (Some("/a b"), Some("/mnt\tx")));
        assert_eq!(mount.flags, MountFlags::NOSUID | MountFlags::RELATIME);
        assert_eq!(parse(b"too short"), None);
    }

    #[test]
    fn the_same_folder_is_found_under_its_other_paths() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        let elsewhere = real.join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        // As if its parent were mounted on itself a second time, and on a folder that holds something else.
        let at = |point: &Path| Mount {
            device: b"7:7".to_vec(),
            root: real.clone(),
            point: point.to_owned(),
            flags: MountFlags::empty(),
            kind: b"ext4".to_vec(),
        };
        let other = real.parent().unwrap().join(".").join(real.file_name().unwrap());
        assert_eq!(aliases(&[at(&real), at(&other), at(&elsewhere)], &real).unwrap(), Vec::<PathBuf>::new());
        let link = real.parent().unwrap().join(format!("{}-again", real.file_name().unwrap().display()));
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let found = aliases(&[at(&real), at(&link), at(&elsewhere)], &real).unwrap();
        fs::remove_file(&link).unwrap();
        assert_eq!(found, [link]);
    }
}
