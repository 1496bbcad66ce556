//! `subscriptions/listen`: a stream of the changes that a client of the new era wants to hear of.

use super::http::{CLIENTS, Front, KEEP_ALIVE, comment, event, event_stream};
use crate::{
    core::{Answer, Fault, Request, message},
    hub::{
        client::{Client, Filter},
        lock, subscribe,
    },
    upstream::ProgressSink,
};
use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use http::{StatusCode, header};
use std::{convert::Infallible, sync::Arc};
use tokio_util::sync::CancellationToken;

/// A client that only listens, until it is dropped.
struct Listening {
    front: Arc<Front>,
    client: Arc<Client>,
    inbox: tokio::sync::mpsc::Receiver<String>,
}

impl Drop for Listening {
    fn drop(&mut self) {
        lock(&self.front.hub.clients).retain(|client| !Arc::ptr_eq(client, &self.client));
    }
}

/// Opens the stream; its first message says what will be told.
pub(super) async fn over_http(front: &Arc<Front>, request: &Request) -> Response {
    let refused = |fault: Fault| {
        let text = message::write_response(Some(&request.id), &Answer::Error(fault));
        (StatusCode::OK, [(header::CONTENT_TYPE, "application/json")], text).into_response()
    };
    let filter = match Filter::read(request.params.as_deref(), request.id.clone()) {
        Ok(filter) => filter,
        Err(why) => return refused(Fault::invalid_params(&why)),
    };
    let filter = subscribe::agreed(&front.hub, filter).await;
    let client = Client::listening(filter);
    let Some(inbox) = client.take_inbox() else { return refused(Fault::internal("the stream is taken")) };
    {
        let mut clients = lock(&front.hub.clients);
        if clients.len() >= CLIENTS {
            drop(clients);
            return refused(Fault::internal("too many streams are open here already"));
        }
        clients.push(Arc::clone(&client));
    }
    let listening = Listening { front: Arc::clone(front), client, inbox };
    let closing = front.closing.clone();
    let first = listening.client.acknowledgement().map(|text| event(&text)).unwrap_or_else(comment);
    let first = futures_util::stream::once(async { Ok::<_, Infallible>(first) });
    let rest = futures_util::stream::unfold((listening, closing), |(mut listening, closing)| async move {
        let text = tokio::select! {
            text = listening.inbox.recv() => event(&text?),
            () = tokio::time::sleep(KEEP_ALIVE) => comment(),
            () = closing.cancelled() => return None,
        };
        Some((Ok(text), (listening, closing)))
    });
    event_stream(Body::from_stream(futures_util::StreamExt::chain(first, rest)))
}

/// The same over lines, until `gone`.
pub(super) async fn over_lines(
    hub: &Arc<crate::hub::Hub>,
    request: &Request,
    out: ProgressSink,
    gone: CancellationToken,
) -> Option<Fault> {
    let filter = match Filter::read(request.params.as_deref(), request.id.clone()) {
        Ok(filter) => filter,
        Err(why) => return Some(Fault::invalid_params(&why)),
    };
    let filter = subscribe::agreed(hub, filter).await;
    let client = Client::listening(filter);
    let mut inbox = client.take_inbox()?;
    {
        let mut clients = lock(&hub.clients);
        if clients.len() >= CLIENTS {
            return Some(Fault::internal("too many streams are open here already"));
        }
        clients.push(Arc::clone(&client));
    }
    if let Some(text) = client.acknowledgement() {
        out(text);
    }
    loop {
        let text = tokio::select! {
            text = inbox.recv() => text,
            () = gone.cancelled() => None,
        };
        let Some(text) = text else { break };
        out(text);
    }
    lock(&hub.clients).retain(|one| !Arc::ptr_eq(one, &client));
    None
}
