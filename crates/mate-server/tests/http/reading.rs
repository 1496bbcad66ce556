//! Reads a live stream of events, frame by frame, with a bound on each wait.

use axum::{Router, body::Body};
use http::{Request, header};
use http_body_util::BodyExt;
use serde_json::Value;
use std::{collections::VecDeque, time::Duration};
use tower::ServiceExt;

/// How long anything may take before the test fails.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Frame {
    pub(crate) id: Option<String>,
    pub(crate) event: Option<String>,
    pub(crate) data: Value,
}

pub(crate) struct Stream {
    body: Body,
    text: String,
    frames: VecDeque<Frame>,
}

impl Stream {
    pub(crate) async fn open(router: &Router, request: Request<Body>) -> Self {
        let response = router.clone().oneshot(request).await.expect("an answer");
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()[header::CONTENT_TYPE], "text/event-stream");
        Self { body: response.into_body(), text: String::new(), frames: VecDeque::new() }
    }

    /// The next frame; none when the stream is over.
    async fn next(&mut self) -> Option<Frame> {
        loop {
            if let Some(frame) = self.frames.pop_front() {
                return Some(frame);
            }
            let chunk = tokio::time::timeout(PATIENCE, self.body.frame()).await.expect("in time")?;
            let bytes = chunk.expect("a chunk").into_data().expect("data");
            self.text.push_str(std::str::from_utf8(&bytes).expect("UTF-8"));
            while let Some((frame, rest)) = self.text.split_once("\n\n") {
                self.frames.extend(parse(frame));
                self.text = rest.to_owned();
            }
        }
    }

    /// The next `count` frames, or fewer if the stream is over.
    pub(crate) async fn take(&mut self, count: usize) -> Vec<Frame> {
        let mut frames = Vec::new();
        while frames.len() < count {
            match self.next().await {
                Some(frame) => frames.push(frame),
                None => break,
            }
        }
        frames
    }

    /// All that comes until the stream is over.
    pub(crate) async fn rest(&mut self) -> Vec<Frame> {
        self.take(usize::MAX >> 1).await
    }
}

/// A frame; none for comments and for what is about the connection only.
fn parse(text: &str) -> Option<Frame> {
    let (mut id, mut event, mut data) = (None, None, None);
    for line in text.split(['\n', '\r']) {
        match line.split_once(": ") {
            Some(("id", value)) => id = Some(value.to_owned()),
            Some(("event", value)) => event = Some(value.to_owned()),
            Some(("data", value)) => data = Some(serde_json::from_str(value).expect("JSON on one line")),
            Some(("retry", _)) => {}
            _ => assert!(line.starts_with(':'), "not a line of a stream: {line}"),
        }
    }
    data.map(|data| Frame { id, event, data })
}
