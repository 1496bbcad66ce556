//! One request over POST: a JSON answer if that comes first, else a stream that ends with it.

use super::{
    Served, body, broken, delivered,
    http::{Front, KEEP_ALIVE, comment, event, event_stream},
    serve,
};
use crate::{core::Request, hub::client::Client, upstream::ProgressSink};
use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use http::header;
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

pub(super) async fn answer(
    front: &Arc<Front>,
    client: &Arc<Client>,
    request: Request,
    streams: bool,
) -> Response {
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
            Next::Done(served) => return json(front, served),
            Next::Closing => return http::StatusCode::SERVICE_UNAVAILABLE.into_response(),
            Next::Note(note) if streams => return stream(serving, event(&note)),
            Next::Quiet if streams => return stream(serving, comment()),
            Next::Note(note) => {
                client.tell(note);
            }
            Next::Quiet => {}
        }
    }
}

fn json(front: &Arc<Front>, served: Served) -> Response {
    let tell = served.operation.map(|operation| {
        let hub = Arc::clone(&front.hub);
        Box::new(move || delivered(&hub, operation)) as Box<dyn FnOnce() + Send + Sync>
    });
    let body = Body::new(body::Once::new(served.text, tell));
    ([(header::CONTENT_TYPE, "application/json")], body).into_response()
}

/// Where a stream stands.
enum Step {
    Going(Serving),
    /// The answer was given to the transport; asked for more, it took it.
    Ended(Arc<Front>, Option<String>),
}

fn stream(serving: Serving, first: Bytes) -> Response {
    let first = futures_util::stream::once(async { Ok::<_, Infallible>(first) });
    let rest = futures_util::stream::unfold(Step::Going(serving), |step| async move {
        let mut serving = match step {
            Step::Going(serving) => serving,
            Step::Ended(front, operation) => {
                if let Some(operation) = operation {
                    delivered(&front.hub, operation);
                }
                return None;
            }
        };
        match serving.next(KEEP_ALIVE).await {
            Next::Note(note) => Some((Ok(event(&note)), Step::Going(serving))),
            Next::Quiet => Some((Ok(comment()), Step::Going(serving))),
            Next::Closing => None,
            Next::Done(served) => {
                let front = Arc::clone(&serving.front);
                Some((Ok(event(&served.text)), Step::Ended(front, served.operation)))
            }
        }
    });
    event_stream(Body::from_stream(futures_util::StreamExt::chain(first, rest)))
}
