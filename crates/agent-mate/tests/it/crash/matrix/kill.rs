//! Who is killed.

use crate::harness::{Process, World, until};
use std::{fs, path::Path};

/// A kill of the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kill {
    /// The process that is held at the point.
    Itself,
    /// The session's worker.
    Worker,
    /// The runtime.
    Runtime,
    /// The upstream.
    Upstream,
    /// Every process of the home.
    Everything,
}

impl Kill {
    pub(super) const ALL: [Self; 5] =
        [Self::Itself, Self::Worker, Self::Runtime, Self::Upstream, Self::Everything];

    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Itself => "itself",
            Self::Worker => "worker",
            Self::Runtime => "runtime",
            Self::Upstream => "upstream",
            Self::Everything => "everything",
        }
    }
}

/// What lives of one session while a process is held.
#[derive(Debug)]
pub(super) struct Cast {
    pub(super) held: Process,
    pub(super) worker: Option<Process>,
    pub(super) runtime: Option<Process>,
    pub(super) upstream: Option<Process>,
    /// Process 1 of the session's container.
    pub(super) inner: Option<Process>,
}

impl Cast {
    /// Looks at who is there. `held` is a number in a namespace of its own when the held one is process 1 of a
    /// container.
    pub(super) fn look(world: &World, session: Option<&str>, held: i32) -> Self {
        let all = world.processes("");
        let of_session = |word: &str| {
            let session = session?;
            let folder = world.session_folder(session);
            let found = all.iter().find(|one| {
                one.command.contains(word)
                    && (one.command.contains(session) || cwd(one.pid).starts_with(&folder))
            });
            found.cloned()
        };
        let worker = of_session("session-worker ");
        let inner = of_session(" keeper ").and_then(|keeper| child_of(keeper.pid));
        let named = |pid: i32| Process { pid, command: "held".to_owned() };
        let held = match (&inner, held) {
            (Some(inner), 1) => inner.clone(),
            _ => named(held),
        };
        let runtime = of_session("scripted-runtime");
        let upstream = of_session("effect-server");
        Self { held, worker, runtime, upstream, inner }
    }

    /// The process that a kill means, if it lives and is nobody that an earlier kill means.
    pub(super) fn target(&self, kill: Kill) -> Option<&Process> {
        match kill {
            Kill::Itself | Kill::Everything => Some(&self.held),
            Kill::Worker => self.worker.as_ref().filter(|worker| worker.pid != self.held.pid),
            Kill::Runtime => self.runtime.as_ref(),
            Kill::Upstream => self.upstream.as_ref(),
        }
    }

    /// Why a kill was not carried out: there is nobody, or it is another one.
    pub(super) fn instead(&self, kill: Kill) -> &'static str {
        match kill {
            Kill::Worker if self.worker.as_ref().is_some_and(|worker| worker.pid == self.held.pid) => {
                "= itself"
            }
            Kill::Itself | Kill::Worker | Kill::Runtime | Kill::Upstream | Kill::Everything => "nobody there",
        }
    }
}

/// Waits until a process is gone, or is only waited for.
pub(super) fn until_gone(process: &Process) {
    until(&format!("the end of {process:?}"), || (!lives(process.pid)).then_some(()));
}

/// Whether any thread of it does: the last of them closes its files, and the first may be over before that.
pub(super) fn lives(pid: i32) -> bool {
    let threads = fs::read_dir(format!("/proc/{pid}/task"));
    threads.into_iter().flatten().flatten().any(|thread| {
        let status = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        let state = status.rsplit(") ").next().and_then(|rest| rest.chars().next());
        state.is_some_and(|state| state != 'Z' && state != 'X')
    })
}

fn cwd(pid: i32) -> std::path::PathBuf {
    fs::read_link(Path::new("/proc").join(pid.to_string()).join("cwd")).unwrap_or_default()
}

fn child_of(parent: i32) -> Option<Process> {
    let children = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).ok()?;
    let pid = children.split_whitespace().next()?.parse().ok()?;
    Some(Process { pid, command: "process 1 of a container".to_owned() })
}
