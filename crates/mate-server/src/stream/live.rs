//! An open stream: where it is in each of its logs, and what it tells next.

use super::{
    feed::Feed,
    frame::{self, HEARTBEAT, OPENING},
    leave::Leave,
    log::Log,
    merge::{Next, merge},
};
use crate::{ServerState, problem::Problem};
use axum::{body::Body, response::Response};
use bytes::{Bytes, BytesMut};
use futures_util::stream;
use http::{HeaderName, HeaderValue, header};
use mate_engine::EngineError;
use mate_model::{TaskId, task::TaskStateWord};
use serde::Serialize;
use serde_json::json;
use std::{convert::Infallible, sync::Arc, time::Duration};
use tokio::sync::{Notify, OwnedSemaphorePermit};

/// The most events in one chunk, of all logs together, and at least so many of each.
const CHUNK: usize = 50;
const LEAST: usize = 5;
/// How long a chunk may be that has more than one event; bytes. Who does not take what is sent makes the service hold
/// some chunks, and no more.
const LONG: usize = 16 << 10;

/// Without an event for this long, a heartbeat is sent; microseconds.
const SILENCE: i64 = 15_000_000;
/// How long is waited after a failure, and how often in a row the stores may fail before the stream ends.
const AGAIN: Duration = Duration::from_millis(250);
const PATIENCE: u32 = 40;

/// A log, and how far the stream is in it.
pub(super) struct Followed {
    pub(super) log: Log,
    /// The number of the last event that was told.
    pub(super) at: i64,
    /// Up to here there is nothing else to tell.
    through: i64,
    /// How many events are asked of the store at a time: few where they are long.
    few: u32,
    feed: Arc<Feed>,
}

/// Makes the cursor that resumes after what was told of each log.
pub(super) type Cursors = fn(&[Followed]) -> String;

/// What a stream is about.
pub(super) struct About {
    /// Each log, and the number after which it is told.
    pub(super) logs: Vec<(Log, i64)>,
    pub(super) leave: Leave,
    pub(super) cursors: Cursors,
    /// The task with whose end the stream ends.
    pub(super) until: Option<TaskId>,
    /// What goes before the events: the name of a frame, and what it says.
    pub(super) first: Option<(&'static str, serde_json::Value)>,
}

/// One open stream.
struct Live {
    state: ServerState,
    logs: Vec<Followed>,
    /// How many events of each log one chunk has room for.
    share: u32,
    leave: Leave,
    cursors: Cursors,
    until: Option<TaskId>,
    /// The task has ended: what is left is read from the store.
    ended: Option<TaskStateWord>,
    /// Whether something was told since the task was looked at.
    moved: bool,
    news: Arc<Notify>,
    failures: u32,
    /// When something was sent last, by the monotonic clock.
    spoke: i64,
    first: Option<BytesMut>,
    over: bool,
    _place: OwnedSemaphorePermit,
}

/// Opens a stream.
pub(super) fn open(state: &ServerState, about: About) -> Result<Response, Problem> {
    let place = state.streams.clone().try_acquire_owned().map_err(|_| too_many())?;
    let news = Arc::new(Notify::new());
    let share = u32::try_from((CHUNK / about.logs.len().max(1)).max(LEAST)).unwrap_or(u32::MAX);
    let follow = |(log, at)| {
        let feed = state.feeds.follow(log, &news, &state.engine, &state.shutdown);
        Followed { log, at, through: at, few: share, feed }
    };
    let logs: Vec<_> = about.logs.into_iter().map(follow).collect();
    let mut first = BytesMut::from(OPENING);
    if let Some((name, data)) = about.first {
        frame::put(&mut first, Some(name), Some(&(about.cursors)(&logs)), &data);
    }
    let live = Live {
        state: state.clone(),
        logs,
        share,
        leave: about.leave,
        cursors: about.cursors,
        until: about.until,
        ended: None,
        moved: true,
        news,
        failures: 0,
        spoke: state.engine.clock.monotonic(),
        first: Some(first),
        over: false,
        _place: place,
    };
    let chunks = stream::unfold(live, async |mut live| {
        let chunk = live.next().await?;
        Some((Ok::<Bytes, Infallible>(chunk), live))
    });
    let mut response = Response::new(Body::from_stream(chunks));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    Ok(response)
}

fn too_many() -> Problem {
    Problem::too_many(
        "too_many_streams",
        "Too many streams are open",
        "close one, or ask for pages of events instead",
        5,
    )
}

impl Live {
    /// The next chunk; none when the stream is over.
    async fn next(&mut self) -> Option<Bytes> {
        let chunk = self.chunk().await;
        self.spoke = self.state.engine.clock.monotonic();
        chunk
    }

    async fn chunk(&mut self) -> Option<Bytes> {
        if let Some(first) = self.first.take() {
            return Some(first.freeze());
        }
        while !self.over {
            if self.state.shutdown.is_cancelled() {
                return Some(self.last(
                    "shutdown",
                    &json!({ "why": "the service goes down: come back with the last `id`" }),
                ));
            }
            match self.read().await {
                Ok(Some(chunk)) => {
                    self.failures = 0;
                    return Some(chunk);
                }
                Ok(None) => self.failures = 0,
                Err(error) => {
                    if let Some(chunk) = self.fail(error) {
                        return Some(chunk);
                    }
                }
            }
            if !self.wait().await {
                self.moved = true;
                return Some(Bytes::from_static(HEARTBEAT.as_bytes()));
            }
        }
        None
    }

    /// What is there after the cursor, once it is sure that the reader may still hear it.
    async fn read(&mut self) -> Result<Option<Bytes>, EngineError> {
        loop {
            let (next, again, version) = self.gather().await?;
            self.leave.still(&self.state.engine, version).await?;
            if !next.is_empty() {
                return Ok(Some(self.tell(next)));
            }
            if again {
                continue;
            }
            if let Some(state) = self.ended {
                return Ok(Some(self.last("end", &json!({ "state": state }))));
            }
            self.ended = self.end().await?;
            if self.ended.is_none() {
                return Ok(None);
            }
        }
    }

    /// How the task ended with which the stream does; none while it has not.
    async fn end(&mut self) -> Result<Option<TaskStateWord>, EngineError> {
        let Some(task) = self.until.filter(|_| self.moved) else { return Ok(None) };
        self.moved = false;
        let task = self.state.engine.ledger.task(task).await?.ok_or(EngineError::NotFound)?;
        let state = task.state.word();
        Ok((state.is_final() || state == TaskStateWord::Unknown).then_some(state))
    }

    /// Some of what comes next in each log, in one order; whether to look again at once when that is nothing; and the
    /// authorisation version after all of it was read.
    async fn gather(&mut self) -> Result<(Vec<Next>, bool, i64), EngineError> {
        let (engine, feeds) = (Arc::clone(&self.state.engine), Arc::clone(&self.state.feeds));
        let (share, fresh, mut place) = (self.share, self.ended.is_some(), None);
        let (mut parts, mut again, mut version) = (Vec::with_capacity(self.logs.len()), false, Some(0));
        for followed in &mut self.logs {
            let at_hand = if fresh { None } else { followed.feed.at_hand(followed.through, share) };
            let heard = match at_hand {
                Some(heard) => heard,
                None => {
                    // How many read the store at a time is bounded, and so is what they hold.
                    if place.is_none() {
                        place = feeds.reads.acquire().await.ok();
                    }
                    let heard = followed.feed.stored(&engine, followed.through, followed.few, fresh).await?;
                    followed.few = heard.part.few(LONG).min(share);
                    heard
                }
            };
            version = version.zip(heard.version).map(|(one, other)| one.max(other));
            if heard.part.events.is_empty() {
                followed.through = followed.through.max(heard.part.through);
                again |= heard.part.more;
            }
            parts.push(heard.part);
        }
        let next = merge(parts, LONG);
        drop(place);
        let version = match version {
            Some(version) => version,
            None => engine.ledger.authorisation_version().await?,
        };
        Ok((next, again, version))
    }

    /// Writes events out, and remembers that they were told.
    fn tell(&mut self, next: Vec<Next>) -> Bytes {
        let mut buffer = BytesMut::new();
        for (log, told) in next {
            if let Some(followed) = self.logs.get_mut(log) {
                (followed.at, followed.through) = (told.seq, told.seq);
            }
            told.put(&mut buffer, &(self.cursors)(&self.logs));
        }
        self.moved = true;
        buffer.freeze()
    }

    /// The stream's last word.
    fn last(&mut self, name: &str, data: &impl Serialize) -> Bytes {
        self.over = true;
        let mut buffer = BytesMut::new();
        frame::put(&mut buffer, Some(name), None, data);
        buffer.freeze()
    }

    /// Ends the stream with a word of why, or lets a passing failure pass.
    fn fail(&mut self, error: EngineError) -> Option<Bytes> {
        self.failures += 1;
        if matches!(error, EngineError::Unavailable(_)) && self.failures < PATIENCE {
            return None;
        }
        // The reader may no longer see it.
        let closed = matches!(
            error,
            EngineError::NotAuthenticated | EngineError::NotAllowed { .. } | EngineError::NotFound
        );
        Some(self.last(if closed { "closed" } else { "problem" }, &Problem::from(error)))
    }

    /// Waits for news, or a while after a failure; false when nothing was sent for long.
    async fn wait(&mut self) -> bool {
        let left = self.spoke.saturating_add(SILENCE).saturating_sub(self.state.engine.clock.monotonic());
        let silence = Duration::from_micros(u64::try_from(left).unwrap_or(0));
        let news = async {
            if self.failures > 0 {
                tokio::time::sleep(AGAIN).await;
            } else {
                self.news.notified().await;
            }
        };
        tokio::select! {
            () = news => true,
            () = self.state.shutdown.cancelled() => true,
            () = tokio::time::sleep(silence) => false,
        }
    }
}
