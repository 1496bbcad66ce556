//! Making a container: the leaf, the namespace, the inner process, and the record.

use super::{
    ContainerRecord, Identity,
    cgroup::{self, Leaf},
    descendants,
    identity::namespace_of,
    keeper::INNER,
    kernel, limits,
    plan::{Answer, HoldPlan, InnerPlan, Plan, Witness},
    wire,
};
use crate::confine;
use mate_model::containment::{Enforcer, HeldLimit, LimitKind, Means};
use std::{
    io::{self, Read as _},
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

/// The longest word of the inner process; bytes.
const LONGEST_WORD: u64 = 64 << 10;

/// A leaf where the means needs one, or where there may be one besides.
fn leaf_for(means: Means, keeper: &Identity) -> io::Result<(Option<Leaf>, PathBuf)> {
    let make = || {
        let place = cgroup::place()?;
        let name = format!("{}-{}", keeper.pid, keeper.start_time);
        let leaf = Leaf::make(&place.leaves, &name)
            .map_err(|error| format!("no cgroup can be made in {}: {error}", place.leaves.display()))?;
        leaf.sweep(&place.leaves, &keeper.boot_id);
        Ok((Some(leaf), place.own))
    };
    match means {
        Means::Subreaper => Ok((None, PathBuf::new())),
        Means::Cgroup => make().map_err(|why: String| io::Error::other(why)),
        Means::PidNamespace => Ok(make().unwrap_or_default()),
    }
}

/// The inner process, and the container that it makes.
pub(super) struct Init {
    pub(super) child: Child,
    pub(super) record: ContainerRecord,
}

/// What there is before the inner process.
pub(super) struct Made {
    plan: Plan,
    keeper: Identity,
    leaf: Option<Leaf>,
    own: PathBuf,
    held: Vec<HeldLimit>,
}

impl Made {
    pub(super) fn new(plan: Plan, keeper: Identity) -> io::Result<Self> {
        let (leaf, own) = leaf_for(plan.means, &keeper)?;
        let held = limits::hold(leaf.as_ref(), plan.limits);
        Ok(Self { plan, keeper, leaf, own, held })
    }

    /// Removes what would be left behind.
    pub(super) fn clear(&self) {
        if let Some(leaf) = &self.leaf {
            leaf.remove();
        }
    }

    /// Starts the inner process, and puts the container on record when it is ready.
    pub(super) fn start(&self, folder: &Path, socket: &OwnedFd) -> io::Result<Init> {
        let witness = Witness { folder: folder.to_owned(), outer: self.keeper.pid };
        let hold = match (self.plan.means, self.leaf.clone()) {
            (Means::PidNamespace, leaf) => {
                kernel::enter().map_err(explain)?;
                HoldPlan::Namespace { leaf }
            }
            (Means::Cgroup | Means::Subreaper, leaf) => {
                descendants::adopt_orphans()?;
                match leaf {
                    Some(leaf) => HoldPlan::Leaf { leaf, own: self.own.clone(), witness },
                    None => HoldPlan::Orphans { witness },
                }
            }
        };
        let by_kernel = |limit: &HeldLimit| {
            limit.kind == LimitKind::Processes && limit.enforced_by == Some(Enforcer::Cgroup)
        };
        let inner = InnerPlan {
            hold,
            processes: self.plan.limits.processes,
            kernel_counts: self.held.iter().any(by_kernel),
        };
        confine::shut_to_others()?;
        let mut child = Command::new("/proc/self/exe")
            .args([super::KEEPER_COMMAND, INNER, &serde_json::to_string(&inner)?])
            .stdin(Stdio::from(socket.try_clone()?))
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()?;
        match self.introduce(folder, &mut child) {
            Ok(record) => {
                mate_fault::point!("keeper.recorded");
                let report = wire::Report::Contained { container: record.clone() };
                wire::send(socket, &report, &[])?;
                Ok(Init { child, record })
            }
            Err(error) => {
                // Not yet on record, so nothing may go on in it; nothing was started in it.
                let _ = child.kill();
                let _ = child.wait();
                Err(error)
            }
        }
    }

    /// Waits until the inner process is ready, then writes it down.
    fn introduce(&self, folder: &Path, child: &mut Child) -> io::Result<ContainerRecord> {
        let mut word = String::new();
        if let Some(output) = child.stdout.take() {
            output.take(LONGEST_WORD).read_to_string(&mut word)?;
        }
        let (own_proc, in_leaf, confined) = match serde_json::from_str(&word) {
            Ok(Answer::Ready { own_proc, in_leaf, confined }) => (own_proc, in_leaf, confined),
            Ok(Answer::Failed { why }) => {
                return Err(io::Error::other(why));
            }
            Err(_) => return Err(io::Error::other("the keeper's inner process ended at once")),
        };
        let pid = i32::try_from(child.id()).map_err(io::Error::other)?;
        let leaf = self.leaf.clone().filter(|_| in_leaf);
        if let (None, Some(unused)) = (&leaf, &self.leaf) {
            unused.remove();
        }
        let limits = if in_leaf { self.held.clone() } else { limits::hold(None, self.plan.limits) };
        let namespace = match self.plan.means {
            Means::PidNamespace => namespace_of(&pid.to_string())?,
            // The same, and this process is shut to nobody but others.
            Means::Cgroup | Means::Subreaper => namespace_of("self")?,
        };
        let record = ContainerRecord {
            means: self.plan.means,
            init: Identity::of(pid)?,
            keeper: self.keeper.clone(),
            namespace,
            own_proc,
            confined,
            leaf,
            limits,
        };
        mate_fault::point!("keeper.contained");
        record.write(folder).map_err(io::Error::other)?;
        Ok(record)
    }
}

fn explain(error: io::Error) -> io::Error {
    io::Error::new(
        error.kind(),
        format!("the kernel refuses a PID namespace ({error}): run as root, or allow user namespaces"),
    )
}
