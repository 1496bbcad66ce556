//! Where a runtime comes in: Streamable HTTP on loopback, or lines over any stream.

mod guard;
mod headers;
pub(crate) mod http;
mod listen;
mod post;
pub(crate) mod relay;
mod resume;
pub(crate) mod stream;
mod wire;

use crate::{
    core::{Answer, Fault, Message, Request, era::Declared, faults, message},
    gate::Receipt,
    hub::{
        Hub,
        client::{Client, Replied},
        routes,
    },
    upstream::ProgressSink,
};
use std::sync::Arc;

/// Takes what needs no answer.
fn take(client: &Client, message: Message) -> Option<Request> {
    match message {
        Message::Request(request) => Some(request),
        Message::Notification(n) => {
            if n.method == "notifications/cancelled" {
                client.cancel(n.params.as_deref());
            }
            None
        }
        Message::Response(response) => {
            client.answered(response.id.as_ref(), response.answer);
            None
        }
    }
}

/// An answer as text, and what is to be handed over with it.
struct Served {
    text: String,
    receipt: Receipt,
    /// The error's code, if it is one.
    code: Option<i64>,
}

impl Served {
    fn of(id: Option<&crate::core::Id>, answer: &Answer, receipt: Receipt) -> Self {
        let code = match answer {
            Answer::Error(fault) => Some(faults::code(fault)),
            Answer::Result(_) => None,
        };
        Self { text: message::write_response(id, answer), receipt, code }
    }
}

/// Serves one request in a task of its own: dropping the handle does not stop it.
fn serve(
    hub: &Arc<Hub>,
    client: &Arc<Client>,
    request: Request,
    outlet: ProgressSink,
) -> (tokio::task::JoinHandle<Served>, tokio_util::sync::CancellationToken) {
    let gone = tokio_util::sync::CancellationToken::new();
    let (hub, client, hung_up) = (Arc::clone(hub), Arc::clone(client), gone.clone());
    let task = tokio::spawn(async move {
        let refuse = |fault| Served::of(Some(&request.id), &Answer::Error(fault), Receipt::none());
        let declared = match Declared::read(request.params.as_deref()) {
            Ok(declared) => declared,
            Err(fault) => return refuse(fault),
        };
        let Some(caller) = client.begin(&request.id, outlet, hung_up, declared) else {
            return refuse(Fault::invalid_request("a request with this id is still being served"));
        };
        let Replied { answer, receipt } = routes::serve(&hub, &caller, &request).await;
        client.finish(&request.id);
        // Who has cancelled does not listen to the answer any more.
        let receipt = if caller.cancelled.is_cancelled() { Receipt::none() } else { receipt };
        Served::of(Some(&request.id), &answer, receipt)
    });
    (task, gone)
}

/// What is said if the task that serves a request came to grief.
fn broken() -> Served {
    let fault = Fault::internal(
        "Agent Mate failed while serving this request; if it was a call, its outcome is uncertain",
    );
    Served::of(None, &Answer::Error(fault), Receipt::none())
}
