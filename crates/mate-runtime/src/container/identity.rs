//! Which process is meant: a number alone is reused, so it is never enough.

use serde::{Deserialize, Serialize};
use std::{fs, io};

/// One process of one boot of the machine.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Identity {
    /// The boot it belongs to.
    pub boot_id: String,
    /// Its number, as seen by the process that wrote this down.
    pub pid: i32,
    /// When it started, in clock ticks since boot.
    pub start_time: u64,
}

impl Identity {
    /// Reads the identity of the process that has the number `pid` at present.
    ///
    /// # Errors
    /// When there is no such process, or `/proc` cannot be read.
    pub fn of(pid: i32) -> io::Result<Self> {
        Ok(Self { boot_id: boot_id()?, pid, start_time: Stat::read(pid)?.start_time })
    }

    /// Whether exactly this process still runs. One that ended and waits to be reaped does not.
    ///
    /// # Errors
    /// When `/proc` cannot be read; then nothing is known.
    pub fn is_alive(&self) -> io::Result<bool> {
        if boot_id()? != self.boot_id {
            return Ok(false);
        }
        match Stat::read(self.pid) {
            Ok(stat) => Ok(stat.start_time == self.start_time && !stat.is_dead()),
            Err(error) if gone(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// A handle on exactly this process, or `None` when it does not run any more.
    ///
    /// # Errors
    /// When the kernel refuses the handle or `/proc` cannot be read.
    #[cfg(target_os = "linux")]
    pub fn open(&self) -> io::Result<Option<std::os::fd::OwnedFd>> {
        let Some(pid) = rustix::process::Pid::from_raw(self.pid) else { return Ok(None) };
        let handle = match rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()) {
            Ok(handle) => handle,
            Err(rustix::io::Errno::SRCH) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        // The number may have been reused before the handle was opened; from here on it cannot be.
        Ok(self.is_alive()?.then_some(handle))
    }
}

/// The id of the machine's present boot.
///
/// # Errors
/// When the kernel does not offer it.
pub fn boot_id() -> io::Result<String> {
    Ok(fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned())
}

/// Whether the process `pid` lives in a PID namespace other than the caller's.
///
/// Whatever a session runs does; a person's shell or browser does not.
///
/// # Errors
/// When there is no such process or it may not be looked at.
pub fn other_pid_namespace(pid: i32) -> io::Result<bool> {
    Ok(namespace_of(&pid.to_string())? != namespace_of("self")?)
}

/// Whether the process `pid` descends from `ancestor`, through nested namespaces too.
#[must_use]
pub fn is_inside(ancestor: &Identity, pid: i32) -> bool {
    let mut at = pid;
    for _ in 0..4096 {
        if at == ancestor.pid {
            return ancestor.is_alive().unwrap_or(false);
        }
        match Stat::read(at) {
            Ok(stat) if stat.parent > 0 => at = stat.parent,
            _ => return false,
        }
    }
    false
}

/// The inode of the PID namespace of a process (`self` or a number).
pub(super) fn namespace_of(process: &str) -> io::Result<u64> {
    use std::os::unix::fs::MetadataExt as _;
    Ok(fs::metadata(format!("/proc/{process}/ns/pid"))?.ino())
}

fn gone(error: &io::Error) -> bool {
    // A process that ends while its file is read answers ESRCH (3).
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(3)
}

/// The numbers of all processes that can be seen.
pub(super) fn all_pids() -> io::Result<Vec<i32>> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")? {
        found.extend(entry?.file_name().to_str().and_then(|name| name.parse::<i32>().ok()));
    }
    Ok(found)
}

pub(super) struct Stat {
    state: u8,
    pub(super) parent: i32,
    threads: u32,
    start_time: u64,
}

impl Stat {
    pub(super) fn read(pid: i32) -> io::Result<Self> {
        let text = fs::read(format!("/proc/{pid}/stat"))?;
        Self::parse(&text).ok_or_else(|| io::Error::other(format!("/proc/{pid}/stat cannot be understood")))
    }

    /// The command's name may hold anything, so fields are counted from its last parenthesis.
    fn parse(text: &[u8]) -> Option<Self> {
        let end = text.iter().rposition(|b| *b == b')')?;
        let rest = std::str::from_utf8(text.get(end + 2..)?).ok()?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        Some(Self {
            state: *fields.first()?.as_bytes().first()?,
            parent: fields.get(1)?.parse().ok()?,
            threads: fields.get(17)?.parse().ok()?,
            start_time: fields.get(19)?.parse().ok()?,
        })
    }

    /// Its first thread may be a zombie while others still run; then it is not dead yet, and neither
    /// are the processes of a namespace whose process 1 it is.
    pub(super) fn is_dead(&self) -> bool {
        matches!(self.state, b'Z' | b'X' | b'x') && self.threads <= 1
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_name_full_of_parentheses_does_not_move_the_fields() {
        let text = b"7 (a) Z 1 (b) S 3 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 0 4711 0 0";
        let stat = Stat::parse(text).unwrap();
        assert_eq!((stat.state, stat.parent, stat.start_time), (b'S', 3, 4711));
    }

    #[test]
    fn f125_a_reused_number_is_another_process() {
        let me = i32::try_from(std::process::id()).unwrap();
        let mut identity = Identity::of(me).unwrap();
        assert!(identity.is_alive().unwrap());
        assert!(identity.open().unwrap().is_some());
        identity.start_time += 1;
        assert!(!identity.is_alive().unwrap());
        assert!(identity.open().unwrap().is_none());
    }

    #[test]
    fn a_zombie_is_not_alive() {
        let mut child =
            std::process::Command::new("/bin/cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
        let identity = Identity::of(i32::try_from(child.id()).unwrap()).unwrap();
        assert!(identity.is_alive().unwrap());
        drop(child.stdin.take());
        while identity.is_alive().unwrap() {
            std::thread::yield_now();
        }
        child.wait().unwrap();
    }

    #[test]
    fn a_child_is_inside_its_parent_and_not_the_other_way_round() {
        let me = Identity::of(i32::try_from(std::process::id()).unwrap()).unwrap();
        let parent = Stat::read(me.pid).unwrap().parent;
        assert!(is_inside(&me, me.pid));
        if parent > 0 {
            assert!(!is_inside(&me, parent));
        }
    }
}
