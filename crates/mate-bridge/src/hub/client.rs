//! One MCP client at a front: what it said it can, what it waits for, what we asked it.

use crate::{
    core::{
        Answer, Id, Object, VERSIONS,
        era::{self, Declared},
        message, raw,
    },
    gate::Receipt,
    hub::{held::Event, lock},
    upstream::ProgressSink,
};
use serde_json::{json, value::RawValue};
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
    /// What the request says of its sender; none: it is of the era in which the client has said it once.
    pub(crate) declared: Option<Arc<Declared>>,
    /// Where it is told what comes of the call before it is over, for a client that then asks or answers with a further
    /// request.
    pub(crate) events: Option<mpsc::Sender<Event>>,
}

impl Caller {
    /// Whether the client of this request answers questions to its user.
    pub(crate) fn can_elicit(&self) -> bool {
        self.declared.as_ref().map_or_else(|| self.client.can_elicit(), |declared| declared.elicitation)
    }

    /// What an upstream of the new era may ask, of a client of the old one: its questions are put to the client. Tasks are
    /// not taken: what an upstream asks about one could not be answered.
    pub(crate) fn can(&self, roots: bool) -> Box<RawValue> {
        let mut can = if roots { json!({ "roots": {} }) } else { json!({}) };
        if self.client.can_elicit() {
            can["elicitation"] = json!({ "form": {} });
        }
        raw(&can)
    }

    /// Whether the client follows tasks itself.
    pub(crate) fn follows_tasks(&self) -> bool {
        self.declared.as_ref().is_some_and(|declared| declared.tasks)
    }

    /// Whether the request is of the era without sessions.
    pub(crate) fn is_new(&self) -> bool {
        self.declared.is_some()
    }
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
    /// What it wants to hear of, if it does nothing but listen.
    filter: Option<Filter>,
    outbox: mpsc::Sender<String>,
    inbox: Mutex<Option<mpsc::Receiver<String>>>,
    asked: Mutex<HashMap<u64, oneshot::Sender<Answer>>>,
    running: Mutex<HashMap<Id, (CancellationToken, CancellationToken)>>,
}

/// Of what a client of the new era wants to hear.
pub(crate) struct Filter {
    /// The request by which it asked.
    id: Id,
    tools: bool,
    prompts: bool,
    resources: bool,
    /// Resources of whose changes it wants to hear.
    pub(crate) uris: Vec<String>,
}

/// Resources that one client listens to at once.
const URIS: usize = 256;

impl Filter {
    pub(crate) fn read(params: Option<&RawValue>, id: Id) -> Result<Self, String> {
        let params = Object::parse_or_empty(params)?;
        let wish = params.object("notifications").ok_or("`notifications` must be an object")?;
        let is = |key: &str| wish.get(key).is_some_and(|value| value.get() == "true");
        let uris: Vec<String> = match wish.get("resourceSubscriptions") {
            None => Vec::new(),
            Some(uris) => serde_json::from_str(uris.get())
                .map_err(|_| "`notifications.resourceSubscriptions` must be a list of texts")?,
        };
        if uris.len() > URIS {
            return Err(format!("`notifications.resourceSubscriptions` has more than {URIS} resources"));
        }
        let (tools, prompts) = (is("toolsListChanged"), is("promptsListChanged"));
        Ok(Self { id, tools, prompts, resources: is("resourcesListChanged"), uris })
    }

    fn wants(&self, method: &str, uri: Option<&str>) -> bool {
        match method {
            "notifications/tools/list_changed" => self.tools,
            "notifications/prompts/list_changed" => self.prompts,
            "notifications/resources/list_changed" => self.resources,
            "notifications/resources/updated" => {
                uri.is_some_and(|uri| self.uris.iter().any(|wanted| wanted == uri))
            }
            _ => false,
        }
    }

    fn shown(&self) -> Box<RawValue> {
        let mut shown = Object::default();
        for (key, is) in [
            ("toolsListChanged", self.tools),
            ("promptsListChanged", self.prompts),
            ("resourcesListChanged", self.resources),
        ] {
            if is {
                shown.set(key, raw(&true));
            }
        }
        if !self.uris.is_empty() {
            shown.set("resourceSubscriptions", raw(&self.uris));
        }
        shown.to_raw()
    }

    fn tagged(&self, params: Option<&RawValue>) -> Box<RawValue> {
        let mut params = Object::parse_or_empty(params).unwrap_or_default();
        let mut meta = params.object("_meta").unwrap_or_default();
        meta.set(era::SUBSCRIPTION, self.id.to_raw());
        params.set("_meta", meta.to_raw());
        params.to_raw()
    }
}

#[derive(Default)]
struct Said {
    elicitation: bool,
    listed: bool,
    level: Option<String>,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}

impl Client {
    pub(crate) fn new(key: String) -> Arc<Self> {
        Self::made(key, None)
    }

    /// One that only listens.
    pub(crate) fn listening(filter: Filter) -> Arc<Self> {
        Self::made(String::new(), Some(filter))
    }

    fn made(key: String, filter: Option<Filter>) -> Arc<Self> {
        let (outbox, inbox) = mpsc::channel(OUTBOX);
        Arc::new(Self {
            key,
            said: Mutex::default(),
            filter,
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

    /// The least grave message of a log that it wants to hear of, if it said so.
    pub(crate) fn level(&self) -> Option<String> {
        lock(&self.said).level.clone()
    }

    pub(crate) fn wants_level(&self, level: &str) {
        lock(&self.said).level = Some(level.to_owned());
    }

    pub(crate) fn can_elicit(&self) -> bool {
        lock(&self.said).elicitation
    }

    /// Notes that the client has listed the tools.
    pub(crate) fn has_listed(&self) {
        lock(&self.said).listed = true;
    }

    /// Tells of a change, if the client wants to hear of it. `uri`: of the resource that changed.
    pub(crate) fn tell_of(&self, method: &str, params: Option<&RawValue>, uri: Option<&str>) {
        match &self.filter {
            Some(filter) if filter.wants(method, uri) => {
                self.tell(message::write_notification(method, Some(&filter.tagged(params))));
            }
            Some(_) => {}
            None => {
                self.tell(message::write_notification(method, params));
            }
        }
    }

    /// Whether it is to be told that a list is no longer the list.
    pub(crate) fn knows_tools(&self) -> bool {
        self.filter.is_some() || lock(&self.said).listed
    }

    /// The first message of a stream that only tells of changes: what it will tell.
    pub(crate) fn acknowledgement(&self) -> Option<String> {
        let filter = self.filter.as_ref()?;
        let mut params = Object::default();
        params.set("notifications", filter.shown());
        let method = "notifications/subscriptions/acknowledged";
        Some(message::write_notification(method, Some(&filter.tagged(Some(&params.to_raw())))))
    }

    /// Whether it asks nothing and answers nothing.
    pub(crate) const fn only_listens(&self) -> bool {
        self.filter.is_some()
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
        declared: Option<Arc<Declared>>,
    ) -> Option<Caller> {
        let mut running = lock(&self.running);
        if running.contains_key(id) {
            return None;
        }
        let cancelled = CancellationToken::new();
        running.insert(id.clone(), (gone.clone(), cancelled.clone()));
        Some(Caller { client: Arc::clone(self), outlet, gone, cancelled, declared, events: None })
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
