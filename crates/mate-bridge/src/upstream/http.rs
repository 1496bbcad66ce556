//! An upstream over Streamable HTTP, of either era: with `initialize` and sessions, or without.
//!
//! A request of which no byte went out was not sent. Whatever happens after that (a status that is no
//! success, a reset, a missing or broken answer) is unknown. An expired session ends the call that met
//! it; only the next one greets anew.

use super::{
    End, Hello, Inbound, Outgoing, Reply, Upstream,
    door::Door,
    dress::dress,
    http_answer::{self, Source},
    http_new,
    own::Own,
};
use crate::{
    config::{HttpSpec, Limits},
    core::{Answer, bounded, message},
};
use async_trait::async_trait;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use mate_http::{Client, Endpoint, Failed, Request, Response, Trust};
use serde_json::value::RawValue;
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::sync::{Mutex, watch};
use tokio_util::sync::CancellationToken;

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// How long a notification, or an answer to what an upstream asks, may take to be taken.
pub(super) const NOTICE: Duration = Duration::from_secs(10);
/// Resources that are listened to at one upstream.
const WATCHED: usize = 256;
/// The id of our `initialize`; no other request has it.
const HANDSHAKE: u64 = 0;

pub(crate) struct HttpUpstream {
    pub(super) wire: Wire,
    start: Duration,
    state: Mutex<State>,
    new: AtomicBool,
    closed: CancellationToken,
}

/// What every request needs; cheap to share.
#[derive(Clone)]
pub(super) struct Wire {
    pub(super) client: Arc<Door>,
    headers: HeaderMap,
    pub(super) limits: Limits,
    pub(super) inbound: Arc<dyn Inbound>,
    pub(super) own: Own,
}

#[derive(Default)]
struct State {
    session: Option<Arc<Session>>,
    /// It was greeted once, so it is not asked whether it does without sessions.
    greets: bool,
}

/// One greeted session at the upstream; of the new era, what stands for one.
pub(super) struct Session {
    pub(super) id: Option<HeaderValue>,
    pub(super) hello: Arc<Hello>,
    pub(super) over: CancellationToken,
    /// Resources of whose changes it is to tell (the new era).
    pub(super) watched: watch::Sender<Vec<String>>,
}

impl Session {
    pub(super) fn new(id: Option<HeaderValue>, hello: Hello) -> Arc<Self> {
        let watched = watch::Sender::new(Vec::new());
        Arc::new(Self { id, hello: Arc::new(hello), over: CancellationToken::new(), watched })
    }
}

impl HttpUpstream {
    /// # Errors
    /// What is wrong with the connection's settings.
    pub(crate) fn new(
        spec: &HttpSpec,
        start: Duration,
        limits: Limits,
        inbound: Arc<dyn Inbound>,
    ) -> Result<Self, String> {
        let endpoint = Endpoint::parse(&spec.url).map_err(|e| format!("its URL cannot be used: {e}"))?;
        let client = Arc::new(Door::new(Client::new(endpoint, &Trust::Machine)?, spec.live.clone()));
        let mut headers = HeaderMap::new();
        for (name, value) in &spec.headers {
            let name =
                HeaderName::try_from(name).map_err(|_| format!("the header name {name:?} is not allowed"))?;
            let mut value = HeaderValue::try_from(value)
                .map_err(|_| format!("the value of header {name} is not allowed"))?;
            value.set_sensitive(true);
            headers.append(name, value);
        }
        let wire = Wire { client, headers, limits, inbound, own: Own::default() };
        let (new, closed) = (AtomicBool::new(false), CancellationToken::new());
        Ok(Self { wire, start, state: Mutex::default(), new, closed })
    }

    async fn session(&self) -> Result<Arc<Session>, String> {
        let mut state = self.state.lock().await;
        if self.closed.is_cancelled() {
            return Err("the session is ending".into());
        }
        if let Some(session) = state.session.as_ref().filter(|s| !s.over.is_cancelled()) {
            return Ok(Arc::clone(session));
        }
        let ask = !state.greets;
        let opened = async {
            match if ask { self.wire.discover().await? } else { None } {
                Some(session) => Ok(session),
                None => self.wire.greet().await,
            }
        };
        let opened = tokio::time::timeout(self.start, opened).await;
        let session =
            opened.unwrap_or_else(|_| Err(format!("it did not answer within {} s", self.start.as_secs())))?;
        state.session = Some(Arc::clone(&session));
        state.greets = !session.hello.new;
        drop(state);
        self.new.store(session.hello.new, Ordering::Relaxed);
        self.wire.inbound.connected();
        if session.hello.new {
            tokio::spawn(http_new::listen(self.wire.clone(), Arc::clone(&session)));
        } else {
            tokio::spawn(http_answer::listen(self.wire.clone(), Arc::clone(&session)));
        }
        Ok(session)
    }
}

impl HttpUpstream {
    async fn deliver(&self, outgoing: Outgoing) {
        let session = match self.session().await {
            Ok(session) => session,
            Err(why) => {
                return outgoing.reply.end(End::NotSent(format!("the upstream could not be greeted: {why}")));
            }
        };
        let new = session.hello.new;
        let params = dress(&outgoing.params, new);
        let body = message::write_request(outgoing.id, outgoing.method, &params);
        let extra = if new { http_new::headers(&outgoing, &params) } else { HeaderMap::new() };
        let race = outgoing.reply.race();
        match self.wire.post(Some(&session), extra, body, move || race.begin()).await {
            Err(Failed::CalledOff) => {
                outgoing.reply.end(End::NotSent("it was called off before it was sent".into()));
            }
            Err(Failed::NotSent(why)) => {
                outgoing.reply.end(End::NotSent(format!("the upstream cannot be reached: {why}")));
            }
            Err(Failed::Unknown(why)) => {
                self.wire.client.forget();
                outgoing.reply.end(End::Unknown(format!("no answer came: {why}")));
            }
            Ok(response) if response.status() != StatusCode::OK => {
                let in_session = session.id.is_some();
                if in_session && response.status() == StatusCode::NOT_FOUND {
                    session.over.cancel();
                }
                let end = http_answer::of_status(&self.wire, outgoing.id, in_session, response).await;
                outgoing.reply.end(end);
            }
            Ok(response) => {
                let source = Source::Request(outgoing.id);
                // What breaks off in the new era cannot be read on.
                let session = Some(&session).filter(|_| !new);
                http_answer::read(&self.wire, session, source, response, outgoing.reply).await;
            }
        }
    }
}

impl Drop for HttpUpstream {
    fn drop(&mut self) {
        self.closed.cancel();
        if let Some(session) = self.state.get_mut().session.take() {
            session.over.cancel();
        }
    }
}

impl Wire {
    /// `initialize` and `notifications/initialized`.
    async fn greet(&self) -> Result<Arc<Session>, String> {
        let body = message::write_request(HANDSHAKE, "initialize", &Hello::ours(self.inbound.has_roots()));
        let unreached = |failed| format!("it cannot be reached: {failed}");
        let response = self.post(None, HeaderMap::new(), body, || true).await.map_err(unreached)?;
        if !response.status().is_success() {
            return Err(format!("it answered the handshake with HTTP {}", response.status().as_u16()));
        }
        let id = response.headers().get(&SESSION).cloned();
        let (reply, _race, end) = Reply::new(None);
        http_answer::read(self, None, Source::Handshake, response, reply).await;
        let hello = match end.await {
            Ok(End::Answer(Answer::Result(result))) => Hello::read(&result)?,
            Ok(End::Answer(Answer::Error(fault))) => {
                let shown = bounded(fault.0.get());
                return Err(format!("it refused the handshake: {shown}"));
            }
            Ok(End::NotSent(why) | End::Unknown(why)) => return Err(why),
            Err(_) => return Err("its handshake was dropped".into()),
        };
        let session = Session::new(id, hello);
        let body = message::write_notification("notifications/initialized", None);
        self.post(Some(&session), HeaderMap::new(), body, || true).await.map_err(unreached)?;
        Ok(session)
    }

    fn headers(&self, session: Option<&Session>) -> HeaderMap {
        let mut headers = self.headers.clone();
        if let Some(session) = session {
            if let Some(id) = &session.id {
                headers.insert(SESSION, id.clone());
            }
            if let Ok(version) = HeaderValue::from_str(&session.hello.version) {
                headers.insert(VERSION, version);
            }
        }
        headers
    }

    /// Posts a message, once; `begin` is asked right before its first byte.
    pub(super) async fn post(
        &self,
        session: Option<&Session>,
        extra: HeaderMap,
        body: String,
        begin: impl FnOnce() -> bool + Send,
    ) -> Result<Response, Failed> {
        let mut headers = self.headers(session);
        for (name, value) in extra.iter() {
            headers.insert(name, value.clone());
        }
        let request = Request::new(Method::POST, self.client.endpoint().target().clone())
            .headers(headers)
            .header(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))
            .header(header::ACCEPT, HeaderValue::from_static("application/json, text/event-stream"))
            .body(body);
        self.client.send(&request, begin).await
    }

    /// Opens a stream of server messages, after `last` if given.
    pub(super) async fn get(&self, session: &Session, last: Option<&str>) -> Result<Response, Failed> {
        let mut request = self
            .request(Method::GET, Some(session))
            .header(header::ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(last) = last.and_then(|l| HeaderValue::from_str(l).ok()) {
            request = request.header(HeaderName::from_static("last-event-id"), last);
        }
        self.client.send(&request, || true).await
    }

    fn request(&self, method: Method, session: Option<&Session>) -> Request {
        Request::new(method, self.client.endpoint().target().clone()).headers(self.headers(session))
    }
}

#[async_trait]
impl Upstream for HttpUpstream {
    async fn hello(&self) -> Result<Arc<Hello>, String> {
        Ok(Arc::clone(&self.session().await?.hello))
    }

    async fn send(&self, outgoing: Outgoing) {
        // A reply that is dropped here tells by itself whether the request was begun.
        tokio::select! {
            () = self.deliver(outgoing) => {}
            () = self.closed.cancelled() => {}
        }
    }

    async fn notify(&self, method: &'static str, params: Box<RawValue>) {
        let session = self.state.lock().await.session.clone();
        // In the new era the only way to call a request off is to hear no more of it: then nobody learns how it ended.
        if let Some(session) = session.filter(|s| !s.over.is_cancelled() && !s.hello.new) {
            let body = message::write_notification(method, Some(&params));
            let posted = self.wire.post(Some(&session), HeaderMap::new(), body, || true);
            tokio::time::timeout(NOTICE, posted).await.ok();
        }
    }

    fn is_new(&self) -> bool {
        self.new.load(Ordering::Relaxed)
    }

    async fn watch(&self, uri: &str) -> Option<bool> {
        let session = self.session().await.ok().filter(|session| session.hello.new)?;
        session.watched.send_if_modified(|watched| {
            let more = watched.len() < WATCHED && watched.iter().all(|known| known != uri);
            if more {
                watched.push(uri.to_owned());
            }
            more
        });
        Some(true)
    }

    async fn close(&self) {
        self.closed.cancel();
        let session = self.state.lock().await.session.take();
        let Some(session) = session else { return };
        session.over.cancel();
        if session.id.is_some() {
            let goodbye = self.wire.request(Method::DELETE, Some(&session));
            tokio::time::timeout(Duration::from_secs(2), self.wire.client.send(&goodbye, || true)).await.ok();
        }
    }
}
