//! Confinement: what a session's processes must not see is not there for them.
//!
//! The keeper confines itself before it starts anything, so whatever a session runs is confined from its first
//! instruction. The strongest means that the machine offers is taken and recorded:
//!
//! * a *mount namespace*, in which Agent Mate's home is an empty folder, and which cannot be left since the right
//!   to change it is gone (root) or never was there (a user namespace);
//! * *Landlock*, by which the kernel refuses to open what is not on a list.
//!
//! Containers of processes may have PID namespaces or not; nothing here relies on them.

mod family;
mod peer;
mod sockets;
mod spec;

#[cfg(target_os = "linux")]
mod calls;
#[cfg(target_os = "linux")]
mod cgroups;
#[cfg(target_os = "linux")]
mod devices;
#[cfg(target_os = "linux")]
mod enter;
#[cfg(target_os = "linux")]
mod hide;
#[cfg(target_os = "linux")]
mod landlock;
#[cfg(target_os = "linux")]
mod links;
#[cfg(target_os = "linux")]
mod mounts;
#[cfg(target_os = "linux")]
mod pins;
#[cfg(target_os = "linux")]
mod rights;
#[cfg(target_os = "linux")]
mod system;
#[cfg(target_os = "linux")]
mod ways_out;

pub(crate) use family::KEEPER_NAME;
pub use mate_model::confinement::Confined;

pub use family::is_of_a_session;
pub use peer::client_is_outside;
pub use spec::Confinement;

#[cfg(target_os = "linux")]
pub(crate) use enter::{Fence, enter};

/// Keeps other processes of the same user from reading this one's memory, environment and descriptors.
///
/// # Errors
/// When the system refuses.
pub fn shut_to_others() -> std::io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)?;
    Ok(())
}
