//! Waiting for a task, across restarts of the coordinator.

use super::coordinator::{Asked, Fixture, Script};
use crate::cli::Exit;
use axum::{
    body::Body,
    http::{Response, header},
    response::IntoResponse,
};
use serde_json::json;
use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

/// A task of five events that ends as `end` says once `over` is set; its stream breaks off after two events.
fn task(end: &'static str, over: Arc<AtomicBool>) -> Script {
    let live = move |asked: &Asked| {
        let path = asked.line.strip_prefix("GET /api/v1/tasks/tsk_1")?;
        let ended = over.load(Ordering::SeqCst);
        if path.is_empty() {
            let state = if ended { end } else { "running" };
            return Some(json!({"id": "tsk_1", "state": state}).to_string().into_response());
        }
        let after: u32 = path
            .split_once("after=c")
            .map_or(0, |(_, rest)| rest.split('&').next().and_then(|n| n.parse().ok()).unwrap_or(0));
        let event = |n: u32| json!({"id": format!("c{n}"), "seq": n, "type": "agent.message", "data": {"text": format!("message {n}")}});
        if path.contains("limit=") {
            let items: Vec<_> = (after + 1..=5).take(2).map(event).collect();
            return Some(json!({"items": items, "next": "x", "more": false}).to_string().into_response());
        }
        let frames: String =
            (after + 1..=5).take(2).map(|n| format!("id: c{n}\ndata: {}\n\n", event(n))).collect();
        if after >= 2 {
            over.store(true, Ordering::SeqCst);
        }
        Some(
            Response::builder()
                .header(header::CONTENT_TYPE, "text/event-stream")
                .body(Body::from(frames))
                .expect("response"),
        )
    };
    Script { asked: Mutex::default(), answers: Mutex::new(VecDeque::new()), live: Some(Box::new(live)) }
}

#[tokio::test]
async fn g10_watching_tells_each_event_once_across_broken_streams() {
    let fixture = Fixture::new(task("completed", Arc::default()));
    fixture.listen();
    let (done, shown) = fixture.run(&["--json", "task", "watch", "tsk_1"]).await;
    assert_eq!(done, Ok(Exit::Done));
    let lines: Vec<serde_json::Value> =
        shown.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let told: Vec<_> = lines.iter().filter_map(|line| line["seq"].as_u64()).collect();
    assert_eq!(told, [1, 2, 3, 4, 5]);
    assert_eq!(lines.last().expect("the end")["task"]["state"], "completed");
}

#[tokio::test]
async fn waiting_ends_as_the_task_does() {
    for (end, exit) in [
        ("completed", Exit::Done),
        ("failed", Exit::TaskFailed),
        ("unknown", Exit::TaskUnknown),
        ("stopped", Exit::TaskStopped),
        ("rejected", Exit::TaskStopped),
    ] {
        let fixture = Fixture::new(task(end, Arc::default()));
        fixture.listen();
        let (done, shown) = fixture.run(&["task", "wait", "tsk_1"]).await;
        assert_eq!((done, shown), (Ok(exit), format!("Task tsk_1 is {end}\n")));
    }
}

#[tokio::test]
async fn g01_a_coordinator_that_comes_back_is_found_again() {
    let over = Arc::new(AtomicBool::new(false));
    let fixture = Fixture::new(task("completed", Arc::clone(&over)));
    let follow = async { fixture.run(&["task", "watch", "tsk_1"]).await };
    let comes_back = async {
        // The first look meets nobody.
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        fixture.listen();
    };
    let ((done, shown), _) = tokio::join!(follow, comes_back);
    assert_eq!(done, Ok(Exit::Done));
    assert_eq!(shown.matches("message").count(), 10, "five events of type agent.message: {shown}");
}

#[tokio::test]
async fn waiting_is_bounded_by_the_timeout() {
    let script = Script {
        asked: Mutex::default(),
        answers: Mutex::default(),
        live: Some(Box::new(|asked| {
            let stream = asked.line.contains("events");
            let body = if stream {
                Body::from_stream(futures_util::stream::pending::<Result<axum::body::Bytes, std::io::Error>>())
            } else {
                Body::from(r#"{"id":"tsk_1","state":"running"}"#)
            };
            Some(Response::new(body))
        })),
    };
    let fixture = Fixture::new(script);
    fixture.listen();
    let failure = fixture.run(&["task", "wait", "tsk_1", "--timeout", "1s"]).await.0.expect_err("goes on");
    assert_eq!(failure.exit, Exit::TimedOut);
}

#[tokio::test]
async fn stopping_waits_for_the_proof() {
    let fixture = Fixture::new(task("stopped", Arc::new(AtomicBool::new(true))));
    fixture
        .script
        .answers
        .lock()
        .expect("lock")
        .push_back((200, r#"{"id":"tsk_1","state":"stop_requested"}"#.to_owned()));
    fixture.listen();
    let (done, shown) = fixture.run(&["task", "stop", "tsk_1"]).await;
    assert_eq!((done, shown.as_str()), (Ok(Exit::Done), "Task tsk_1 is stopped\n"));
    assert_eq!(fixture.asked()[0].line, "POST /api/v1/tasks/tsk_1/stop");
}
