//! An upstream over Streamable HTTP (the eras with `initialize` and sessions).
//!
//! A request that fails before a connection stands was not sent. Whatever happens after that
//! (a status that is no success, a reset, a missing or broken answer) is unknown. An expired session
//! ends the call that met it; only the next one greets anew.

use super::{
    End, Hello, Inbound, Outgoing, Reply, Upstream,
    http_answer::{self, Source},
};
use crate::{
    config::{HttpSpec, Limits},
    core::{Answer, message},
};
use async_trait::async_trait;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use serde_json::value::RawValue;
use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const CONNECT: Duration = Duration::from_secs(10);
/// Shorter than the keep-alive of common servers, so that a call rarely meets a connection on its way out.
const IDLE: Duration = Duration::from_secs(3);
/// The id of our `initialize`; no other request has it.
const HANDSHAKE: u64 = 0;

pub(crate) struct HttpUpstream {
    pub(super) wire: Wire,
    start: Duration,
    state: Mutex<State>,
    closed: CancellationToken,
}

/// What every request needs; cheap to share.
#[derive(Clone)]
pub(super) struct Wire {
    /// Keeps connections for the next request.
    pooled: reqwest::Client,
    /// A connection of its own for each request.
    fresh: reqwest::Client,
    /// Above zero while connections that are kept may be on their way out.
    doubts: Arc<AtomicU32>,
    url: reqwest::Url,
    headers: HeaderMap,
    pub(super) limits: Limits,
    pub(super) inbound: Arc<dyn Inbound>,
}

#[derive(Default)]
struct State {
    session: Option<Arc<Session>>,
}

/// One greeted session at the upstream.
pub(super) struct Session {
    pub(super) id: Option<HeaderValue>,
    hello: Arc<Hello>,
    pub(super) over: CancellationToken,
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
        // A second installation is refused, which is as good.
        rustls::crypto::ring::default_provider().install_default().ok();
        let url: reqwest::Url = spec.url.parse().map_err(|e| format!("its URL cannot be read: {e}"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err("its URL must begin with http:// or https://".into());
        }
        let mut headers = HeaderMap::new();
        for (name, value) in &spec.headers {
            let name =
                HeaderName::try_from(name).map_err(|_| format!("the header name {name:?} is not allowed"))?;
            let mut value = HeaderValue::try_from(value)
                .map_err(|_| format!("the value of header {name} is not allowed"))?;
            value.set_sensitive(true);
            headers.append(name, value);
        }
        let pooled = client(limits.in_flight)?;
        let fresh = client(0)?;
        let doubts = Arc::default();
        let wire = Wire { pooled, fresh, doubts, url, headers, limits, inbound };
        Ok(Self { wire, start, state: Mutex::default(), closed: CancellationToken::new() })
    }

    async fn session(&self) -> Result<Arc<Session>, String> {
        let mut state = self.state.lock().await;
        if self.closed.is_cancelled() {
            return Err("the session is ending".into());
        }
        if let Some(session) = state.session.as_ref().filter(|s| !s.over.is_cancelled()) {
            return Ok(Arc::clone(session));
        }
        let greeted = tokio::time::timeout(self.start, self.wire.greet()).await;
        let session = greeted
            .unwrap_or_else(|_| Err(format!("it did not answer within {} s", self.start.as_secs())))?;
        state.session = Some(Arc::clone(&session));
        drop(state);
        self.wire.inbound.connected();
        tokio::spawn(http_answer::listen(self.wire.clone(), Arc::clone(&session)));
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
        let body = message::write_request(outgoing.id, outgoing.method, &outgoing.params);
        if !outgoing.reply.begin() {
            return outgoing.reply.end(End::NotSent("it was called off before it was sent".into()));
        }
        match self.wire.post(Some(&session), body).await {
            Err(e) if e.is_connect() || e.is_builder() => {
                outgoing.reply.end(End::NotSent(format!("the upstream cannot be reached: {}", plain(&e))));
            }
            Err(e) => {
                self.wire.doubt();
                outgoing.reply.end(End::Unknown(format!("no answer came: {}", plain(&e))));
            }
            Ok(response) if response.status() != StatusCode::OK => {
                self.wire.doubt();
                let status = response.status().as_u16();
                if status == 404 && session.id.is_some() {
                    session.over.cancel();
                }
                outgoing.reply.end(End::Unknown(format!(
                    "the upstream answered with HTTP {status} instead of a result"
                )));
            }
            Ok(response) => {
                let source = Source::Request(outgoing.id);
                http_answer::read(&self.wire, Some(&session), source, response, outgoing.reply).await;
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

/// A client that never sends anything twice and follows nothing.
fn client(idle: usize) -> Result<reqwest::Client, String> {
    reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .no_proxy()
        .http1_only()
        .referer(false)
        .tcp_nodelay(true)
        .connect_timeout(CONNECT)
        .pool_idle_timeout(IDLE)
        .pool_max_idle_per_host(idle)
        .build()
        .map_err(|e| format!("no HTTP client could be made: {e}"))
}

impl Wire {
    /// The client for the next request.
    fn client(&self) -> &reqwest::Client {
        if self.doubts.load(Ordering::Acquire) > 0 { &self.fresh } else { &self.pooled }
    }

    /// After trouble a server often closes what it kept open; a call that meets this would be unknown for nothing.
    /// Until the kept connections have aged out, each request gets its own.
    pub(super) fn doubt(&self) {
        let doubts = Arc::clone(&self.doubts);
        doubts.fetch_add(1, Ordering::AcqRel);
        tokio::spawn(async move {
            tokio::time::sleep(IDLE + Duration::from_secs(1)).await;
            doubts.fetch_sub(1, Ordering::AcqRel);
        });
    }

    /// `initialize` and `notifications/initialized`.
    async fn greet(&self) -> Result<Arc<Session>, String> {
        let body = message::write_request(HANDSHAKE, "initialize", &Hello::ours());
        let response =
            self.post(None, body).await.map_err(|e| format!("it cannot be reached: {}", plain(&e)))?;
        if !response.status().is_success() {
            return Err(format!("it answered the handshake with HTTP {}", response.status().as_u16()));
        }
        let id = response.headers().get(&SESSION).cloned();
        let (reply, _race, end) = Reply::new(None);
        http_answer::read(self, None, Source::Handshake, response, reply).await;
        let hello = match end.await {
            Ok(End::Answer(Answer::Result(result))) => Hello::read(&result)?,
            Ok(End::Answer(Answer::Error(fault))) => {
                let shown: String = fault.0.get().chars().take(300).collect();
                return Err(format!("it refused the handshake: {shown}"));
            }
            Ok(End::NotSent(why) | End::Unknown(why)) => return Err(why),
            Err(_) => return Err("its handshake was dropped".into()),
        };
        let session = Arc::new(Session { id, hello: Arc::new(hello), over: CancellationToken::new() });
        let body = message::write_notification("notifications/initialized", None);
        self.post(Some(&session), body).await.map_err(|e| format!("it cannot be reached: {}", plain(&e)))?;
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

    pub(super) async fn post(
        &self,
        session: Option<&Session>,
        body: String,
    ) -> Result<reqwest::Response, reqwest::Error> {
        let mut headers = self.headers(session);
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        self.client().post(self.url.clone()).headers(headers).body(body).send().await
    }

    /// Opens a stream of server messages, after `last` if given.
    pub(super) async fn get(
        &self,
        session: &Session,
        last: Option<&str>,
    ) -> Result<reqwest::Response, reqwest::Error> {
        let mut headers = self.headers(Some(session));
        headers.insert(header::ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(last) = last.and_then(|l| HeaderValue::from_str(l).ok()) {
            headers.insert(HeaderName::from_static("last-event-id"), last);
        }
        self.client().get(self.url.clone()).headers(headers).send().await
    }
}

/// An error without the URL, which may hold a secret.
fn plain(error: &reqwest::Error) -> String {
    let mut text =
        if error.is_connect() { "no connection".to_owned() } else { "the exchange broke off".to_owned() };
    let mut source = std::error::Error::source(error);
    while let Some(inner) = source {
        text = format!("{text}: {inner}");
        source = inner.source();
    }
    text.chars().take(300).collect()
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
        if let Some(session) = session.filter(|s| !s.over.is_cancelled()) {
            let body = message::write_notification(method, Some(&params));
            tokio::time::timeout(CONNECT, self.wire.post(Some(&session), body)).await.ok();
        }
    }

    async fn close(&self) {
        self.closed.cancel();
        let session = self.state.lock().await.session.take();
        let Some(session) = session else { return };
        session.over.cancel();
        if session.id.is_some() {
            let headers = self.wire.headers(Some(&session));
            let gone = self.wire.client().delete(self.wire.url.clone()).headers(headers).send();
            tokio::time::timeout(Duration::from_secs(2), gone).await.ok();
        }
    }
}
