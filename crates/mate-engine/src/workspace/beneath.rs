//! Opening what is beneath a folder, and nothing else.

use rustix::{
    fd::OwnedFd,
    fs::{AtFlags, Mode, OFlags, ResolveFlags, StatxFlags, openat, openat2, statx},
    io::Errno,
};
use std::{
    fs::File,
    io,
    path::{Component, Path},
};

/// The longest path beneath a workspace, in bytes.
const LONGEST: usize = 4096;
/// How often a path is looked up again because folders were renamed at that moment.
const TRIES: u32 = 8;

/// Why a file beneath a workspace is not opened.
#[derive(Debug, thiserror::Error)]
pub enum NotThere {
    /// The path cannot be that of a file beneath it.
    #[error("{0}")]
    Path(&'static str),
    /// There is no such file.
    #[error("there is no such file in the task's workspace")]
    Missing,
    /// It is no plain file, or the way to it leads over a link.
    #[error("{0}")]
    Kind(&'static str),
    /// The system refused.
    #[error("it cannot be opened: {0}")]
    System(io::Error),
}

/// A workspace that is open: whatever its path leads to later, this is the folder that was meant.
#[derive(Debug)]
pub struct Root(OwnedFd);

/// What is known of an open file, from the open file itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub(super) size: u64,
    pub(super) links: u64,
    pub(super) kind: rustix::fs::FileType,
    /// When its content, name or rights last changed, in microseconds UTC; nobody can set it.
    pub(super) changed: i64,
}

impl Root {
    /// Opens a workspace by its whole path, none of whose parts may be a link: somebody else could have put one there.
    ///
    /// # Errors
    /// [`NotThere`].
    pub fn open(path: &Path) -> Result<Self, NotThere> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        match openat2(rustix::fs::CWD, path, flags, Mode::empty(), resolve) {
            Ok(folder) => Ok(Self(folder)),
            Err(Errno::NOSYS | Errno::PERM) => Self::open_stepwise(path),
            Err(error) => Err(refused(error)),
        }
    }

    /// The same where the kernel has no such call: part by part.
    fn open_stepwise(path: &Path) -> Result<Self, NotThere> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let mut at = openat(rustix::fs::CWD, "/", flags, Mode::empty()).map_err(refused)?;
        for part in path.components() {
            match part {
                Component::RootDir => {}
                Component::Normal(name) => at = openat(&at, name, flags, Mode::empty()).map_err(refused)?,
                Component::Prefix(_) | Component::CurDir | Component::ParentDir => {
                    return Err(NotThere::Path("the workspace's path is not absolute and plain"));
                }
            }
        }
        Ok(Self(at))
    }

    /// Opens a plain file beneath the workspace, and tells its length. No part of the path may be a link, and the file
    /// may have no other name: that could be one outside.
    ///
    /// # Errors
    /// [`NotThere`].
    pub fn open_file(&self, path: &str) -> Result<(File, u64), NotThere> {
        check(path)?;
        let file = self.open_at(Path::new(path), OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)?;
        let known = look(&file).map_err(refused)?;
        if known.kind != rustix::fs::FileType::RegularFile {
            return Err(NotThere::Kind("it is no plain file: only such can be published"));
        }
        if known.links != 1 {
            return Err(NotThere::Kind(
                "it has more than one name (a hard link): copy it, and publish the copy",
            ));
        }
        Ok((File::from(file), known.size))
    }

    pub(super) fn open_at(&self, path: &Path, flags: OFlags) -> Result<OwnedFd, NotThere> {
        let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        for _ in 0..TRIES {
            match openat2(&self.0, path, flags, Mode::empty(), resolve) {
                Ok(opened) => return Ok(opened),
                // Something was renamed on the way.
                Err(Errno::AGAIN) => {}
                Err(Errno::NOSYS | Errno::PERM) => return self.open_at_stepwise(path, flags),
                Err(error) => return Err(refused(error)),
            }
        }
        Err(NotThere::Kind("the folders on the way to it are being renamed: try again"))
    }

    fn open_at_stepwise(&self, path: &Path, flags: OFlags) -> Result<OwnedFd, NotThere> {
        let folder = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let names: Vec<_> = path.iter().collect();
        let Some((last, way)) = names.split_last() else { return Err(NotThere::Missing) };
        let mut at = self.0.try_clone().map_err(NotThere::System)?;
        for name in way {
            at = openat(&at, *name, folder, Mode::empty()).map_err(refused)?;
        }
        openat(&at, *last, flags, Mode::empty()).map_err(refused)
    }
}

/// What an open file is.
pub(super) fn look(file: &OwnedFd) -> Result<Known, Errno> {
    let found = statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS)?;
    Ok(Known {
        size: found.stx_size,
        links: found.stx_nlink.into(),
        kind: rustix::fs::FileType::from_raw_mode(found.stx_mode.into()),
        changed: found.stx_ctime.tv_sec.saturating_mul(1_000_000)
            + i64::from(found.stx_ctime.tv_nsec / 1_000),
    })
}

/// A path as it may be given: relative, plain, and of parts that are names.
fn check(path: &str) -> Result<(), NotThere> {
    let wrong = |why| Err(NotThere::Path(why));
    if path.is_empty() || path.len() > LONGEST {
        return wrong("must be 1 to 4096 bytes: a path relative to the task's workspace");
    }
    if path.starts_with('/') || path.starts_with('\\') || path.as_bytes().get(1) == Some(&b':') {
        return wrong("must be relative to the task's workspace");
    }
    if path.chars().any(char::is_control) {
        return wrong("has a control character: rename the file");
    }
    if path.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return wrong("must be plain: no empty part, no `.` and no `..`");
    }
    Ok(())
}

fn refused(error: Errno) -> NotThere {
    match error {
        Errno::NOENT | Errno::NOTDIR => NotThere::Missing,
        Errno::LOOP | Errno::XDEV => {
            NotThere::Kind("the way to it leads over a link, or out of the workspace")
        }
        Errno::NXIO => NotThere::Kind("it is no plain file: only such can be published"),
        other => NotThere::System(other.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, io::Read as _, os::unix::fs::symlink};

    #[test]
    fn f93_nothing_outside_can_be_named() {
        let folder = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(folder.path()).unwrap();
        let root = base.join("w");
        fs::create_dir_all(root.join("deep/er")).unwrap();
        fs::write(base.join("secret"), "outside").unwrap();
        fs::write(root.join("deep/er/a b%2e.txt"), "inside").unwrap();
        fs::write(root.join("twice"), "x").unwrap();
        fs::hard_link(base.join("secret"), root.join("hard")).unwrap();
        fs::hard_link(root.join("twice"), root.join("twice2")).unwrap();
        symlink(base.join("secret"), root.join("soft")).unwrap();
        symlink("deep/er/a b%2e.txt", root.join("inner")).unwrap();
        symlink("..", root.join("up")).unwrap();
        symlink("/proc/self/root", root.join("magic")).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, root.join("pipe"), rustix::fs::FileType::Fifo, Mode::RWXU, 0)
            .unwrap();
        let opened = Root::open(&root).unwrap();
        let mut text = String::new();
        let (mut file, size) = opened.open_file("deep/er/a b%2e.txt").unwrap();
        file.read_to_string(&mut text).unwrap();
        assert_eq!((text.as_str(), size), ("inside", 6));
        for bad in [
            "",
            "..",
            "../secret",
            "deep/../../secret",
            "./twice",
            "/etc/passwd",
            "C:\\x",
            "\\\\host\\x",
            "deep//er",
            "a\0b",
            "a\nb",
            "soft",
            "inner",
            "up/secret",
            "magic/etc/passwd",
            "hard",
            "twice",
            "pipe",
            "deep",
            "missing",
            "%2e%2e%2fsecret",
            "deep/er/a b%2e.txt/x",
        ] {
            assert!(opened.open_file(bad).is_err(), "{bad:?}");
        }
        for bad in ["soft", "up/secret", "inner"] {
            let stepwise = opened.open_at_stepwise(Path::new(bad), OFlags::RDONLY | OFlags::NOFOLLOW);
            assert!(stepwise.is_err(), "{bad:?} without openat2");
        }
        symlink(&root, base.join("link")).unwrap();
        assert!(Root::open(&base.join("link")).is_err(), "the workspace itself is no link");
        assert!(Root::open_stepwise(&base.join("link")).is_err());
    }
}
