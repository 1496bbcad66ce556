//! One bridge per session: started, served, refreshed and ended by the session worker.

use crate::{
    config::{ConnectionSpec, Limits, Spawner},
    front,
    gate::Gate,
    hub::{Hub, lock},
};
use mate_model::{Clock, ConnectionId, Entropy, record::Record};
use serde_json::{Map, Value, value::RawValue};
use std::{
    fmt,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

/// What a bridge is started with.
#[derive(Debug)]
pub struct BridgeConfig {
    /// The session's connections. Their order decides who keeps a name that two want.
    pub connections: Vec<ConnectionSpec>,
    /// Told to upstreams that ask for roots; `None`: there are none.
    pub workspace: Option<PathBuf>,
    /// Bounds.
    pub limits: Limits,
}

/// Why a bridge could not be started.
#[derive(Debug, thiserror::Error)]
pub enum BridgeError {
    /// A connection's settings cannot be used.
    #[error("the connection {name:?} cannot be used: {why}")]
    Connection {
        /// Its name.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// No loopback port could be opened.
    #[error("no loopback port could be opened for the bridge: {0}")]
    Listen(#[source] std::io::Error),
}

/// A call that is at an upstream now.
#[derive(Debug, Clone)]
pub struct InFlight {
    /// The operation's id.
    pub operation: String,
    /// The connection's name.
    pub connection: String,
    /// The upstream's name of the tool.
    pub tool: String,
}

/// A running bridge. Dropping it closes the fronts; [`Bridge::shutdown`] also ends the upstreams.
pub struct Bridge {
    hub: Arc<Hub>,
    url: String,
    bearer: String,
    closing: CancellationToken,
    served: Mutex<Option<JoinHandle<()>>>,
}

impl fmt::Debug for Bridge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bridge").field("url", &self.url).finish_non_exhaustive()
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        self.closing.cancel();
    }
}

impl Bridge {
    /// Opens the HTTP front on a loopback port. Upstreams are started at first need.
    ///
    /// # Errors
    /// A connection that cannot be used, or no port.
    pub async fn start(
        config: BridgeConfig,
        gate: Arc<dyn Gate>,
        spawner: Arc<dyn Spawner>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Result<Self, BridgeError> {
        let bearer = hex::encode(entropy.secret());
        Self::start_with(config, bearer, gate, spawner, clock, entropy).await
    }

    /// As [`Bridge::start`], with the bearer that the HTTP front asks for.
    ///
    /// # Errors
    /// As [`Bridge::start`].
    pub async fn start_with(
        config: BridgeConfig,
        bearer: String,
        gate: Arc<dyn Gate>,
        spawner: Arc<dyn Spawner>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Result<Self, BridgeError> {
        let BridgeConfig { connections, workspace, limits } = config;
        let hub = Hub::new(connections, workspace, limits, gate, &spawner, clock)?;
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(BridgeError::Listen)?;
        let address = listener.local_addr().map_err(BridgeError::Listen)?;
        let closing = CancellationToken::new();
        let serving = front::http::run(listener, Arc::clone(&hub), bearer.clone(), entropy, closing.clone());
        let served = Mutex::new(Some(tokio::spawn(serving)));
        Ok(Self { hub, url: format!("http://{address}/mcp"), bearer, closing, served })
    }

    /// Where the runtime reaches the HTTP front.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The bearer that the HTTP front asks for. Secret; lives as long as the bridge.
    #[must_use]
    pub fn bearer(&self) -> &str {
        &self.bearer
    }

    /// Serves one client that speaks lines over `stream`, until it hangs up or the bridge closes.
    /// Whoever accepted the stream has authenticated its other end.
    pub fn serve_stream<S>(&self, stream: S) -> JoinHandle<()>
    where
        S: AsyncRead + AsyncWrite + Send + 'static,
    {
        tokio::spawn(front::stream::run(Arc::clone(&self.hub), stream, self.closing.clone()))
    }

    /// The exposed names of all granted tools, ours included; waits for slow upstreams within the list limit.
    pub async fn tool_names(&self) -> Vec<String> {
        self.hub.ready(self.hub.limits.list).await;
        self.hub.granted_names()
    }

    /// Grants changed: clients are told to list again. (Each call is judged anew in any case.)
    pub fn refresh(&self) {
        for conn in 0..self.hub.conns.len() {
            if self.hub.gate.connection_granted(&self.hub.conns[conn].name) {
                self.hub.want(conn, false);
            }
        }
        self.hub.tools_changed();
    }

    /// The upstream's own definition of a tool; lists the connection if that was not done yet. Asks no gate: whoever
    /// calls this has judged it.
    ///
    /// # Errors
    /// That there is no such connection or tool, or that it could not be listed.
    pub async fn definition(&self, connection: ConnectionId, tool: &str) -> Result<Arc<RawValue>, String> {
        self.hub.definition(connection, tool).await
    }

    /// Calls a tool that only reads, for nobody at a front; bounded. Asks no gate and settles nothing: whoever calls
    /// this has judged the call, and may repeat it. Gives the `result` member.
    ///
    /// # Errors
    /// Why there is no result. May hold an upstream's words: untrusted.
    pub async fn look(
        &self,
        connection: ConnectionId,
        tool: &str,
        arguments: &Map<String, Value>,
    ) -> Result<Box<RawValue>, String> {
        self.hub.look(connection, tool, arguments).await
    }

    /// Reads an upstream's record of a call that it carries out as a task, and the call's result, where it has one;
    /// bounded. Asks no gate and settles nothing: whoever calls this has judged it, and may repeat it.
    ///
    /// # Errors
    /// Why there is no record, in words. May hold an upstream's words: untrusted.
    pub async fn record(&self, connection: ConnectionId, id: &str) -> Result<Record, String> {
        self.hub.record_of(connection, id).await
    }

    /// The calls that are at an upstream now.
    #[must_use]
    pub fn in_flight(&self) -> Vec<InFlight> {
        let flights = lock(&self.hub.flights);
        let named = flights.values().filter_map(|flight| {
            Some(InFlight {
                operation: flight.operation.clone()?,
                connection: self.hub.conns[flight.conn].name.to_string(),
                tool: flight.tool.clone(),
            })
        });
        named.collect()
    }

    /// Tells the upstreams that the calls in flight are not wanted any more. A wish: each call stays in flight until it
    /// is answered or proved gone. One of which no byte went out yet is not sent.
    pub fn cancel_in_flight(&self) {
        for flight in lock(&self.hub.flights).values() {
            flight.unwanted.cancel();
        }
    }

    /// Waits until no call is in flight, at most `patience`; then closes the fronts and ends the upstreams.
    /// Calls that are still in flight end as unknown, and are settled as such.
    pub async fn shutdown(&self, patience: Duration) {
        self.idle(patience).await;
        self.closing.cancel();
        self.hub.ending.cancel();
        let closes = self.hub.conns.iter().map(|conn| conn.upstream.close());
        tokio::time::timeout(Duration::from_secs(5), futures_util::future::join_all(closes)).await.ok();
        self.idle(Duration::from_secs(2)).await;
        let served = lock(&self.served).take();
        if let Some(served) = served {
            tokio::time::timeout(Duration::from_secs(2), served).await.ok();
        }
    }

    /// Waits until nothing is in flight, at most `patience`.
    async fn idle(&self, patience: Duration) {
        let idle = async {
            while !lock(&self.hub.flights).is_empty() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(patience, idle).await.ok();
    }
}
