//! Whether a process belongs to some session: what does has no role at the interface.

use super::{cgroup, identity::other_pid_namespace};
use std::{fs, io};

/// Whether the process `pid` lives in a container of any session of this machine.
///
/// It does in another PID namespace, in a cgroup that Agent Mate made, or below a keeper: without a
/// namespace a keeper adopts the orphans of its session, so no process of it gets out from under it.
///
/// # Errors
/// When there is no such process or it may not be looked at.
pub fn in_any_container(pid: i32) -> io::Result<bool> {
    Ok(other_pid_namespace(pid)? || in_a_leaf(pid) || crate::confine::is_of_a_session(pid))
}

/// Of this process's own, and of those above it, only what it starts is told apart: it may itself be in one.
fn in_a_leaf(pid: i32) -> bool {
    let leaf = |process: &str| {
        let cgroups = fs::read_to_string(format!("/proc/{process}/cgroup")).unwrap_or_default();
        let own = cgroups.lines().find_map(|line| line.strip_prefix("0::"))?.to_owned();
        own.split('/').find(|part| part.starts_with(cgroup::PREFIX) && !part.contains('.')).map(str::to_owned)
    };
    let found = leaf(&pid.to_string());
    found.is_some() && found != leaf("self")
}
