//! Streamable HTTP for the runtime: POST for messages, GET for what nobody asked, DELETE to leave.

use super::{
    guard::Guard,
    headers::{self, VERSION},
    listen,
    post::{self, Way},
    resume::{Broken, StreamId},
    take,
    wire::{Owed, Wires},
};
use crate::{
    core::{Answer, Fault, Message, VERSIONS, era::Declared, message},
    hub::{Hub, client::Client, lock},
};
use axum::{
    Router,
    body::Body,
    extract::{ConnectInfo, Request, State},
    response::{IntoResponse, Response},
    routing::any,
};
use bytes::Bytes;
use futures_util::StreamExt;
use http::{HeaderMap, HeaderName, Method, StatusCode, header};
use std::{sync::Arc, time::Duration};
use tokio::{net::TcpListener, sync::mpsc};
use tokio_util::sync::CancellationToken;

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
/// Clients at once; the one that came first gives way.
pub(super) const CLIENTS: usize = 64;
pub(super) const KEEP_ALIVE: Duration = Duration::from_secs(15);

pub(crate) struct Front {
    pub(super) hub: Arc<Hub>,
    guard: Guard,
    entropy: Arc<dyn mate_model::Entropy>,
    /// Streams whose clients may come back.
    pub(super) broken: Arc<Broken>,
    pub(super) closing: CancellationToken,
}

/// Serves until `closing`.
pub(crate) async fn run(
    listener: TcpListener,
    hub: Arc<Hub>,
    bearer: String,
    entropy: Arc<dyn mate_model::Entropy>,
    closing: CancellationToken,
) {
    let front = Arc::new(Front {
        hub,
        guard: Guard::new(bearer),
        entropy,
        broken: Arc::default(),
        closing: closing.clone(),
    });
    let app = Router::new().route("/mcp", any(handle)).with_state(front);
    let app = app.into_make_service_with_connect_info::<Owed>();
    let served = axum::serve(Wires(listener), app).with_graceful_shutdown(closing.cancelled_owned());
    served.await.ok();
}

async fn handle(
    State(front): State<Arc<Front>>,
    ConnectInfo(owed): ConnectInfo<Owed>,
    request: Request,
) -> Response {
    if let Err((status, why)) = front.guard.check(request.headers()) {
        return refuse(status, &Fault::invalid_request(why));
    }
    match *request.method() {
        Method::POST => front.post(request, owed).await,
        Method::GET => front.listen(request.headers(), owed),
        Method::DELETE => front.leave(request.headers()),
        _ => (StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, "GET, POST, DELETE")]).into_response(),
    }
}

pub(super) fn refuse(status: StatusCode, fault: &Fault) -> Response {
    let text = message::write_response(None, &Answer::Error(fault.clone()));
    let mut response = (status, [(header::CONTENT_TYPE, "application/json")], text).into_response();
    if status == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, http::HeaderValue::from_static("Bearer"));
    }
    response
}

fn bad(why: &str) -> Response {
    refuse(StatusCode::BAD_REQUEST, &Fault::invalid_request(why))
}

impl Front {
    async fn post(self: &Arc<Self>, request: Request, owed: Owed) -> Response {
        let (parts, body) = request.into_parts();
        let json = parts.headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok());
        if !json.is_some_and(|t| t.trim().to_ascii_lowercase().starts_with("application/json")) {
            let fault = Fault::invalid_request("the content type must be application/json");
            return refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, &fault);
        }
        let max = self.hub.limits.message;
        let Ok(body) = axum::body::to_bytes(body, max).await else {
            let fault =
                Fault::invalid_request(&format!("the message is larger than {max} bytes or broke off"));
            return refuse(StatusCode::PAYLOAD_TOO_LARGE, &fault);
        };
        let message = match Message::read(&body) {
            Ok(message) => message,
            Err(error) => return refuse(StatusCode::BAD_REQUEST, &error.fault()),
        };
        drop(body);
        let accepts = parts.headers.get_all(header::ACCEPT).iter().filter_map(|v| v.to_str().ok());
        let accepted = accepts.collect::<Vec<_>>().join(",");
        let streams = accepted.contains("text/event-stream");
        let at_once = accepted.trim_start().starts_with("text/event-stream");
        let resumes = parts.headers.get(&VERSION).is_some_and(|version| version == VERSIONS[0]);
        let new = headers::is_new(&parts.headers, &message);
        let way = Way { streams, at_once, resumes: resumes && !new, new };
        if way.new {
            return self.dispatch_new(&parts.headers, message, way, owed).await;
        }
        self.dispatch(&parts.headers, message, way, owed).await
    }

    async fn dispatch(
        self: &Arc<Self>,
        headers: &HeaderMap,
        message: Message,
        way: Way,
        owed: Owed,
    ) -> Response {
        if let Message::Request(request) = message {
            if request.method == "initialize" {
                return self.greet(request, way, owed).await;
            }
            // A probe of another era, or a ping before the handshake: answered without a session.
            if !headers.contains_key(&SESSION) && request.method != "ping" && is_ours(&request.method) {
                return bad("the Mcp-Session-Id header is missing: send initialize first");
            }
            let client = match self.client(headers) {
                Ok(client) => client,
                Err(_) if !headers.contains_key(&SESSION) => Client::new(String::new()),
                Err(response) => return response,
            };
            return post::answer(self, &client, request, way, owed).await;
        }
        match self.client(headers) {
            Err(response) => response,
            Ok(client) => {
                take(&client, message);
                StatusCode::ACCEPTED.into_response()
            }
        }
    }

    /// A message of the new era: it says all that there is to know, and leaves nothing behind.
    async fn dispatch_new(
        self: &Arc<Self>,
        headers: &HeaderMap,
        message: Message,
        way: Way,
        owed: Owed,
    ) -> Response {
        let request = match message {
            Message::Request(request) => request,
            // Nothing is to be told over HTTP but what ends with its own request.
            Message::Notification(_) => return StatusCode::ACCEPTED.into_response(),
            Message::Response(_) => return bad("in this version of the protocol nothing was asked"),
        };
        let checked = headers::check(headers, &request);
        let checked = checked.and_then(|()| headers::check_arguments(&self.hub, headers, &request));
        let checked = checked.and_then(|()| Declared::read(request.params.as_deref()));
        if let Err(fault) = checked {
            let text = message::write_response(Some(&request.id), &Answer::Error(fault));
            return (StatusCode::BAD_REQUEST, [(header::CONTENT_TYPE, "application/json")], text)
                .into_response();
        }
        if request.method == "subscriptions/listen" {
            return listen::over_http(self, &request).await;
        }
        post::answer(self, &Client::new(String::new()), request, way, owed).await
    }

    async fn greet(self: &Arc<Self>, request: crate::core::Request, way: Way, owed: Owed) -> Response {
        let client = Client::new(hex::encode(&self.entropy.secret()[..16]));
        {
            let mut clients = lock(&self.hub.clients);
            if clients.len() >= CLIENTS {
                // Streams end by themselves; a session is only known to be over when another wants its place.
                let first = clients.iter().position(|client| !client.only_listens()).unwrap_or(0);
                clients.remove(first).hung_up();
            }
            clients.push(Arc::clone(&client));
        }
        let mut response = post::answer(self, &client, request, way, owed).await;
        if let Ok(key) = client.key.parse() {
            response.headers_mut().insert(SESSION, key);
        }
        response
    }

    #[expect(clippy::result_large_err, reason = "the error is the response itself, made once")]
    fn client(&self, headers: &HeaderMap) -> Result<Arc<Client>, Response> {
        if let Some(version) = headers.get(&VERSION)
            && !version.to_str().is_ok_and(|v| VERSIONS.contains(&v) || v == "2025-03-26")
        {
            return Err(bad("the MCP-Protocol-Version header names a version that is not spoken here"));
        }
        let key = headers.get(&SESSION).and_then(|v| v.to_str().ok());
        let Some(key) = key else {
            return Err(bad("the Mcp-Session-Id header is missing: send initialize first"));
        };
        let found = self.hub.clients().into_iter().find(|c| c.key == key);
        found.ok_or_else(|| {
            refuse(
                StatusCode::NOT_FOUND,
                &Fault::invalid_request("there is no such session: send initialize again"),
            )
        })
    }

    fn listen(self: &Arc<Self>, headers: &HeaderMap, owed: Owed) -> Response {
        let client = match self.client(headers) {
            Ok(client) => client,
            Err(response) => return response,
        };
        let last = headers.get(LAST_EVENT).and_then(|id| id.to_str().ok());
        if let Some(id) = last.and_then(|id| StreamId::read(&client.key, id)) {
            return match self.broken.take(&id) {
                Some(serving) => post::go_on(serving, id, owed),
                None => {
                    bad("that stream is over; make the call again, and its result is given if it was kept")
                }
            };
        }
        let Some(inbox) = client.take_inbox() else {
            let fault = Fault::invalid_request("this session has a stream already");
            return refuse(StatusCode::CONFLICT, &fault);
        };
        let held = Inbox { client, inbox: Some(inbox) };
        let closing = self.closing.clone();
        let first = futures_util::stream::once(async { Ok::<_, std::convert::Infallible>(comment()) });
        let rest = futures_util::stream::unfold((held, closing), |(mut held, closing)| async move {
            let text = tokio::select! {
                text = held.inbox.as_mut()?.recv() => event(&text?),
                () = tokio::time::sleep(KEEP_ALIVE) => comment(),
                () = closing.cancelled() => return None,
            };
            Some((Ok(text), (held, closing)))
        });
        event_stream(Body::from_stream(first.chain(rest)))
    }

    fn leave(&self, headers: &HeaderMap) -> Response {
        match self.client(headers) {
            Err(response) => response,
            Ok(client) => {
                lock(&self.hub.clients).retain(|c| !Arc::ptr_eq(c, &client));
                client.hung_up();
                StatusCode::NO_CONTENT.into_response()
            }
        }
    }
}

/// Gives the queue back when its stream ends, so that the next stream goes on with it.
struct Inbox {
    client: Arc<Client>,
    inbox: Option<mpsc::Receiver<String>>,
}

impl Drop for Inbox {
    fn drop(&mut self) {
        if let Some(inbox) = self.inbox.take() {
            self.client.return_inbox(inbox);
        }
    }
}

fn is_ours(method: &str) -> bool {
    ["tools/", "resources/", "prompts/", "completion/", "logging/"].iter().any(|p| method.starts_with(p))
}

pub(super) fn event(text: &str) -> Bytes {
    let mut event = String::with_capacity(text.len() + 24);
    event.push_str("event: message\ndata: ");
    event.push_str(text);
    event.push_str("\n\n");
    event.into()
}

pub(super) fn comment() -> Bytes {
    Bytes::from_static(b": still here\n\n")
}

pub(super) fn event_stream(body: Body) -> Response {
    let headers =
        [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache, no-transform")];
    (headers, body).into_response()
}
