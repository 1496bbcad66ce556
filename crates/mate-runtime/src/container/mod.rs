//! A container of processes: everything that a session starts lives in it and ends with it.
//!
//! The session worker starts a *keeper* (two processes). The outer one stays outside, waits, and
//! writes down the end as evidence. The inner one is process 1 of a PID namespace; all that the
//! session runs descends from it. It holds the worker's control socket: when the worker is gone, for
//! whatever reason, it reads the end of that socket and leaves, and the kernel ends all the rest.

mod host;
mod identity;
pub(crate) mod process;
mod proof;
mod record;

#[cfg(target_os = "linux")]
mod inner;
#[cfg(target_os = "linux")]
mod keeper;
#[cfg(target_os = "linux")]
pub(crate) mod kernel;
#[cfg(target_os = "linux")]
mod wire;

pub use host::{Container, ContainerError, ContainerSpec};
pub use identity::{Identity, boot_id, is_inside, other_pid_namespace};
#[cfg(target_os = "linux")]
pub use keeper::keeper_main;
pub use process::{Exit, Launch, Process, SignalKind, SpawnError};
pub use proof::{EndError, Evidence, Living, Proof, end_container, prove_empty};
pub use record::{ContainerRecord, EXIT_FILE, ExitRecord, Means, RECORD_FILE, RecordError};

/// The hidden subcommand of the binary under which [`keeper_main`] must be reachable.
pub const KEEPER_COMMAND: &str = "keeper";
