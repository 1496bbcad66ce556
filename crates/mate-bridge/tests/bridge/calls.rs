//! What the bridge itself refuses, what it tells the agent, and its own tool.

use crate::support::{Children, connection, rig, scripted, task_upstream, text};
use mate_bridge::Limits;
use serde_json::{Value, json};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

fn strict(calls: Arc<AtomicU64>) -> impl Fn(&Value) -> Option<String> {
    move |m| {
        match m["method"].as_str()? {
        "tools/list" => Some(
            json!({ "tools": [
                { "name": "get", "inputSchema": { "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"], "additionalProperties": false } },
                { "name": "odd", "inputSchema": { "type": "object", "$ref": "http://127.0.0.1:9/schema.json" } },
            ] })
            .to_string(),
        ),
        "tools/call" => {
            calls.fetch_add(1, Ordering::Relaxed);
            Some(r#"{"content":[{"type":"text","text":"ok"}]}"#.into())
        }
        _ => None,
    }
    }
}

#[tokio::test]
async fn g03_nothing_goes_out_for_a_call_that_is_refused() {
    let calls = Arc::new(AtomicU64::new(0));
    let children = Children::task(scripted(strict(Arc::clone(&calls))));
    let rig = rig(vec![connection("up", task_upstream())], children, Limits::default()).await;
    let mut client = rig.client().await;
    for (id, (tool, arguments, words)) in [
        ("up__get", json!({}), "\"n\" is a required property"),
        ("up__get", json!({ "n": "x" }), "arguments/n"),
        ("up__get", json!({ "n": 1, "m": 2 }), "'m' was unexpected"),
        ("up__get", json!([1]), "must be an object"),
        ("up__none", json!({}), "There is no tool"),
        ("up__odd", json!(7), "must be an object"),
    ]
    .into_iter()
    .enumerate()
    {
        let answer = client.call(id as u64 + 1, tool, &arguments).await;
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        assert!(text(&answer).contains(words) && text(&answer).contains("Nothing was done"), "{answer}");
    }
    client.write(r#"{"jsonrpc":"2.0","id":50,"method":"tools/call","params":{"name":"up__get","arguments":{"n":1,"n":2}}}"#).await;
    assert!(text(&client.answer(50).await).contains("occurs twice"));
    client
        .write(
            r#"{"jsonrpc":"2.0","id":51,"method":"tools/call","params":{"name":"up__get","name":"up__odd"}}"#,
        )
        .await;
    assert_eq!(client.answer(51).await["error"]["code"], -32602);
    rig.notes.denied.lock().unwrap().insert("get".into());
    let answer = client.call(60, "up__get", &json!({ "n": 1 })).await;
    assert!(text(&answer).contains("not granted"), "{answer}");
    assert_eq!(calls.load(Ordering::Relaxed), 0);
    assert_eq!(rig.notes.refused.lock().unwrap().len(), 8);
    assert!(rig.notes.settled.lock().unwrap().is_empty());
    assert_eq!(
        text(&client.call(61, "up__odd", &json!({ "free": 1 })).await),
        "ok",
        "an unusable schema is noted"
    );
    assert!(rig.notes.diagnostics.lock().unwrap().iter().any(|d| d.contains("were not checked")));
}

#[tokio::test]
async fn an_outcome_that_cannot_be_recorded_is_not_shown_as_an_answer() {
    let rig = rig(
        vec![connection("up", task_upstream())],
        Children::task(scripted(strict(Arc::default()))),
        Limits::default(),
    )
    .await;
    *rig.notes.unrecordable.lock().unwrap() = true;
    let answer = rig.client().await.call(1, "up__get", &json!({ "n": 1 })).await;
    assert!(text(&answer).contains("could not be recorded: the disk is full"), "{answer}");
    assert_eq!(answer["result"]["isError"], true);
}

#[tokio::test]
async fn grants_decide_what_is_listed_and_a_change_is_announced() {
    let rig = rig(
        vec![connection("up", task_upstream())],
        Children::task(scripted(strict(Arc::default()))),
        Limits::default(),
    )
    .await;
    let mut client = rig.client().await;
    let listed = client.ask(1, "tools/list", &json!({})).await;
    let tools = listed["result"]["tools"].as_array().unwrap();
    let names: Vec<_> = tools.iter().map(|t| t["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["agent_mate__report", "up__get", "up__odd"]);
    assert!(tools.iter().all(|t| t["_meta"]["anthropic/alwaysLoad"] == true));
    assert_eq!(rig.notes.listed.load(Ordering::Relaxed), 1);
    rig.notes.denied.lock().unwrap().insert("get".into());
    rig.bridge.refresh();
    assert!(client.read().await.contains("notifications/tools/list_changed"));
    let listed = client.ask(2, "tools/list", &json!({})).await;
    assert_eq!(listed["result"]["tools"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_report_is_checked_and_reaches_the_gate() {
    let rig = rig(vec![], Children::default(), Limits::default()).await;
    let mut client = rig.client().await;
    let bad = client.call(1, "agent_mate__report", &json!({ "status": "great", "summary": "x" })).await;
    assert_eq!(bad["result"]["isError"], true);
    let good =
        client.call(2, "agent_mate__report", &json!({ "status": "done", "summary": "all of it" })).await;
    assert_eq!(text(&good), "Noted.");
    assert_eq!(*rig.notes.reports.lock().unwrap(), [r#"{"status":"done","summary":"all of it"}"#]);
}

#[tokio::test]
async fn lists_are_paged_and_every_page_can_be_asked_for() {
    let many = |m: &Value| {
        if m["method"] != "tools/list" {
            return None;
        }
        let from: usize = m["params"]["cursor"].as_str().map_or(0, |c| c.parse().unwrap());
        let tools: Vec<_> =
            (from..from + 100).map(|n| json!({ "name": format!("t{n}"), "inputSchema": {} })).collect();
        Some(json!({ "tools": tools, "nextCursor": (from + 100).to_string() }).to_string())
    };
    let rig =
        rig(vec![connection("up", task_upstream())], Children::task(scripted(many)), Limits::default()).await;
    let mut client = rig.client().await;
    let (mut all, mut params) = (0, json!({}));
    for id in 1..10 {
        let page = client.ask(id, "tools/list", &params).await;
        all += page["result"]["tools"].as_array().unwrap().len();
        let Some(next) = page["result"]["nextCursor"].as_str() else { break };
        params = json!({ "cursor": next });
    }
    assert_eq!(all, 1001, "a thousand of the endless list, and ours");
    assert_eq!(client.ask(20, "tools/list", &json!({ "cursor": "99999" })).await["error"]["code"], -32602);
    assert!(rig.notes.diagnostics.lock().unwrap().iter().any(|d| d.contains("only the first 1000 items")));
}
