//! Between the fronts and the upstreams: what is offered, who called what, and where answers go.

pub(crate) mod call;
pub(crate) mod catalogue;
pub(crate) mod client;
mod dispatch;
mod follow;
pub(crate) mod held;
mod inbound;
mod listing;
mod look;
pub(crate) mod names;
mod passed;
mod record;
pub(crate) mod report;
mod rounds;
pub(crate) mod routes;
pub(crate) mod subscribe;
mod verdict;
mod words;

use crate::{
    BridgeError,
    config::{ConnectionSpec, Limits, Spawner, Transport},
    core::era::Declared,
    gate::{Call, Gate},
    upstream::{HttpUpstream, ProgressSink, StdioUpstream, Upstream},
};
use catalogue::Catalogue;
use client::Client;
use listing::Listing;
use mate_model::{Clock, ConnectionId};
use serde_json::value::RawValue;
use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio_util::sync::CancellationToken;

/// The longest text that is told the runtime beside a result, in characters.
const SHOWN: usize = 2000;

/// One connection of the session.
pub(crate) struct Conn {
    pub(crate) id: ConnectionId,
    pub(crate) name: Arc<str>,
    pub(crate) prefixed: bool,
    /// It is told the workspace as its root.
    pub(crate) roots: bool,
    pub(crate) over_http: bool,
    pub(crate) call_timeout: Duration,
    pub(crate) upstream: Arc<dyn Upstream>,
    pub(crate) slots: Arc<Semaphore>,
    pub(crate) listing: Mutex<Listing>,
}

/// A call or read that is in flight at an upstream, by the id that we gave it there.
#[derive(Clone)]
pub(crate) struct Flight {
    pub(crate) conn: usize,
    /// `None` for a read.
    pub(crate) operation: Option<String>,
    /// What the upstream calls the task that it has made of it.
    pub(crate) task: Option<String>,
    pub(crate) tool: String,
    pub(crate) client: Arc<Client>,
    /// Where messages about it go.
    pub(crate) outlet: ProgressSink,
    /// What the call says of the runtime, in the new era.
    pub(crate) declared: Option<Arc<Declared>>,
    /// The call as it was made, where its upstream may ask in the middle of it.
    pub(crate) call: Option<Arc<Call>>,
    /// Where it is told what comes of it before it is over.
    pub(crate) events: Option<mpsc::Sender<held::Event>>,
    /// The runtime's own progress token.
    pub(crate) token: Option<Arc<RawValue>>,
    /// The upstream is to be told that the call is not wanted any more; its outcome is waited for all the same.
    pub(crate) unwanted: CancellationToken,
}

pub(crate) struct Hub {
    pub(crate) gate: Arc<dyn Gate>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) limits: Limits,
    pub(crate) workspace: Option<PathBuf>,
    pub(crate) conns: Vec<Conn>,
    pub(crate) catalogue: RwLock<Arc<Catalogue>>,
    pub(crate) flights: Mutex<HashMap<u64, Flight>>,
    pub(crate) clients: Mutex<Vec<Arc<Client>>>,
    /// Calls that wait for the runtime's answer to a question.
    pub(crate) holding: held::Holding,
    /// Tasks that a runtime follows.
    pub(crate) passed: passed::Tasks,
    /// Raised whenever a listing ended, well or not.
    pub(crate) listed: watch::Sender<u64>,
    /// The bridge is closing: nothing is followed any more.
    pub(crate) ending: CancellationToken,
    next: AtomicU64,
}

/// Locks; a panic elsewhere does not make the data unusable, since every change is one step.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Hub {
    pub(crate) fn new(
        specs: Vec<ConnectionSpec>,
        workspace: Option<PathBuf>,
        limits: Limits,
        gate: Arc<dyn Gate>,
        spawner: &Arc<dyn Spawner>,
        clock: Arc<dyn Clock>,
    ) -> Result<Arc<Self>, BridgeError> {
        names::check_connections(&specs)?;
        let mut wrong = None;
        let hub = Arc::new_cyclic(|weak: &Weak<Self>| {
            let mut conns = Vec::with_capacity(specs.len());
            for (index, spec) in specs.into_iter().enumerate() {
                match Conn::new(index, spec, &limits, spawner, weak) {
                    Ok(conn) => conns.push(conn),
                    Err(error) => wrong = Some(error),
                }
            }
            Self {
                gate,
                clock,
                limits,
                workspace,
                conns,
                catalogue: RwLock::default(),
                flights: Mutex::default(),
                clients: Mutex::default(),
                holding: held::Holding::default(),
                passed: passed::Tasks::default(),
                listed: watch::Sender::new(0),
                ending: CancellationToken::new(),
                next: AtomicU64::new(1),
            }
        });
        wrong.map_or(Ok(hub), Err)
    }

    /// An id for a request to an upstream or to the runtime; never 0, never given twice.
    pub(crate) fn next_id(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn catalogue(&self) -> Arc<Catalogue> {
        Arc::clone(&self.catalogue.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn clients(&self) -> Vec<Arc<Client>> {
        lock(&self.clients).clone()
    }

    /// A text that may hold an upstream's words, as it may be told: without secrets, and then cut.
    pub(crate) fn shown(&self, text: &str) -> String {
        self.gate.shown(text, SHOWN)
    }

    /// Sends a notification to every client.
    pub(crate) fn broadcast(&self, method: &str, params: Option<&RawValue>) {
        let uri = params.and_then(|params| crate::core::Object::parse(params).ok()?.text("uri"));
        for client in self.clients() {
            client.tell_of(method, params, uri.as_deref());
        }
    }
}

impl Conn {
    fn new(
        index: usize,
        spec: ConnectionSpec,
        limits: &Limits,
        spawner: &Arc<dyn Spawner>,
        hub: &Weak<Hub>,
    ) -> Result<Self, BridgeError> {
        let name: Arc<str> = spec.name.into();
        let start = spec.start_timeout.unwrap_or(limits.start);
        let inbound = Arc::new(inbound::Ear { hub: Weak::clone(hub), conn: index, roots: spec.roots });
        let over_http = matches!(spec.transport, Transport::Http(_));
        let upstream: Arc<dyn Upstream> = match spec.transport {
            Transport::Stdio(stdio) => Arc::new(StdioUpstream::new(
                Arc::clone(&name),
                stdio,
                start,
                limits.clone(),
                Arc::clone(spawner),
                inbound,
            )),
            Transport::Http(http) => Arc::new(
                HttpUpstream::new(&http, start, limits.clone(), inbound)
                    .map_err(|why| BridgeError::Connection { name: name.to_string(), why })?,
            ),
        };
        Ok(Self {
            id: spec.id,
            name,
            prefixed: spec.prefixed,
            roots: spec.roots,
            over_http,
            call_timeout: spec.call_timeout.unwrap_or(limits.call),
            upstream,
            slots: Arc::new(Semaphore::new(limits.in_flight)),
            listing: Mutex::default(),
        })
    }
}
