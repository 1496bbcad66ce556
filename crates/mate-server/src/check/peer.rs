//! From where a connection comes. Peers inside a session's container are refused.

use crate::problem::Problem;
use axum::extract::{ConnectInfo, Request};
use http::StatusCode;
use std::{
    fmt,
    net::{IpAddr, SocketAddr},
    sync::Arc,
};
use tokio::sync::{OnceCell, Semaphore};

/// How many clients are looked for at a time: each look may go over all processes of the machine.
const LOOKS: usize = 2;

/// Whether the process with an id may speak to the Unix socket.
type OverUnix = dyn Fn(i32) -> bool + Send + Sync;
/// Whether the client at an address, of a connection to an address of ours, may speak. Blocks.
type OverTcp = dyn Fn(SocketAddr, SocketAddr) -> bool + Send + Sync;

/// Who may speak to this service.
#[derive(Clone)]
pub struct PeerCheck {
    unix: Arc<OverUnix>,
    tcp: Option<Arc<OverTcp>>,
    looks: Arc<Semaphore>,
}

impl PeerCheck {
    /// A check that answers true for which processes may speak over the Unix socket; over TCP all may.
    pub fn new(allowed: impl Fn(i32) -> bool + Send + Sync + 'static) -> Self {
        Self { unix: Arc::new(allowed), tcp: None, looks: Arc::new(Semaphore::new(LOOKS)) }
    }

    /// Also asks, once for each connection over TCP, whether its client (the first address) may speak. It may block.
    #[must_use]
    pub fn over_tcp(self, allowed: impl Fn(SocketAddr, SocketAddr) -> bool + Send + Sync + 'static) -> Self {
        Self { tcp: Some(Arc::new(allowed)), ..self }
    }
}

impl fmt::Debug for PeerCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PeerCheck(..)")
    }
}

/// The other end of a connection.
#[derive(Clone, Debug)]
pub enum Peer {
    /// Over TCP; the requests of a connection share it.
    Tcp(Arc<TcpPeer>),
    /// Over TCP, it is not known from where.
    Nowhere,
    /// Over the Unix socket.
    Unix {
        /// The process that connected, where the kernel says so.
        pid: Option<i32>,
    },
}

/// The two ends of a connection over TCP, and what was found about the other one.
#[derive(Debug)]
pub struct TcpPeer {
    client: SocketAddr,
    server: SocketAddr,
    allowed: OnceCell<bool>,
}

impl TcpPeer {
    pub(crate) fn new(client: SocketAddr, server: SocketAddr) -> Self {
        Self { client, server, allowed: OnceCell::new() }
    }

    async fn allowed(&self, check: &PeerCheck) -> bool {
        let Some(tcp) = &check.tcp else { return true };
        let look = async {
            let _place = check.looks.acquire().await;
            let (tcp, client, server) = (Arc::clone(tcp), self.client, self.server);
            tokio::task::spawn_blocking(move || tcp(client, server)).await.unwrap_or(false)
        };
        *self.allowed.get_or_init(|| look).await
    }
}

impl Peer {
    /// Where a request came from. Without a note of it, the stricter rules of TCP hold.
    pub(crate) fn of(request: &Request) -> Self {
        request.extensions().get::<ConnectInfo<Self>>().map_or(Self::Nowhere, |info| info.0.clone())
    }

    /// The address that the other end has; none over the Unix socket.
    pub(crate) fn address(&self) -> Option<IpAddr> {
        match self {
            Self::Tcp(peer) => Some(peer.client.ip()),
            Self::Nowhere | Self::Unix { .. } => None,
        }
    }

    pub(crate) const fn is_unix(&self) -> bool {
        matches!(self, Self::Unix { .. })
    }

    /// Refuses who is not allowed, and who cannot be told, before anything is looked at.
    pub(crate) fn check(&self, check: &PeerCheck) -> Result<(), Problem> {
        match self {
            Self::Unix { pid } if !pid.is_some_and(|pid| (check.unix)(pid)) => Err(inside()),
            Self::Unix { .. } | Self::Tcp(_) | Self::Nowhere => Ok(()),
        }
    }

    /// The same, of those that take a while to be told: for who has a token, since everybody else is refused anyway.
    pub(crate) async fn check_closely(&self, check: &PeerCheck) -> Result<(), Problem> {
        match self {
            Self::Tcp(peer) if !peer.allowed(check).await => Err(inside()),
            Self::Nowhere if check.tcp.is_some() => Err(inside()),
            Self::Tcp(_) | Self::Unix { .. } | Self::Nowhere => Ok(()),
        }
    }
}

fn inside() -> Problem {
    Problem::new(
        StatusCode::FORBIDDEN,
        "inside_a_session",
        "Nothing inside a session may speak to this service",
        "what runs inside a session reaches its granted tools through the bridge alone",
    )
}
