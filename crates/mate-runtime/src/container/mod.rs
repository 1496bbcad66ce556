//! A container of processes: everything that a session starts lives in it and ends with it.
//!
//! The session worker starts a *keeper* (two processes). The outer one stays outside, waits, and
//! writes down the end as evidence. The inner one starts all that the session runs, and holds the worker's
//! control socket: when the worker is gone, for whatever reason, it reads the end of that socket and leaves.
//!
//! What ends the rest, and what proves it, depends on the means (the strongest that the machine offers):
//!
//! | means | what ends all | what proves it | what it cannot see |
//! |---|---|---|---|
//! | `pid_namespace` | the kernel, when the inner process (process 1) ends | that end: process 1 is let go last | nothing |
//! | `cgroup` | `cgroup.kill` of the session's leaf | the kernel's `populated 0`, and the keeper has no child left | who was moved out of the leaf *and* outlived both keepers |
//! | `subreaper` | rounds of SIGSTOP and SIGKILL by the keeper, to which every orphan comes | the keeper has no child left | all, when both processes of the keeper were killed from outside: then nothing is proved |

mod cgroup;
mod descendants;
mod host;
mod identity;
mod membership;
pub(crate) mod process;
mod proof;
mod record;

#[cfg(target_os = "linux")]
mod hold;
#[cfg(target_os = "linux")]
mod inner;
#[cfg(target_os = "linux")]
mod keeper;
#[cfg(target_os = "linux")]
pub(crate) mod kernel;
#[cfg(target_os = "linux")]
mod limits;
#[cfg(target_os = "linux")]
mod making;
#[cfg(target_os = "linux")]
mod opened;
#[cfg(target_os = "linux")]
mod plan;
mod watch;
#[cfg(target_os = "linux")]
mod wire;

pub use cgroup::Leaf;
pub use host::{Container, ContainerError, ContainerSpec};
pub use identity::{Identity, boot_id, is_inside, other_pid_namespace};
#[cfg(target_os = "linux")]
pub use keeper::keeper_main;
pub use membership::in_any_container;
pub use process::{Exit, Launch, Process, SignalKind, SpawnError};
pub use proof::{EndError, Evidence, Living, Proof, end_container, prove_empty};
pub use record::{
    ContainerRecord, EXIT_FILE, ExitRecord, RECORD_FILE, RecordError, STATEMENT_FILE, StatementRecord,
};
pub use watch::Breach;

/// The hidden subcommand of the binary under which [`keeper_main`] must be reachable.
pub const KEEPER_COMMAND: &str = "keeper";
