//! The two ways in: a loopback port and a Unix socket in the home.

mod door;
mod open;
mod serve;
mod slow;
mod socket;

pub use open::Listeners;
pub use serve::serve;
pub use slow::Spans;

use std::{io, net::SocketAddr, path::PathBuf};

/// Why the service cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The address can be reached from elsewhere.
    #[error(
        "{0} can be reached from other machines, and this release has neither TLS nor a trusted-proxy setting: listen on 127.0.0.1 and forward to it"
    )]
    NotLoopback(SocketAddr),
    /// The address is taken, or not this machine's.
    #[error("cannot listen on {address} ({error}): choose another with --listen")]
    Tcp {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        error: io::Error,
    },
    /// The socket cannot be made.
    #[error("cannot listen on the socket {path} ({error}): {hint}")]
    Unix {
        /// The socket.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
        /// What to do.
        hint: &'static str,
    },
}
