//! From where a connection comes. Peers inside a session's container are refused.

use crate::problem::Problem;
use axum::extract::{ConnectInfo, Request};
use http::StatusCode;
use std::{fmt, sync::Arc};

/// Whether the process with an id may speak to the Unix socket.
#[derive(Clone)]
pub struct PeerCheck(Arc<dyn Fn(i32) -> bool + Send + Sync>);

impl PeerCheck {
    /// A check that answers true for who may speak.
    pub fn new(allowed: impl Fn(i32) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(allowed))
    }
}

impl fmt::Debug for PeerCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PeerCheck(..)")
    }
}

/// The other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// Over TCP.
    Tcp,
    /// Over the Unix socket.
    Unix {
        /// The process that connected, where the kernel says so.
        pid: Option<i32>,
    },
}

impl Peer {
    /// Where a request came from. Without a note of it, the stricter rules of TCP hold.
    pub(crate) fn of(request: &Request) -> Self {
        request.extensions().get::<ConnectInfo<Self>>().map_or(Self::Tcp, |info| info.0)
    }

    pub(crate) const fn is_unix(self) -> bool {
        matches!(self, Self::Unix { .. })
    }

    /// Refuses who is not allowed, and who cannot be told.
    pub(crate) fn check(self, check: &PeerCheck) -> Result<(), Problem> {
        match self {
            Self::Tcp => return Ok(()),
            Self::Unix { pid } if pid.is_some_and(|pid| (check.0)(pid)) => return Ok(()),
            Self::Unix { .. } => {}
        }
        Err(Problem::new(
            StatusCode::FORBIDDEN,
            "inside_a_session",
            "Nothing inside a session may speak to this service",
            "what runs inside a session reaches its granted tools through the bridge alone",
        ))
    }
}
