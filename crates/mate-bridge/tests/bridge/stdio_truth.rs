//! What a child's death proves, and that it is started again only for a later call.

use crate::support::{Children, connection, count, probe, rig, text, until};
use mate_bridge::{Limits, StdioSpec, Transport};
use serde_json::json;
use std::{sync::Arc, time::Duration};

#[tokio::test]
async fn g04_a_child_killed_in_a_call_is_unknown_and_only_the_next_call_starts_it_again() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let children = Children::default();
    let pids = Arc::clone(&children.pids);
    let rig = rig(vec![connection("up", probe(&log, &[]))], children, Limits::default()).await;
    let mut client = rig.client().await;
    client
        .send(1, "tools/call", &json!({ "name": "up__slow", "arguments": { "seconds": 60, "key": "k" } }))
        .await;
    until("the call begins", || count(&log, "call_begin", "slow") == 1).await;
    let pid = pids.lock().unwrap()[0];
    std::process::Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap();
    let answer = client.answer(1).await;
    assert!(text(&answer).contains("Do not repeat it"), "{answer}");
    assert_eq!(rig.notes.outcomes(), ["unknown"]);
    assert_eq!(text(&client.call(2, "up__note", &json!({ "text": "x" })).await), "noted: x");
    assert_eq!(pids.lock().unwrap().len(), 2);
    assert_eq!((count(&log, "call_begin", "slow"), count(&log, "call_begin", "note")), (1, 1));
}

#[tokio::test]
async fn a_child_that_does_not_start_or_greet_is_proof_that_nothing_was_sent() {
    for (command, args) in [("/no/such/program", vec![]), ("true", vec![]), ("sleep", vec!["60".to_owned()])]
    {
        let stdio = StdioSpec { command: command.into(), args, env: vec![], cwd: None, live: None };
        let mut spec = connection("up", Transport::Stdio(stdio));
        spec.start_timeout = Some(Duration::from_millis(300));
        let rig = rig(vec![spec], Children::default(), Limits::default()).await;
        let names = rig.bridge.tool_names().await;
        assert_eq!(names, ["agent_mate__report"], "{command}");
        assert!(
            rig.notes.diagnostics.lock().unwrap().iter().any(|d| d.starts_with("up: it cannot be listed"))
        );
    }
}

#[tokio::test]
async fn fast_calls_pass_slow_ones_and_a_dropped_client_cancels_no_effect() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let rig = rig(
        vec![connection("up", probe(&log, &[("PROBE_HONOUR_CANCEL", "1")]))],
        Children::default(),
        Limits::default(),
    )
    .await;
    let mut client = rig.client().await;
    client
        .send(1, "tools/call", &json!({ "name": "up__slow", "arguments": { "seconds": 1.5, "key": "k" } }))
        .await;
    until("the slow call begins", || count(&log, "call_begin", "slow") == 1).await;
    assert_eq!(rig.bridge.in_flight().len(), 1);
    assert_eq!(text(&client.call(2, "up__note", &json!({ "text": "x" })).await), "noted: x");
    assert_eq!(rig.notes.outcomes(), ["answered"], "the slow one is still under way");
    drop(client);
    until("the effect ends though its caller hung up", || rig.notes.outcomes().len() == 2).await;
    assert_eq!(rig.notes.outcomes(), ["answered", "answered"]);
    assert_eq!((count(&log, "call_end", "slow"), count(&log, "notification", "cancelled")), (1, 0));
    assert_eq!(*rig.notes.delivered.lock().unwrap(), ["op_2"], "what nobody heard was not delivered");
}

#[tokio::test]
async fn an_explicit_cancel_is_passed_on_and_the_outcome_is_still_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let rig = rig(vec![connection("up", probe(&log, &[]))], Children::default(), Limits::default()).await;
    let mut client = rig.client().await;
    client
        .send(1, "tools/call", &json!({ "name": "up__slow", "arguments": { "seconds": 1, "key": "k" } }))
        .await;
    until("the slow call begins", || count(&log, "call_begin", "slow") == 1).await;
    client.write(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#).await;
    client
        .write(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"spurious"}}"#)
        .await;
    assert_eq!(text(&client.answer(1).await), "slow done: k");
    assert_eq!(rig.notes.outcomes(), ["answered"]);
    until("the upstream was told", || count(&log, "notification", "cancelled") == 1).await;
    assert!(rig.notes.delivered.lock().unwrap().is_empty(), "who cancelled does not listen any more");
}

#[tokio::test]
async fn shutdown_settles_what_is_in_flight_as_unknown_and_ends_the_child() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let children = Children::default();
    let pids = Arc::clone(&children.pids);
    let rig =
        rig(vec![connection("up", probe(&log, &[("PROBE_IGNORE_EOF", "1")]))], children, Limits::default())
            .await;
    let mut client = rig.client().await;
    client.send(1, "tools/call", &json!({ "name": "up__slow", "arguments": { "seconds": 60 } })).await;
    until("the call begins", || count(&log, "call_begin", "slow") == 1).await;
    rig.bridge.shutdown(Duration::from_millis(100)).await;
    until("it is settled", || rig.notes.outcomes() == ["unknown"]).await;
    let pid = pids.lock().unwrap()[0];
    until("the child is gone", || {
        std::fs::read_to_string(format!("/proc/{pid}/stat")).map_or(true, |s| s.contains(") Z "))
    })
    .await;
}

#[tokio::test]
async fn beyond_the_limit_a_call_is_not_sent() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let limits = Limits { in_flight: 1, ..Limits::default() };
    let rig = rig(vec![connection("up", probe(&log, &[]))], Children::default(), limits).await;
    let mut client = rig.client().await;
    client.send(1, "tools/call", &json!({ "name": "up__slow", "arguments": { "seconds": 1 } })).await;
    until("the slow call begins", || count(&log, "call_begin", "slow") == 1).await;
    let answer = client.call(2, "up__note", &json!({ "text": "x" })).await;
    assert!(text(&answer).contains("was not sent (1 calls"), "{answer}");
    client.answer(1).await;
    assert_eq!(rig.notes.outcomes(), ["not_sent", "answered"]);
    assert_eq!(count(&log, "call_begin", "note"), 0);
}
