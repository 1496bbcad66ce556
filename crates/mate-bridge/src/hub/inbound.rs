//! An upstream's own words: answered here, passed on to the runtime, or taken as a hint to look again.

use super::{
    Flight, Hub,
    catalogue::{PROMPTS, RESOURCES, TOOLS},
    client::Client,
    held, lock,
    routes::route,
    verdict::RELATED,
};
use crate::{
    core::{Answer, Fault, Notification, Object, Request, era, message, raw},
    gate::Answering,
    upstream::{Inbound, ProgressSink},
};
use async_trait::async_trait;
use serde_json::{json, value::RawValue};
use std::{sync::Weak, time::Duration};

pub(super) struct Ear {
    pub(super) hub: Weak<Hub>,
    pub(super) conn: usize,
    /// It is told the workspace as its root.
    pub(super) roots: bool,
}

impl Hub {
    /// The flight that an upstream's message most likely belongs to: the named one, else the newest of the connection.
    fn flight(&self, conn: usize, origin: Option<u64>) -> Option<Flight> {
        let flights = lock(&self.flights);
        if let Some(flight) = origin.and_then(|id| flights.get(&id)).filter(|flight| flight.conn == conn) {
            return Some(flight.clone());
        }
        flights.iter().filter(|(_, f)| f.conn == conn).max_by_key(|(id, _)| **id).map(|(_, f)| f.clone())
    }

    /// The flight that a question is about: that of the task which it names, or the newest that may be of it, its name
    /// being on its way; else the likeliest.
    fn asked_about(&self, conn: usize, origin: Option<u64>, params: &RawValue) -> Option<Flight> {
        let related = || Object::parse(params).ok()?.object("_meta")?.object(RELATED)?.text("taskId");
        let Some(task) = related() else { return self.flight(conn, origin) };
        let flights = lock(&self.flights);
        let mine = || flights.iter().filter(|(_, flight)| flight.conn == conn);
        let its = mine().find(|(_, flight)| flight.task.as_deref() == Some(&task));
        let its =
            its.or_else(|| mine().filter(|(_, flight)| flight.task.is_none()).max_by_key(|(id, _)| **id));
        its.map(|(_, flight)| flight.clone())
    }

    /// Puts an upstream's question to whoever made the call that it is about. The answer is a further round of that call:
    /// it is judged and written down before the upstream hears it. What is asked outside of a call nobody answers.
    async fn elicit(&self, conn: usize, origin: Option<u64>, request: &Request) -> Answer {
        let params = request.params.clone().unwrap_or_else(|| raw(&json!({})));
        let Some(flight) = self.asked_about(conn, origin, &params) else { return decline() };
        let (bound, key) = (self.conns[conn].call_timeout, format!("question-{}", self.next_id()));
        if flight.declared.is_some() {
            return match &flight.events {
                Some(questions) => held::ask(questions, key, params, bound).await,
                None => decline(),
            };
        }
        match self.put(&flight.client, Some(&flight.outlet), params, bound).await {
            Ok(answer) if self.lets_out(&flight, &key).await => answer,
            Ok(_) => held::given_up(),
            Err(ours) => ours,
        }
    }

    /// Judges a runtime's answer to a question about a call in flight.
    async fn lets_out(&self, flight: &Flight, key: &str) -> bool {
        let (Some(operation), Some(call)) = (&flight.operation, &flight.call) else { return false };
        match self.gate.answer(operation, call, &[key.to_owned()]).await {
            Answering::Send { .. } => true,
            Answering::Before => false,
            Answering::Refuse { text } | Answering::NotNow { text } => {
                let name = &self.conns[flight.conn].name;
                self.gate.diagnostic(Some(name), &format!("its question was not answered: {text}"));
                false
            }
        }
    }

    /// Puts a question to a client that is asked while its request goes on. The error is an answer of our own.
    pub(super) async fn put(
        &self,
        client: &Client,
        outlet: Option<&ProgressSink>,
        params: Box<RawValue>,
        bound: Duration,
    ) -> Result<Answer, Answer> {
        if !client.can_elicit() {
            return Err(decline());
        }
        let id = self.next_id();
        let answer = client.expect(id);
        let text = message::write_request(id, "elicitation/create", &params);
        let sent = outlet.is_some_and(|outlet| outlet(text.clone())) || client.tell(text);
        if !sent {
            client.forget(id);
            return Err(decline());
        }
        match tokio::time::timeout(bound, answer).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(_)) | Err(_) => {
                client.forget(id);
                Err(held::given_up())
            }
        }
    }

    /// Whether what an upstream tells is its own to tell: not of a resource that another one serves.
    fn may_tell(&self, conn: usize, notification: &Notification) -> bool {
        if notification.method != "notifications/resources/updated" {
            return true;
        }
        let params = notification.params.as_deref().and_then(|params| Object::parse(params).ok());
        let uri = params.and_then(|params| params.text("uri"));
        uri.is_some_and(|uri| route(self, &uri).is_none_or(|serves| serves == conn))
    }

    pub(super) fn roots(&self) -> Answer {
        let roots: Vec<_> =
            self.workspace.iter().map(|path| json!({ "uri": file_uri(path), "name": "workspace" })).collect();
        Answer::Result(raw(&json!({ "roots": roots })))
    }

    /// Progress under the runtime's own token, to where it asked. Only the upstream that has the call may speak for it.
    fn progress(&self, conn: usize, notification: &Notification) {
        let Some(params) = notification.params.as_deref() else { return };
        let Ok(mut params) = Object::parse(params) else { return };
        let id = params.get("progressToken").and_then(|t| t.get().parse::<u64>().ok());
        let flight =
            id.and_then(|id| lock(&self.flights).get(&id).filter(|flight| flight.conn == conn).cloned());
        if let Some((flight, token)) = flight.and_then(|f| f.token.clone().map(|t| (f, t))) {
            params.set("progressToken", (*token).to_owned());
            (flight.outlet)(message::write_notification(&notification.method, Some(&params.to_raw())));
        }
    }
}

/// Nobody answers.
pub(super) fn decline() -> Answer {
    Answer::Result(raw(&json!({ "action": "decline" })))
}

/// Whether the runtime wants to hear a message of a log: in the new era each call says how grave it must be.
fn wants(flight: &Flight, params: Option<&RawValue>) -> bool {
    let Some(declared) = &flight.declared else { return true };
    let said = params.and_then(|params| Object::parse(params).ok()?.text("level"));
    declared
        .level
        .is_some_and(|least| said.and_then(|said| era::level(&said)).is_none_or(|said| said >= least))
}

fn file_uri(path: &std::path::Path) -> String {
    use std::{fmt::Write, os::unix::ffi::OsStrExt};
    let mut uri = String::from("file://");
    for byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(byte) {
            uri.push(char::from(*byte));
        } else {
            write!(uri, "%{byte:02X}").ok();
        }
    }
    uri
}

#[async_trait]
impl Inbound for Ear {
    async fn request(&self, origin: Option<u64>, request: &Request) -> Answer {
        let Some(hub) = self.hub.upgrade() else {
            return Answer::Error(Fault::internal("the session is ending"));
        };
        match request.method.as_str() {
            "ping" => Answer::Result(raw(&json!({}))),
            "roots/list" if self.roots => hub.roots(),
            "elicitation/create" => hub.elicit(self.conn, origin, request).await,
            "sampling/createMessage" => {
                Answer::Error(Fault::invalid_request("Agent Mate gives tools no access to a model"))
            }
            other => Answer::Error(Fault::no_method(other)),
        }
    }

    fn notification(&self, origin: Option<u64>, notification: Notification) {
        let Some(hub) = self.hub.upgrade() else { return };
        match notification.method.as_str() {
            "notifications/progress" => hub.progress(self.conn, &notification),
            TOOLS => hub.has_changed(self.conn, TOOLS),
            RESOURCES => hub.has_changed(self.conn, RESOURCES),
            PROMPTS => hub.has_changed(self.conn, PROMPTS),
            "notifications/message"
            | "notifications/resources/updated"
            | "notifications/elicitation/complete" => {
                if !hub.gate.connection_granted(&hub.conns[self.conn].name) {
                    return;
                }
                let text = message::write_notification(&notification.method, notification.params.as_deref());
                let about_a_call = notification.method == "notifications/message";
                if !hub.may_tell(self.conn, &notification) {
                    return;
                }
                match hub.flight(self.conn, origin).filter(|_| about_a_call) {
                    Some(flight) if !wants(&flight, notification.params.as_deref()) => {}
                    Some(flight) => {
                        (flight.outlet)(text);
                    }
                    None => hub.broadcast(&notification.method, notification.params.as_deref()),
                }
            }
            // `cancelled` of its own requests and whatever is new: nothing depends on it.
            _ => {}
        }
    }

    fn has_roots(&self) -> bool {
        self.roots
    }

    fn connected(&self) {
        let Some(hub) = self.hub.upgrade() else { return };
        let known = lock(&hub.conns[self.conn].listing).offer.is_some();
        if known {
            hub.want(self.conn, true);
        }
    }

    fn diagnostic(&self, text: &str) {
        let Some(hub) = self.hub.upgrade() else { return };
        hub.gate.diagnostic(Some(&hub.conns[self.conn].name), text);
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_path_becomes_a_uri_byte_by_byte() {
        assert_eq!(super::file_uri("/a b/ü%".as_ref()), "file:///a%20b/%C3%BC%25");
    }
}
