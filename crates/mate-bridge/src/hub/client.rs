//! One MCP client at a front: what it said it can, what it waits for, what we asked it.

use crate::{
    core::{Answer, Id, Object, VERSIONS},
    gate::Receipt,
    hub::lock,
    upstream::ProgressSink,
};
use serde_json::value::RawValue;
use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex},
};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// Messages that wait for a client which does not read; those beyond are dropped.
const OUTBOX: usize = 256;

/// What a front hands in with each request.
#[derive(Clone)]
pub(crate) struct Caller {
    pub(crate) client: Arc<Client>,
    /// Where messages about this request go.
    pub(crate) outlet: ProgressSink,
    /// Nobody waits any more: hung up, or cancelled.
    pub(crate) gone: CancellationToken,
    /// The runtime said so explicitly (`notifications/cancelled`).
    pub(crate) cancelled: CancellationToken,
}

/// What one request is answered with.
pub(crate) struct Replied {
    pub(crate) answer: Answer,
    /// Goes with the answer to the transport.
    pub(crate) receipt: Receipt,
}

impl Replied {
    pub(crate) const fn plain(answer: Answer) -> Self {
        Self { answer, receipt: Receipt::none() }
    }
}

pub(crate) struct Client {
    /// What the front calls it: the session id over HTTP, a number on a stream.
    pub(crate) key: String,
    said: Mutex<Said>,
    outbox: mpsc::Sender<String>,
    inbox: Mutex<Option<mpsc::Receiver<String>>>,
    asked: Mutex<HashMap<u64, oneshot::Sender<Answer>>>,
    running: Mutex<HashMap<Id, (CancellationToken, CancellationToken)>>,
}

#[derive(Default)]
struct Said {
    elicitation: bool,
    listed: bool,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}

impl Client {
    pub(crate) fn new(key: String) -> Arc<Self> {
        let (outbox, inbox) = mpsc::channel(OUTBOX);
        Arc::new(Self {
            key,
            said: Mutex::default(),
            outbox,
            inbox: Mutex::new(Some(inbox)),
            asked: Mutex::default(),
            running: Mutex::default(),
        })
    }

    /// Takes what the client says of itself; gives the version to answer with.
    pub(crate) fn greeted(&self, params: Option<&RawValue>) -> Result<&'static str, String> {
        let params = Object::parse(params.ok_or("`params` is missing")?)?;
        let wanted = params.text("protocolVersion").ok_or("`protocolVersion` must be a string")?;
        let can = params.object("capabilities").unwrap_or_default();
        lock(&self.said).elicitation = can.object("elicitation").is_some();
        Ok(VERSIONS.into_iter().find(|v| *v == wanted).unwrap_or(if wanted.as_str() < VERSIONS[1] {
            VERSIONS[1]
        } else {
            VERSIONS[0]
        }))
    }

    pub(crate) fn can_elicit(&self) -> bool {
        lock(&self.said).elicitation
    }

    /// Notes that the client has listed the tools.
    pub(crate) fn has_listed(&self) {
        lock(&self.said).listed = true;
    }

    pub(crate) fn knows_tools(&self) -> bool {
        lock(&self.said).listed
    }

    /// Queues a message that belongs to no request. False: dropped, the client does not read.
    pub(crate) fn tell(&self, text: String) -> bool {
        self.outbox.try_send(text).is_ok()
    }

    /// The queue of such messages, for the one stream that carries them.
    pub(crate) fn take_inbox(&self) -> Option<mpsc::Receiver<String>> {
        lock(&self.inbox).take()
    }

    /// Puts the queue back when its stream ended; the next stream goes on with it.
    pub(crate) fn return_inbox(&self, inbox: mpsc::Receiver<String>) {
        *lock(&self.inbox) = Some(inbox);
    }

    /// Expects the answer to a request of ours.
    pub(crate) fn expect(&self, id: u64) -> oneshot::Receiver<Answer> {
        let (tx, rx) = oneshot::channel();
        lock(&self.asked).insert(id, tx);
        rx
    }

    pub(crate) fn forget(&self, id: u64) {
        lock(&self.asked).remove(&id);
    }

    /// Takes the client's answer to a request of ours; others are ignored.
    pub(crate) fn answered(&self, id: Option<&Id>, answer: Answer) {
        let waiting = id.and_then(Id::as_number).and_then(|id| lock(&self.asked).remove(&id));
        if let Some(waiting) = waiting {
            waiting.send(answer).ok();
        }
    }

    /// Notes a request as running. `None`: its id is in use.
    pub(crate) fn begin(
        self: &Arc<Self>,
        id: &Id,
        outlet: ProgressSink,
        gone: CancellationToken,
    ) -> Option<Caller> {
        let mut running = lock(&self.running);
        if running.contains_key(id) {
            return None;
        }
        let cancelled = CancellationToken::new();
        running.insert(id.clone(), (gone.clone(), cancelled.clone()));
        Some(Caller { client: Arc::clone(self), outlet, gone, cancelled })
    }

    pub(crate) fn finish(&self, id: &Id) {
        lock(&self.running).remove(id);
    }

    /// `notifications/cancelled`. Unknown ids are usual: runtimes also send it after the answer.
    pub(crate) fn cancel(&self, params: Option<&RawValue>) {
        let id = params.and_then(|p| Object::parse(p).ok()).and_then(|p| Id::read(p.get("requestId")?).ok());
        if let Some((gone, cancelled)) = id.and_then(|id| lock(&self.running).get(&id).cloned()) {
            cancelled.cancel();
            gone.cancel();
        }
    }

    /// Nobody listens any more.
    pub(crate) fn hung_up(&self) {
        for (gone, _) in lock(&self.running).values() {
            gone.cancel();
        }
        lock(&self.asked).clear();
    }
}
