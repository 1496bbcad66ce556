//! One request over POST: a JSON answer if that comes first, else a stream that ends with it.

use super::{
    Served, broken,
    http::{Front, KEEP_ALIVE, comment, event, event_stream},
    serve,
    wire::{Once, Owed},
};
use crate::{
    core::{
        Request,
        faults::{HEADER_MISMATCH, MISSING_CAPABILITY, NO_METHOD, UNSUPPORTED_VERSION},
    },
    hub::client::Client,
    upstream::ProgressSink,
};
use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use http::{StatusCode, header};
use std::{convert::Infallible, sync::Arc};
use tokio::{sync::mpsc, task::JoinHandle};
use tokio_util::sync::DropGuard;

/// Messages about one request that wait for a slow reader; those beyond are dropped.
const QUEUE: usize = 256;

/// A request that is being served, and what is said about it meanwhile.
struct Serving {
    front: Arc<Front>,
    task: JoinHandle<Served>,
    notes: mpsc::Receiver<String>,
    /// Tells the call that nobody waits any more when the response is dropped.
    _gone: DropGuard,
}

/// What came first.
enum Next {
    Note(String),
    Done(Served),
    Quiet,
    Closing,
}

impl Serving {
    async fn next(&mut self, quiet: std::time::Duration) -> Next {
        tokio::select! {
            biased;
            Some(note) = self.notes.recv() => Next::Note(note),
            done = &mut self.task => Next::Done(done.unwrap_or_else(|_| broken())),
            () = tokio::time::sleep(quiet) => Next::Quiet,
            () = self.front.closing.cancelled() => Next::Closing,
        }
    }
}

/// How an answer goes back.
#[derive(Clone, Copy)]
pub(super) struct Way {
    /// The client takes a stream.
    pub(super) streams: bool,
    /// It would rather have one than a JSON answer.
    pub(super) at_once: bool,
    /// It is of the new era, in which the status says what kind of error an answer is.
    pub(super) new: bool,
}

pub(super) async fn answer(
    front: &Arc<Front>,
    client: &Arc<Client>,
    request: Request,
    way: Way,
    owed: Owed,
) -> Response {
    let Way { streams, at_once, new } = way;
    let (tx, notes) = mpsc::channel(QUEUE);
    let owner = Arc::downgrade(client);
    let outlet: ProgressSink = Arc::new(move |text| match tx.try_send(text) {
        Ok(()) => true,
        // The reader of this request is gone or slow: the session's own stream may carry it.
        Err(mpsc::error::TrySendError::Closed(text)) => owner.upgrade().is_some_and(|c| c.tell(text)),
        Err(mpsc::error::TrySendError::Full(_)) => false,
    });
    let (task, gone) = serve(&front.hub, client, request, outlet);
    let mut serving = Serving { front: Arc::clone(front), task, notes, _gone: gone.drop_guard() };
    loop {
        match serving.next(front.hub.limits.quiet).await {
            Next::Done(served) if at_once && served.code.is_none() => return one_event(served, owed),
            Next::Done(served) => return json(served, owed, new),
            Next::Closing => return StatusCode::SERVICE_UNAVAILABLE.into_response(),
            Next::Note(note) if streams => return stream(serving, event(&note), owed),
            Next::Quiet if streams => return stream(serving, comment(), owed),
            Next::Note(note) => {
                client.tell(note);
            }
            Next::Quiet => {}
        }
    }
}

fn json(served: Served, owed: Owed, new: bool) -> Response {
    let status = if new { status(served.code) } else { StatusCode::OK };
    let body = Body::new(Once::new(served.text, served.receipt, owed));
    (status, [(header::CONTENT_TYPE, "application/json")], body).into_response()
}

/// What the new era says with its status of an error that is an answer.
pub(super) fn status(code: Option<i64>) -> StatusCode {
    match code {
        Some(NO_METHOD) => StatusCode::NOT_FOUND,
        Some(HEADER_MISMATCH | MISSING_CAPABILITY | UNSUPPORTED_VERSION) => StatusCode::BAD_REQUEST,
        Some(_) | None => StatusCode::OK,
    }
}

/// A stream that is over with its first event.
fn one_event(served: Served, owed: Owed) -> Response {
    let text = format!("event: message\ndata: {}\n\n", served.text);
    event_stream(Body::new(Once::new(text, served.receipt, owed)))
}

fn stream(serving: Serving, first: Bytes, owed: Owed) -> Response {
    let first = futures_util::stream::once(async { Ok::<_, Infallible>(first) });
    let rest = futures_util::stream::unfold(Some(serving), move |going| {
        let owed = owed.clone();
        async move {
            let mut serving = going?;
            match serving.next(KEEP_ALIVE).await {
                Next::Note(note) => Some((Ok(event(&note)), Some(serving))),
                Next::Quiet => Some((Ok(comment()), Some(serving))),
                Next::Closing => None,
                Next::Done(served) => {
                    owed.add(served.receipt);
                    Some((Ok(event(&served.text)), None))
                }
            }
        }
    });
    event_stream(Body::from_stream(futures_util::StreamExt::chain(first, rest)))
}
