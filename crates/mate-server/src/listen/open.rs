//! Opening both ways in.

use super::{ListenError, socket};
use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
};
use tokio::net::{TcpListener, UnixListener};

/// Both ways in, open: connections queue until [`super::serve`] takes them.
#[derive(Debug)]
pub struct Listeners {
    pub(super) tcp: TcpListener,
    pub(super) unix: UnixListener,
    pub(super) address: SocketAddr,
    pub(super) path: PathBuf,
}

impl Listeners {
    /// Opens a loopback port (0 takes a free one) and the socket at `path`, in the place of a dead one's. The
    /// caller holds the home's coordinator lock: nobody else listens there.
    ///
    /// # Errors
    /// [`ListenError`], with what to do.
    pub async fn open(address: SocketAddr, path: &Path) -> Result<Self, ListenError> {
        if !address.ip().to_canonical().is_loopback() {
            return Err(ListenError::NotLoopback(address));
        }
        let failed = |error| ListenError::Tcp { address, error };
        let tcp = TcpListener::bind(address).await.map_err(failed)?;
        let address = tcp.local_addr().map_err(failed)?;
        let unix = socket::bind(path)?;
        Ok(Self { tcp, unix, address, path: path.to_owned() })
    }

    /// The address that was taken.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}
