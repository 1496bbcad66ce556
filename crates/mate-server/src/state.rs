//! What every handler has at hand.

use crate::{
    PlainCommands, Registrar,
    check::PeerCheck,
    limits::{Meter, RateLimits},
    listen::Spans,
    listings::Listings,
    stream::Feeds,
};
use mate_engine::{
    Engine, NoProber, Prober,
    oauth::{Authorizer, NoAuthorizer},
};
use mate_model::AccountId;
use std::{
    fmt,
    net::{IpAddr, SocketAddr},
    sync::Arc,
};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// The most event streams at a time.
const STREAMS: usize = 2_048;
/// The most downloads at a time.
const DOWNLOADS: usize = 64;

/// The shared state of the interface; clones share it.
#[derive(Clone)]
pub struct ServerState {
    pub(crate) engine: Arc<Engine>,
    pub(crate) peers: PeerCheck,
    pub(crate) registrar: Arc<dyn Registrar>,
    pub(crate) prober: Arc<dyn Prober>,
    pub(crate) authorizer: Arc<dyn Authorizer>,
    pub(crate) listings: Arc<Listings>,
    pub(crate) streams: Arc<Semaphore>,
    pub(crate) feeds: Arc<Feeds>,
    pub(crate) downloads: Arc<Semaphore>,
    pub(crate) requests: Arc<Meter<AccountId>>,
    pub(crate) failures: Arc<Meter<Option<IpAddr>>>,
    pub(crate) spans: Spans,
    pub(crate) own_address: Option<IpAddr>,
    /// Where browsers on this machine reach it.
    pub(crate) url: Option<Arc<str>>,
    pub(crate) shutdown: CancellationToken,
}

impl ServerState {
    /// The interface over `engine`; `peers` says who may speak to the Unix socket.
    #[must_use]
    pub fn new(engine: Arc<Engine>, peers: PeerCheck) -> Self {
        let streams = Arc::new(Semaphore::new(STREAMS));
        let downloads = Arc::new(Semaphore::new(DOWNLOADS));
        let registrar = Arc::new(PlainCommands);
        let limits = RateLimits::default();
        Self {
            engine,
            peers,
            registrar,
            prober: Arc::new(NoProber),
            authorizer: Arc::new(NoAuthorizer),
            listings: Arc::default(),
            streams,
            feeds: Arc::default(),
            downloads,
            requests: Arc::new(Meter::new(limits.requests)),
            failures: Arc::new(Meter::new(limits.failures)),
            spans: Spans::default(),
            own_address: None,
            url: None,
            shutdown: CancellationToken::new(),
        }
    }

    /// Authorises connections by `authorizer`.
    #[must_use]
    pub fn with_authorizer(self, authorizer: Arc<dyn Authorizer>) -> Self {
        Self { authorizer, ..self }
    }

    /// Takes requests at these rates.
    #[must_use]
    pub fn with_limits(self, limits: RateLimits) -> Self {
        let (requests, failures) = (Meter::new(limits.requests), Meter::new(limits.failures));
        Self { requests: Arc::new(requests), failures: Arc::new(failures), ..self }
    }

    /// Waits so long for the other end of a connection.
    #[must_use]
    pub fn with_patience(self, spans: Spans) -> Self {
        Self { spans, ..self }
    }

    /// Looks at connections by `prober`.
    #[must_use]
    pub fn with_prober(self, prober: Arc<dyn Prober>) -> Self {
        Self { prober, ..self }
    }

    /// Takes runtimes as `registrar` knows them.
    #[must_use]
    pub fn with_registrar(self, registrar: Arc<dyn Registrar>) -> Self {
        Self { registrar, ..self }
    }

    /// Takes `address` in `Host`, besides the loopback names; streams end when `shutdown` is cancelled.
    #[must_use]
    pub(crate) fn listening_on(self, address: SocketAddr, shutdown: CancellationToken) -> Self {
        let url = Some(format!("http://{address}").into());
        Self { own_address: Some(address.ip()), url, shutdown, ..self }
    }
}

impl fmt::Debug for ServerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerState").field("own_address", &self.own_address).finish_non_exhaustive()
    }
}
