//! The processes that a test caused. They are known by the test's own folder: it is in their command line, or
//! they work in it.

use rustix::process::{Pid, Signal, kill_process};
use std::{fs, os::unix::ffi::OsStrExt as _, path::Path};

/// One living process.
#[derive(Clone, Debug)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    pub(crate) command: String,
}

impl Process {
    /// Ends it with SIGKILL; it may be gone already.
    pub(crate) fn kill(&self) {
        self.signal(Signal::KILL);
    }

    pub(crate) fn signal(&self, signal: Signal) {
        if let Some(pid) = Pid::from_raw(self.pid) {
            let _ = kill_process(pid, signal);
        }
    }
}

/// Every living process of the test with this folder, but the test itself.
pub(crate) fn of(folder: &Path) -> Vec<Process> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").expect("/proc").flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
            continue;
        };
        if pid == std::process::id().cast_signed() {
            continue;
        }
        let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let cwd = fs::read_link(entry.path().join("cwd")).unwrap_or_default();
        let named =
            command.windows(folder.as_os_str().len()).any(|part| part == folder.as_os_str().as_bytes());
        // A process that ended and waits to be reaped has neither.
        if named || cwd.starts_with(folder) {
            let command = String::from_utf8_lossy(&command).replace('\0', " ");
            found.push(Process { pid, command });
        }
    }
    found
}
