//! An HTTP upstream of the era without sessions: it is asked whether it is one, each request says in headers what it says
//! in its body, and what is told unasked comes on a stream of its own.

use super::{
    End, Hello, Outgoing,
    dress::dress,
    http::{Session, Wire},
    http_answer,
};
use crate::core::{Answer, Fault, bounded, era::NEW, faults::UNSUPPORTED_VERSION, message, mirrored, raw};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use mate_http::Failed;
use serde_json::{Value, json, value::RawValue};
use std::{sync::Arc, time::Duration};

const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
/// The ids of the question whether it speaks without sessions, and of the requests by which it is listened to.
const DISCOVER: u64 = (1 << 53) - 1;
const DISCOVER_AGAIN: u64 = (1 << 53) - 2;
const LISTEN: u64 = (1 << 53) - 3;
/// How long it may take to say what it speaks before it is greeted instead.
const PROBE: Duration = Duration::from_secs(10);
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// Streams in a row that end before they have told anything.
const SILENT: u32 = 5;

/// The headers that say what a request's body says.
pub(super) fn headers(outgoing: &Outgoing, params: &RawValue) -> HeaderMap {
    let mut headers = of(outgoing.method, params);
    for (name, value) in &outgoing.mirrored {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            headers.insert(name, value);
        }
    }
    headers
}

pub(super) fn of(method: &'static str, params: &RawValue) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(VERSION, HeaderValue::from_static(NEW));
    headers.insert(METHOD, HeaderValue::from_static(method));
    let name = mirrored::name(method, params).and_then(|name| HeaderValue::try_from(name).ok());
    if let Some(name) = name {
        headers.insert(NAME, name);
    }
    headers
}

impl Wire {
    /// Asks whether the upstream speaks without sessions. None: it does not, or says nothing that can be understood.
    pub(super) async fn discover(&self) -> Result<Option<Arc<Session>>, String> {
        match tokio::time::timeout(PROBE, self.ask()).await {
            Ok(answer) => answer,
            Err(_) => {
                self.inbound.diagnostic("it does not say whether it speaks without sessions");
                self.client.forget();
                Ok(None)
            }
        }
    }

    /// One that refuses the version and names it among those that it speaks is asked once more.
    async fn ask(&self) -> Result<Option<Arc<Session>>, String> {
        for id in [DISCOVER, DISCOVER_AGAIN] {
            match self.ask_once(id).await? {
                Some(Answer::Result(result)) => {
                    return Ok(Hello::discovered(&result).ok().map(|hello| Session::new(None, hello)));
                }
                Some(Answer::Error(fault)) if names_the_era(&fault) => {}
                Some(Answer::Error(_)) | None => break,
            }
        }
        Ok(None)
    }

    /// What it answers, if that can be understood.
    async fn ask_once(&self, id: u64) -> Result<Option<Answer>, String> {
        let method = "server/discover";
        let params = dress(&raw(&json!({})), true);
        let body = message::write_request(id, method, &params);
        let response = match self.post(None, of(method, &params), body, || true).await {
            Ok(response) => response,
            Err(failed @ (Failed::NotSent(_) | Failed::CalledOff)) => {
                return Err(format!("it cannot be reached: {failed}"));
            }
            // Some that do not know the question hang up.
            Err(Failed::Unknown(_)) => {
                self.client.forget();
                return Ok(None);
            }
        };
        if response.status() != StatusCode::OK && response.status() != StatusCode::BAD_REQUEST {
            // It is not read to its end: the connection is not used again.
            self.client.forget();
            return Ok(None);
        }
        match http_answer::of_status(self, id, false, response).await {
            End::Answer(answer) => Ok(Some(answer)),
            End::NotSent(_) | End::Unknown(_) => Ok(None),
        }
    }
}

/// Whether a server that refused the version says that it speaks it.
fn names_the_era(fault: &Fault) -> bool {
    let Ok(fault) = serde_json::from_str::<Value>(fault.0.get()) else { return false };
    let supported = fault["data"]["supported"].as_array();
    fault["code"] == UNSUPPORTED_VERSION
        && supported.is_some_and(|versions| versions.iter().any(|version| version == NEW))
}

/// Hears what the upstream tells unasked, for as long as the session lasts.
pub(super) async fn listen(wire: Wire, session: Arc<Session>) {
    let mut watched = session.watched.subscribe();
    let (mut id, mut pause, mut silent) = (LISTEN, SHORTEST_PAUSE, 0);
    loop {
        let uris = watched.borrow_and_update().clone();
        let heard = match session.hello.wishes(&uris) {
            None => {
                tokio::select! {
                    changed = watched.changed() => if changed.is_err() { return },
                    () = session.over.cancelled() => return,
                }
                continue;
            }
            Some(wish) => tokio::select! {
                heard = once(&wire, id, &wish) => heard,
                changed = watched.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    id -= 1;
                    continue;
                }
                () = session.over.cancelled() => return,
            },
        };
        id -= 1;
        (pause, silent) =
            if heard { (SHORTEST_PAUSE, 0) } else { ((pause * 2).min(LONGEST_PAUSE), silent + 1) };
        if silent >= SILENT {
            return wire
                .inbound
                .diagnostic("it does not tell of changes any more; what it offers may be older than it is");
        }
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = session.over.cancelled() => return,
        }
    }
}

/// One stream, until it ends. Whether anything was heard on it.
async fn once(wire: &Wire, id: u64, wish: &RawValue) -> bool {
    let method = "subscriptions/listen";
    let params = dress(wish, true);
    let body = message::write_request(id, method, &params);
    let Ok(response) = wire.post(None, of(method, &params), body, || true).await else { return false };
    if response.status() != StatusCode::OK {
        let status = response.status().as_u16();
        wire.inbound.diagnostic(bounded(&format!("it does not take {method}: HTTP {status}")));
        return false;
    }
    http_answer::hear(wire, id, response).await
}
