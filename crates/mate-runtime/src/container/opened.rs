//! A leaf by its open files: its folder may be hidden, or read-only, for who holds them.

use super::cgroup::{Leaf, counter, removed};
use std::{
    fs::{File, OpenOptions},
    io,
    os::{
        fd::{AsRawFd as _, IntoRawFd as _},
        unix::fs::FileExt as _,
    },
    path::{Path, PathBuf},
};

/// What is read of a file of the tree at most; bytes.
const MOST: usize = 4096;

/// The files of a leaf.
#[derive(Debug)]
pub(super) struct Opened {
    procs: File,
    kill: File,
    events: File,
    memory: Option<File>,
    pids: Option<File>,
    /// Of the cgroup to which the process that starts programs goes back.
    own: Option<File>,
}

impl Opened {
    /// Opens a leaf.
    pub(super) fn open(leaf: &Leaf, own: Option<&Path>) -> io::Result<Self> {
        let to_write = |path: PathBuf| OpenOptions::new().write(true).open(path);
        Ok(Self {
            procs: to_write(leaf.path.join("cgroup.procs"))?,
            kill: to_write(leaf.path.join("cgroup.kill"))?,
            events: File::open(leaf.path.join("cgroup.events"))?,
            memory: File::open(leaf.path.join("memory.events")).ok(),
            pids: File::open(leaf.path.join("pids.events")).ok(),
            own: own.map(|own| to_write(own.join("cgroup.procs"))).transpose()?,
        })
    }

    /// Moves the calling process, with all its threads, into the leaf.
    pub(super) fn enter(&self) -> io::Result<()> {
        self.procs.write_all_at(b"0", 0)
    }

    /// Moves it back.
    pub(super) fn leave(&self) -> io::Result<()> {
        self.own.as_ref().map_or(Ok(()), |own| own.write_all_at(b"0", 0))
    }

    /// Kills every process in the leaf and below it, with what they fork meanwhile.
    pub(super) fn kill(&self) -> io::Result<()> {
        if self.is_empty()? { Ok(()) } else { self.kill.write_all_at(b"1", 0) }
    }

    /// Whether nothing is in it.
    pub(super) fn is_empty(&self) -> io::Result<bool> {
        match read(&self.events) {
            Ok(text) => match counter(&text, "populated") {
                Some(populated) => Ok(populated == 0),
                None => Err(io::Error::other("cgroup.events does not say whether the cgroup is populated")),
            },
            Err(error) if removed(&error) => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Whether the kernel limits memory here.
    pub(super) const fn has_limits(&self) -> bool {
        self.memory.is_some() || self.pids.is_some()
    }

    /// How many processes the kernel killed for memory.
    pub(super) fn killed_for_memory(&self) -> u64 {
        count(self.memory.as_ref(), "oom_kill")
    }

    /// How often the kernel refused a process for their number.
    pub(super) fn refused_processes(&self) -> u64 {
        count(self.pids.as_ref(), "max")
    }
}

fn count(file: Option<&File>, name: &str) -> u64 {
    let text = file.and_then(|file| read(file).ok()).unwrap_or_default();
    counter(&text, name).unwrap_or_default()
}

fn read(file: &File) -> io::Result<String> {
    let mut bytes = [0; MOST];
    let length = file.read_at(&mut bytes, 0)?;
    Ok(String::from_utf8_lossy(bytes.get(..length).unwrap_or_default()).into_owned())
}

/// A path to a folder that leads there also when the folder itself was hidden from this process. It stays open.
pub(super) fn folder_in_hand(folder: &Path) -> io::Result<PathBuf> {
    let held = File::open(folder)?;
    let path = PathBuf::from(format!("/proc/self/fd/{}", held.as_raw_fd()));
    // For as long as the process lives.
    let _ = held.into_raw_fd();
    Ok(path)
}
