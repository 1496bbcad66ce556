//! What an HTTP upstream's failures prove, and that nothing is ever sent again.

use crate::support::{Children, connection, evil, http, raw_http, rig, text, until};
use mate_bridge::Limits;
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

fn effects(log: &std::path::Path) -> usize {
    std::fs::read_to_string(log).unwrap_or_default().lines().filter(|l| l.contains(" effect ")).count()
}

#[tokio::test]
async fn g04_an_effect_that_answers_badly_happens_once_and_is_unknown() {
    for mode in ["404", "reset", "503", "401", "eofsse", "garbage", "cut", "wrongid"] {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("effects");
        let server = evil(mode, &log).await;
        let rig =
            rig(vec![connection("up", http(&server.url))], Children::default(), Limits::default()).await;
        let mut client = rig.client().await;
        let answer = client.call(1, "up__effect", &json!({ "key": "one" })).await;
        assert_eq!(answer["result"]["isError"], true, "{mode}: {answer}");
        assert!(text(&answer).contains("Do not repeat it"), "{mode}: {answer}");
        assert_eq!(rig.notes.outcomes(), ["unknown"], "{mode}");
        assert_eq!(effects(&log), 1, "{mode}");
        // The next call greets anew where that is needed, and works.
        let answer = client.call(2, "up__effect", &json!({ "key": "two" })).await;
        assert_eq!(text(&answer), "did two", "{mode}");
        assert_eq!((rig.notes.outcomes(), effects(&log)), (vec!["unknown", "answered"], 2), "{mode}");
        rig.bridge.shutdown(Duration::from_secs(1)).await;
    }
}

#[tokio::test]
async fn g05_a_refused_connection_is_proof_that_nothing_was_sent() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    drop(listener);
    let server = raw_http(|_| None).await;
    // Listed through one server, then called when the port is closed.
    let rig = rig(
        vec![connection("up", http(&url)), connection("ok", http(&server))],
        Children::default(),
        Limits::default(),
    )
    .await;
    let mut client = rig.client().await;
    let answer = client.call(1, "up__get", &json!({})).await;
    assert!(text(&answer).contains("no tool"), "an upstream that cannot be listed has no tools: {answer}");
    assert!(rig.notes.diagnostics.lock().unwrap().iter().any(|d| d.starts_with("up: it cannot be listed")));
    let listed = client.ask(2, "tools/list", &json!({})).await;
    let names: Vec<&str> =
        listed["result"]["tools"].as_array().unwrap().iter().filter_map(|t| t["name"].as_str()).collect();
    assert_eq!(names, ["agent_mate__report", "ok__get"], "a dead upstream does not hide the others");
}

#[tokio::test]
async fn g05_an_upstream_that_died_after_it_was_listed_gets_nothing() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let served = tokio::spawn(crate::support::serve_listener(listener));
    let rig = rig(
        vec![connection("up", http(&format!("http://{address}/mcp")))],
        Children::default(),
        Limits::default(),
    )
    .await;
    let mut client = rig.client().await;
    client.ask(1, "tools/list", &json!({})).await;
    served.abort();
    served.await.ok();
    let answer = client.call(2, "up__get", &json!({})).await;
    assert!(text(&answer).contains("was not sent"), "{answer}");
    assert_eq!(rig.notes.outcomes(), ["not_sent"]);
}

#[tokio::test]
async fn g05_a_kept_connection_that_the_upstream_closed_makes_no_call_unknown() {
    let (url, open) = crate::support::closing_http();
    let rig = rig(vec![connection("up", http(&url))], Children::default(), Limits::default()).await;
    let mut client = rig.client().await;
    client.ask(0, "tools/list", &json!({})).await;
    for n in 1..=30 {
        // Stands still until the other end is closed, so that nobody here has been told when the call comes.
        let closed = (0..20_000).any(|_| {
            std::thread::sleep(Duration::from_millis(1));
            open.load(std::sync::atomic::Ordering::SeqCst) == 0
        });
        assert!(closed, "the upstream closes its connections");
        let answer = client.call(n, "up__get", &json!({ "n": n })).await;
        assert_eq!(text(&answer), "ok", "{answer}");
    }
    assert_eq!(rig.notes.outcomes(), ["answered"; 30]);
}

#[tokio::test]
async fn a_malformed_answer_or_one_for_somebody_else_is_unknown() {
    for body in [
        "",
        "{",
        "[]",
        r#"{"jsonrpc":"2.0","id":999999,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}"#,
    ] {
        let url =
            raw_http(move |m| (m["method"] == "tools/call").then(|| ("application/json", body.to_owned())))
                .await;
        let rig = rig(vec![connection("up", http(&url))], Children::default(), Limits::default()).await;
        let answer = rig.client().await.call(1, "up__get", &json!({})).await;
        assert_eq!(rig.notes.outcomes(), ["unknown"], "{body}: {answer}");
    }
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_unknown_and_its_late_answer_is_evidence() {
    let (release, gate) = tokio::sync::watch::channel(false);
    let url = crate::support::slow_http(gate).await;
    let mut spec = connection("up", http(&url));
    spec.call_timeout = Some(Duration::from_secs(2));
    let rig = rig(vec![spec], Children::default(), Limits::default()).await;
    let mut client = rig.client().await;
    let answer = client.call(1, "up__get", &json!({ "slow": true })).await;
    assert!(text(&answer).contains("no answer came within 2 s"), "{answer}");
    assert_eq!(rig.notes.outcomes(), ["unknown"]);
    let answer = client.call(2, "up__get", &json!({ "slow": false })).await;
    assert_eq!(text(&answer), "fast", "the others go on");
    release.send(true).unwrap();
    until("the late answer reaches the gate", || !rig.notes.late.lock().unwrap().is_empty()).await;
    assert_eq!(rig.notes.late.lock().unwrap()[0].0, "op_1");
}

#[tokio::test]
async fn meta_tells_the_upstream_the_operation_and_the_rest_is_untouched() {
    let seen = Arc::new(std::sync::Mutex::new(Value::Null));
    let keep = Arc::clone(&seen);
    let url = raw_http(move |m| {
        if m["method"] == "tools/call" {
            *keep.lock().unwrap() = m["params"].clone();
        }
        (m["method"] == "tools/call").then(|| {
            ("application/json", format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{{}}}}", m["id"]))
        })
    })
    .await;
    let rig = rig(vec![connection("up", http(&url))], Children::default(), Limits::default()).await;
    let mut client = rig.client().await;
    let meta = json!({ "progressToken": "mine", "claudecode/toolUseId": "toolu_1", "other": { "x": [1] } });
    client
        .ask(
            1,
            "tools/call",
            &json!({ "name": "up__get", "arguments": { "n": 1.5 }, "extra": { "ttl": 1 }, "_meta": meta }),
        )
        .await;
    let params = seen.lock().unwrap().clone();
    let meta = &params["_meta"];
    assert_eq!(params["name"], "get");
    assert_eq!((&params["arguments"], &params["extra"]), (&json!({ "n": 1.5 }), &json!({ "ttl": 1 })));
    assert_eq!(
        (&meta["agent-mate/operation"], &meta["agent-mate/idempotencyKey"]),
        (&json!("op_1"), &json!("key_1"))
    );
    assert_eq!((&meta["claudecode/toolUseId"], &meta["other"]), (&json!("toolu_1"), &json!({ "x": [1] })));
    assert!(meta["traceparent"].as_str().unwrap().starts_with("00-") && meta["progressToken"].is_u64());
    assert_eq!(*rig.notes.call_ids.lock().unwrap(), [Some("toolu_1".to_owned())]);
}

#[tokio::test]
async fn shutdown_does_not_wait_for_an_upstream_that_never_answers() {
    let (_closed, gate) = tokio::sync::watch::channel(false);
    let url = crate::support::slow_http(gate).await;
    let rig = rig(vec![connection("up", http(&url))], Children::default(), Limits::default()).await;
    let mut client = rig.client().await;
    client.send(1, "tools/call", &json!({ "name": "up__get", "arguments": { "slow": true } })).await;
    until("the call is in flight", || rig.bridge.in_flight().len() == 1).await;
    client.ask(2, "ping", &json!({})).await;
    rig.bridge.shutdown(Duration::from_millis(300)).await;
    assert_eq!(rig.notes.outcomes(), ["unknown"]);
    assert!(rig.bridge.in_flight().is_empty());
}

#[tokio::test]
async fn a_stream_that_breaks_off_is_read_on_and_the_call_is_not_sent_again() {
    let calls = Arc::new(std::sync::atomic::AtomicU64::new(0));
    let url = crate::support::resuming_http(Arc::clone(&calls)).await;
    let rig = rig(vec![connection("up", http(&url))], Children::default(), Limits::default()).await;
    let answer = rig.client().await.call(1, "up__get", &json!({})).await;
    assert_eq!(text(&answer), "resumed after 7");
    assert_eq!(calls.load(std::sync::atomic::Ordering::Relaxed), 1);
    assert_eq!(rig.notes.outcomes(), ["answered"]);
}

/// An upstream that answers a call with this status and text, where `ID` stands for the call's id.
async fn with_status(status: u16, text: &'static str, new: bool) -> String {
    let handle = move |body: String| async move {
        let m: Value = serde_json::from_str(&body).unwrap();
        let json = [("content-type", "application/json")];
        let id = m["id"].to_string();
        if m["method"] == "tools/call" {
            let status = http::StatusCode::from_u16(status).unwrap();
            return (status, json, text.replace("ID", &id));
        }
        let result = match m["method"].as_str() {
            Some("server/discover") if new => {
                json!({ "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {} } })
                    .to_string()
            }
            _ => crate::support::standard(&m).unwrap_or_else(|| "{}".into()),
        };
        (http::StatusCode::OK, json, format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}"))
    };
    let app = axum::Router::new().route("/mcp", axum::routing::post(handle));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await });
    url
}

#[tokio::test]
async fn g05_an_upstreams_own_answer_to_this_very_call_counts_whatever_its_status() {
    let error = r#"{"jsonrpc":"2.0","id":ID,"error":{"code":-32602,"message":"bad"}}"#;
    let result = r#"{"jsonrpc":"2.0","id":ID,"result":{"content":[]}}"#;
    let another = r#"{"jsonrpc":"2.0","id":999999,"error":{"code":-32602,"message":"bad"}}"#;
    for new in [false, true] {
        for (status, text, outcome) in [
            (400, error, "rpc_error"),
            (404, error, "rpc_error"),
            (500, error, "rpc_error"),
            (201, result, "answered"),
            (202, "", "unknown"),
            (400, "bad request", "unknown"),
            (400, another, "unknown"),
            (500, result, "unknown"),
        ] {
            let url = with_status(status, text, new).await;
            let rig = rig(vec![connection("up", http(&url))], Children::default(), Limits::default()).await;
            let answer = rig.client().await.call(1, "up__get", &json!({})).await;
            assert_eq!(rig.notes.outcomes(), [outcome], "{status} {text} new: {new}: {answer}");
        }
    }
}
