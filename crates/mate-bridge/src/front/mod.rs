//! Where a runtime comes in: Streamable HTTP on loopback, or lines over any stream.

mod guard;
pub(crate) mod http;
mod post;
pub(crate) mod relay;
pub(crate) mod stream;
mod wire;

use crate::{
    core::{Answer, Fault, Message, Request, message},
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
        let Some(caller) = client.begin(&request.id, outlet, hung_up) else {
            let fault = Fault::invalid_request("a request with this id is still being served");
            return Served {
                text: message::write_response(Some(&request.id), &Answer::Error(fault)),
                receipt: Receipt::none(),
            };
        };
        let Replied { answer, receipt } = routes::serve(&hub, &caller, &request).await;
        client.finish(&request.id);
        // Who has cancelled does not listen to the answer any more.
        let receipt = if caller.cancelled.is_cancelled() { Receipt::none() } else { receipt };
        Served { text: message::write_response(Some(&request.id), &answer), receipt }
    });
    (task, gone)
}

/// What is said if the task that serves a request came to grief.
fn broken() -> Served {
    let fault = Fault::internal(
        "Agent Mate failed while serving this request; if it was a call, its outcome is uncertain",
    );
    Served { text: message::write_response(None, &Answer::Error(fault)), receipt: Receipt::none() }
}
