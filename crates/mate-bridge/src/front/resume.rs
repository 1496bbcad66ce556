//! Streams of the old era that broke off before their answer: a client that comes back with the id of the stream hears the
//! rest, and nothing is done again. Whoever does not come back soon is taken for gone: the answer then has not reached it,
//! and the call made again is given it.

use super::post::Serving;
use crate::hub::lock;
use bytes::Bytes;
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

/// How long a client is told to wait before it comes back.
const RETRY: Duration = Duration::from_millis(500);
/// How long it is waited for.
const PATIENCE: Duration = Duration::from_secs(5);
/// Streams that are waited for at once; the one that broke first gives way.
const MOST: usize = 64;

/// Which stream of which client.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct StreamId {
    /// The client's session.
    pub(super) session: String,
    pub(super) number: u64,
}

impl StreamId {
    /// As a client names it.
    pub(super) fn read(session: &str, text: &str) -> Option<Self> {
        let number = text.strip_prefix("stream-")?.parse().ok()?;
        Some(Self { session: session.to_owned(), number })
    }

    /// The first event of the stream: by what it is asked for again, and when.
    pub(super) fn event(&self) -> Bytes {
        format!("id: stream-{}\nretry: {}\ndata: \n\n", self.number, RETRY.as_millis()).into()
    }
}

/// All that broke off.
#[derive(Default)]
pub(super) struct Broken(Mutex<Vec<(StreamId, Serving)>>);

impl Broken {
    /// Waits for the client of a stream.
    fn keep(self: &Arc<Self>, id: StreamId, serving: Serving) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let first = {
            let mut all = lock(&self.0);
            let first = (all.len() >= MOST).then(|| all.remove(0));
            all.push((id.clone(), serving));
            first
        };
        drop(first);
        let at = Arc::clone(self);
        runtime.spawn(async move {
            tokio::time::sleep(PATIENCE).await;
            drop(at.take(&id));
        });
    }

    /// The rest of a stream; none: it is over, or nobody waits for it any more.
    pub(super) fn take(&self, id: &StreamId) -> Option<Serving> {
        let mut all = lock(&self.0);
        let at = all.iter().position(|(known, _)| known == id)?;
        Some(all.remove(at).1)
    }
}

/// A request whose stream is being sent; dropped before its answer, the stream broke off.
pub(super) struct Sending {
    serving: Option<Serving>,
    /// None: it cannot be asked for again.
    id: Option<(StreamId, Arc<Broken>)>,
}

impl Sending {
    pub(super) const fn new(serving: Serving, id: Option<(StreamId, Arc<Broken>)>) -> Self {
        Self { serving: Some(serving), id }
    }

    pub(super) const fn serving(&mut self) -> Option<&mut Serving> {
        self.serving.as_mut()
    }

    /// There is nothing more to come.
    pub(super) fn over(mut self) {
        self.serving = None;
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        if let (Some(mut serving), Some((id, broken))) = (self.serving.take(), self.id.take()) {
            serving.nobody_waits();
            broken.keep(id, serving);
        }
    }
}
