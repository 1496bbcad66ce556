//! One request over POST: a JSON answer if that comes first, else a stream that ends with it.

use super::{
    Served, broken,
    http::{Front, KEEP_ALIVE, comment, event, event_stream},
    resume::{Sending, StreamId},
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
pub(super) struct Serving {
    front: Arc<Front>,
    task: JoinHandle<Served>,
    notes: mpsc::Receiver<String>,
    /// Tells the call that nobody waits any more when the response is dropped.
    gone: Option<DropGuard>,
}

/// What came first.
enum Next {
    Note(String),
    Done(Served),
    Quiet,
    Closing,
}

impl Serving {
    /// The response was dropped.
    pub(super) fn nobody_waits(&mut self) {
        self.gone = None;
    }

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
    /// It comes back for a stream that broke off (since 2025-11-25, and no more in the new era).
    pub(super) resumes: bool,
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
    let Way { streams, at_once, resumes, new } = way;
    let (tx, notes) = mpsc::channel(QUEUE);
    let owner = Arc::downgrade(client);
    let outlet: ProgressSink = Arc::new(move |text| match tx.try_send(text) {
        Ok(()) => true,
        // The reader of this request is gone or slow: the session's own stream may carry it.
        Err(mpsc::error::TrySendError::Closed(text)) => owner.upgrade().is_some_and(|c| c.tell(text)),
        Err(mpsc::error::TrySendError::Full(_)) => false,
    });
    let (task, gone) = serve(&front.hub, client, request, outlet);
    let serving = Serving { front: Arc::clone(front), task, notes, gone: Some(gone.drop_guard()) };
    let id = || resumes.then(|| StreamId { session: client.key.clone(), number: front.hub.next_id() });
    if at_once && resumes {
        return stream(serving, None, id(), owed);
    }
    let mut serving = serving;
    loop {
        match serving.next(front.hub.limits.quiet).await {
            Next::Done(served) if at_once && served.code.is_none() => return one_event(served, owed),
            Next::Done(served) => return json(served, owed, new),
            Next::Closing => return StatusCode::SERVICE_UNAVAILABLE.into_response(),
            Next::Note(note) if streams => return stream(serving, Some(event(&note)), id(), owed),
            Next::Quiet if streams => return stream(serving, Some(comment()), id(), owed),
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

/// The rest of a stream that broke off.
pub(super) fn go_on(serving: Serving, id: StreamId, owed: Owed) -> Response {
    stream(serving, None, Some(id), owed)
}

fn stream(serving: Serving, first: Option<Bytes>, id: Option<StreamId>, owed: Owed) -> Response {
    let begins = id.as_ref().map(StreamId::event).into_iter().chain(first);
    let begins = futures_util::stream::iter(begins.map(Ok::<_, Infallible>));
    let broken = Arc::clone(&serving.front.broken);
    let sending = Sending::new(serving, id.map(|id| (id, broken)));
    let rest = futures_util::stream::unfold(Some(sending), move |going| {
        let owed = owed.clone();
        async move {
            let mut sending = going?;
            match sending.serving()?.next(KEEP_ALIVE).await {
                Next::Note(note) => Some((Ok(event(&note)), Some(sending))),
                Next::Quiet => Some((Ok(comment()), Some(sending))),
                Next::Closing => {
                    sending.over();
                    None
                }
                Next::Done(served) => {
                    sending.over();
                    owed.add(served.receipt);
                    Some((Ok(event(&served.text)), None))
                }
            }
        }
    });
    event_stream(Body::from_stream(futures_util::StreamExt::chain(begins, rest)))
}
