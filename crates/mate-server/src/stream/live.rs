//! A task's events, from a cursor on, as they come.

use super::frame::{self, HEARTBEAT, OPENING};
use crate::{
    ServerState,
    extract::Caller,
    problem::Problem,
    routes::{STREAM, position, view},
};
use axum::{body::Body, response::Response};
use bytes::{Bytes, BytesMut};
use futures_util::stream;
use http::{HeaderName, HeaderValue, header};
use mate_engine::{Cursor, EngineError, Verb};
use mate_model::{TaskId, task::TaskStateWord};
use mate_store::{Doorbell, ledger::LEDGER_BELL};
use serde_json::json;
use std::{convert::Infallible, time::Duration};
use tokio::sync::OwnedSemaphorePermit;

/// The most events in one chunk: what a slow reader makes the stream hold.
const CHUNK: u32 = 100;

/// The longest that an event waits to be seen when no bell rings.
const POLL: Duration = Duration::from_millis(250);

/// Without an event for this long, a heartbeat is sent; microseconds.
const SILENCE: i64 = 15_000_000;

/// How often in a row the stores may fail before the stream ends.
const PATIENCE: u32 = 40;

/// One open stream.
struct Live {
    state: ServerState,
    caller: Caller,
    task: TaskId,
    cursor: Cursor,
    until_end: bool,
    bell: Option<Doorbell>,
    spoke: i64,
    failures: u32,
    /// Sent before anything else.
    first: Option<BytesMut>,
    over: bool,
    _place: OwnedSemaphorePermit,
}

/// Opens a task's stream. A cursor that was never given out leads to a `reset` and the whole history.
pub(crate) async fn open(
    state: &ServerState,
    caller: Caller,
    task: TaskId,
    after: Option<String>,
    until_end: bool,
) -> Result<Response, Problem> {
    let place = state.streams.clone().try_acquire_owned().map_err(|_| too_many())?;
    state.engine.task_for(&caller.who, task, Verb::TaskEvents).await?;
    let mut first = BytesMut::from(OPENING);
    let mut cursor = Cursor::default();
    if let Some(text) = after {
        let read = position(&text).ok();
        match read {
            Some(known) if !state.engine.is_ahead(&caller.who, task, known).await? => cursor = known,
            Some(_) | None => {
                let start = crate::cursor::encode(STREAM, &cursor.to_string());
                let why = json!({ "why": "the cursor was not given out by this stream: what follows is all of it" });
                frame::put(&mut first, Some("reset"), Some(&start), &why);
            }
        }
    }
    let bell = state.engine.ledger.database().listen(LEDGER_BELL).await.ok();
    let live = Live {
        spoke: state.engine.clock.monotonic(),
        state: state.clone(),
        caller,
        task,
        cursor,
        until_end,
        bell,
        failures: 0,
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
        if let Some(first) = self.first.take() {
            return Some(first.freeze());
        }
        while !self.over && !self.state.shutdown.is_cancelled() {
            match self.read().await {
                Ok(Some(chunk)) => {
                    self.failures = 0;
                    self.spoke = self.state.engine.clock.monotonic();
                    return Some(chunk);
                }
                Ok(None) => self.failures = 0,
                Err(error) => {
                    if let Some(chunk) = self.fail(error) {
                        return Some(chunk);
                    }
                }
            }
            if self.state.engine.clock.monotonic() - self.spoke >= SILENCE {
                self.spoke = self.state.engine.clock.monotonic();
                return Some(Bytes::from_static(HEARTBEAT.as_bytes()));
            }
            self.wait().await;
        }
        None
    }

    /// What is there after the cursor. The caller is judged each time: a revoked token ends the stream.
    async fn read(&mut self) -> Result<Option<Bytes>, EngineError> {
        let engine = &self.state.engine;
        let who = engine.authenticate(&self.caller.bearer).await?;
        // Read before the events: what a task's end wrote is then there to be seen.
        let state = engine.task_for(&who, self.task, Verb::TaskEvents).await?.state.word();
        let page = engine.task_events(&who, self.task, self.cursor, CHUNK).await?;
        let mut buffer = BytesMut::new();
        for event in &page.items {
            let shown = view(event);
            frame::put(&mut buffer, None, shown["id"].as_str(), &shown);
        }
        self.cursor = page.next.parse()?;
        let ended = state.is_final() || state == TaskStateWord::Unknown;
        if self.until_end && ended && !page.more {
            frame::put(&mut buffer, Some("end"), None, &json!({ "state": state }));
            self.over = true;
        }
        Ok((!buffer.is_empty()).then(|| buffer.freeze()))
    }

    /// Ends the stream with a word of why, or lets a passing failure pass.
    fn fail(&mut self, error: EngineError) -> Option<Bytes> {
        self.failures += 1;
        if matches!(error, EngineError::Unavailable(_)) && self.failures < PATIENCE {
            return None;
        }
        self.over = true;
        // The caller may no longer see it.
        let closed = matches!(
            error,
            EngineError::NotAuthenticated | EngineError::NotAllowed { .. } | EngineError::NotFound
        );
        let name = if closed { "closed" } else { "problem" };
        let problem = Problem::from(error);
        let mut buffer = BytesMut::new();
        frame::put(&mut buffer, Some(name), None, &problem);
        Some(buffer.freeze())
    }

    async fn wait(&mut self) {
        let pause = async {
            match &mut self.bell {
                Some(bell) => {
                    bell.wait(POLL).await;
                }
                None => tokio::time::sleep(POLL).await,
            }
        };
        tokio::select! { () = pause => {}, () = self.state.shutdown.cancelled() => {} }
    }
}
