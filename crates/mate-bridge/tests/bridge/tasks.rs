//! Calls that the upstream carries out as tasks: named, written down, asked for, and passed on whole.

use crate::support::{Children, Rig, connection, rig, scripted, task_upstream, text, until};
use mate_bridge::{ConnectionSpec, Limits};
use serde_json::{Value, json};
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

const RESULT: &str = r#"{"content":[{"type":"text","text":"ok","odd":1.10}],"structuredContent":{"n":12345678901234567890.5},"x":null,"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t/1"}}}"#;

const REFUSED: &str = r#"error:{"code":-32000,"message":"it failed"}"#;
const OF_ANOTHER: &str =
    r#"{"content":[],"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t/2"}}}"#;

fn task(status: &str) -> String {
    let time = "2025-11-25T10:30:00Z";
    json!({ "taskId": "t/1", "status": status, "createdAt": time, "lastUpdatedAt": time, "ttl": null, "pollInterval": 1 })
        .to_string()
}

/// An upstream with tasks, and one tool that supports them so; `answer` is asked first.
async fn upstream(
    support: &'static str,
    answer: impl Fn(&Value) -> Option<String> + Send + Sync + 'static,
) -> (Rig, Arc<Mutex<Vec<Value>>>) {
    let heard: Arc<Mutex<Vec<Value>>> = Arc::default();
    let listening = Arc::clone(&heard);
    let server = move |message: &Value| {
        listening.lock().unwrap().push(message.clone());
        answer(message).or_else(|| match message["method"].as_str()? {
            "initialize" => Some(
                json!({ "protocolVersion": "2025-11-25", "serverInfo": { "name": "up", "version": "1" },
                        "capabilities": { "tools": {}, "tasks": { "cancel": {}, "requests": { "tools": { "call": {} } } } } })
                .to_string(),
            ),
            "tools/list" => Some(
                json!({ "tools": [{ "name": "get", "inputSchema": { "type": "object" },
                        "execution": { "taskSupport": support, "other": 1 } }] })
                .to_string(),
            ),
            "tools/call" => Some(format!(r#"{{"task":{}}}"#, task("working"))),
            "tasks/get" => Some(task("completed")),
            "tasks/result" => Some(RESULT.to_owned()),
            _ => None,
        })
    };
    let spec =
        ConnectionSpec { call_timeout: Some(Duration::from_secs(4)), ..connection("up", task_upstream()) };
    (rig(vec![spec], Children::task(scripted(server)), Limits::default()).await, heard)
}

fn of_method(heard: &Mutex<Vec<Value>>, method: &str) -> Vec<Value> {
    heard.lock().unwrap().iter().filter(|message| message["method"] == method).cloned().collect()
}

#[tokio::test]
async fn g05_a_task_is_named_then_asked_for_and_its_result_is_passed_on_as_it_is() {
    let asked = AtomicUsize::new(0);
    let (rig, heard) = upstream("required", move |message| {
        let first = message["method"] == "tasks/get" && asked.fetch_add(1, Ordering::SeqCst) == 0;
        first.then(|| task("working"))
    })
    .await;
    let mut client = rig.client().await;
    let listed = client.ask(1, "tools/list", &json!({})).await;
    let tools = listed["result"]["tools"].as_array().unwrap().clone();
    let get = tools.iter().find(|tool| tool["name"] == "up__get").unwrap();
    assert_eq!(get["execution"], json!({ "other": 1 }), "to the runtime it is an ordinary tool");
    client
        .send(2, "tools/call", &json!({ "name": "up__get", "arguments": { "a": 1 }, "task": { "ttl": 7 } }))
        .await;
    let answer = loop {
        let line = client.read().await;
        if serde_json::from_str::<Value>(&line).unwrap()["id"] == 2 {
            break line;
        }
    };
    assert!(answer.contains(RESULT), "byte for byte: {answer}");
    assert_eq!(rig.notes.outcomes(), ["answered"]);
    assert_eq!(*rig.notes.upstream_tasks.lock().unwrap(), [("op_1".to_owned(), "t/1".to_owned())]);
    let call = of_method(&heard, "tools/call");
    assert_eq!((call.len(), &call[0]["params"]["task"]), (1, &json!({ "ttl": 86_400_000 })));
    let ids = [of_method(&heard, "tasks/get"), of_method(&heard, "tasks/result")].concat();
    assert!(ids.len() == 3 && ids.iter().all(|ask| ask["params"] == json!({ "taskId": "t/1" })), "{ids:?}");
}

#[tokio::test]
async fn a_tool_that_forbids_tasks_is_called_without() {
    let (rig, heard) =
        upstream("forbidden", |message| (message["method"] == "tools/call").then(|| RESULT.to_owned())).await;
    let mut client = rig.client().await;
    client.ask(1, "tools/call", &json!({ "name": "up__get", "arguments": {}, "task": { "ttl": 7 } })).await;
    assert_eq!(rig.notes.outcomes(), ["answered"]);
    assert_eq!(of_method(&heard, "tools/call")[0]["params"].get("task"), None, "nor with the runtime's wish");
    assert!(rig.notes.upstream_tasks.lock().unwrap().is_empty());
}

#[tokio::test]
async fn g05_what_a_task_comes_to_is_what_its_record_proves() {
    let error = r#"{"content":[],"isError":true}"#;
    for (status, result, outcome) in [
        ("completed", RESULT, "answered"),
        ("completed", error, "error"),
        ("failed", error, "error"),
        ("failed", REFUSED, "rpc_error"),
        ("cancelled", REFUSED, "rpc_error"),
        // Only the upstream's own answer counts, whatever the status.
        ("failed", "7", "unknown"),
        ("cancelled", "7", "unknown"),
        ("completed", REFUSED, "unknown"),
        ("completed", "{}", "unknown"),
        ("completed", r#"{"task":{"taskId":"t/1","status":"completed"}}"#, "unknown"),
        ("completed", r#"{"resultType":"odd","content":[]}"#, "unknown"),
        ("completed", OF_ANOTHER, "unknown"),
        // A record whose result says otherwise proves nothing, however often it is asked for.
        ("completed", "7", "unknown"),
        ("failed", RESULT, "unknown"),
        ("done", RESULT, "unknown"),
    ] {
        let (rig, _) = upstream("optional", move |message| match message["method"].as_str()? {
            "tasks/get" => Some(task(status)),
            "tasks/result" => Some(result.to_owned()),
            _ => None,
        })
        .await;
        let mut client = rig.client().await;
        client.call(1, "up__get", &json!({})).await;
        assert_eq!(rig.notes.outcomes(), [outcome], "{status} with {result}");
    }
}

#[tokio::test]
async fn g05_a_task_without_a_usable_id_is_unknown_and_an_answer_at_once_is_an_answer() {
    for (made, outcome) in [
        (r#"{"task":{"taskId":"","status":"working"}}"#.to_owned(), "unknown"),
        (format!(r#"{{"task":{{"taskId":"{}"}}}}"#, "x".repeat(1025)), "unknown"),
        (r#"{"task":{"status":"working"}}"#.to_owned(), "unknown"),
        (RESULT.to_owned(), "answered"),
        // A result is a result, whatever else it says.
        (format!(r#"{{"content":[],"task":{}}}"#, task("working")), "answered"),
        (format!(r#"{{"isError":true,"task":{}}}"#, task("working")), "error"),
        (r#"{"resultType":"task","taskId":"t/1"}"#.to_owned(), "unknown"),
    ] {
        let (rig, heard) =
            upstream("optional", move |message| (message["method"] == "tools/call").then(|| made.clone()))
                .await;
        let mut client = rig.client().await;
        client.call(1, "up__get", &json!({})).await;
        assert_eq!(rig.notes.outcomes(), [outcome]);
        assert!(
            of_method(&heard, "tasks/get").is_empty() && rig.notes.upstream_tasks.lock().unwrap().is_empty()
        );
    }
}

#[tokio::test]
async fn g05_the_record_of_another_task_proves_nothing() {
    let other = task("completed").replace("t/1", "t/2");
    let (rig, heard) =
        upstream("optional", move |message| (message["method"] == "tasks/get").then(|| other.clone())).await;
    let mut client = rig.client().await;
    let answer = client.call(1, "up__get", &json!({})).await;
    assert!(text(&answer).contains("Do not repeat it"), "{answer}");
    assert_eq!(rig.notes.outcomes(), ["unknown"]);
    assert!(of_method(&heard, "tasks/result").is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn g05_a_name_that_comes_late_is_written_down_and_is_no_answer() {
    let open = Arc::new(AtomicBool::new(false));
    let gate = Arc::clone(&open);
    let (rig, _) = upstream("optional", move |message| {
        while message["method"] == "tools/call" && !gate.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(5));
        }
        None
    })
    .await;
    let mut client = rig.client().await;
    client.call(1, "up__get", &json!({})).await;
    assert_eq!(rig.notes.outcomes(), ["unknown"]);
    open.store(true, Ordering::SeqCst);
    until("the late name", || !rig.notes.upstream_tasks.lock().unwrap().is_empty()).await;
    assert!(rig.notes.late.lock().unwrap().is_empty(), "a name is no result");
}

#[tokio::test]
async fn g05_a_task_that_is_made_unasked_is_followed_as_well() {
    let (rig, heard) = upstream("forbidden", |_| None).await;
    let mut client = rig.client().await;
    client.call(1, "up__get", &json!({})).await;
    assert_eq!(of_method(&heard, "tools/call")[0]["params"].get("task"), None);
    assert_eq!(rig.notes.outcomes(), ["answered"]);
    assert_eq!(*rig.notes.upstream_tasks.lock().unwrap(), [("op_1".to_owned(), "t/1".to_owned())]);
}

#[tokio::test]
async fn g05_the_task_of_another_call_is_not_followed() {
    let (rig, heard) = upstream("optional", |_| None).await;
    let mut client = rig.client().await;
    client.call(1, "up__get", &json!({ "n": 1 })).await;
    let answer = client.call(2, "up__get", &json!({ "n": 2 })).await;
    assert!(text(&answer).contains("the task of another call"), "{answer}");
    assert_eq!(rig.notes.outcomes(), ["answered", "unknown"]);
    assert_eq!(of_method(&heard, "tasks/result").len(), 1);
}

#[tokio::test]
async fn g05_a_result_that_could_not_be_fetched_is_asked_for_again() {
    let lost = AtomicUsize::new(0);
    let (rig, _) = upstream("optional", move |message| match message["method"].as_str()? {
        "tasks/get" => Some(task("failed")),
        // Too large to be taken: it is as if it had not come.
        "tasks/result" if lost.fetch_add(1, Ordering::SeqCst) == 0 => {
            Some(format!(r#"{{"content":["{}"]}}"#, "x".repeat(33 << 20)))
        }
        "tasks/result" => Some(REFUSED.to_owned()),
        _ => None,
    })
    .await;
    let mut client = rig.client().await;
    client.call(1, "up__get", &json!({})).await;
    let settled = rig.notes.settled.lock().unwrap();
    let outcome = &settled[0].1.outcome;
    let own =
        matches!(outcome, mate_bridge::Outcome::RpcError { error } if error.get().contains("it failed"));
    assert!(own, "the upstream's own error: {outcome:?}");
}

#[tokio::test]
async fn g09_a_tasks_id_is_not_in_what_is_said_of_it() {
    const ID: &str = "capability-0123456789-0123456789";
    let (rig, _) = upstream("optional", |message| match message["method"].as_str()? {
        "tools/call" => Some(format!(r#"{{"task":{}}}"#, task("working").replace("t/1", ID))),
        "tasks/get" => Some(format!(r#"error:{{"code":-32602,"message":"no task {ID} here"}}"#)),
        _ => None,
    })
    .await;
    let mut client = rig.client().await;
    let answer = client.call(1, "up__get", &json!({})).await;
    assert!(text(&answer).contains("no task capabili… here"), "{answer}");
    let said = format!("{answer} {:?}", rig.notes.settled.lock().unwrap());
    assert!(!said.contains(ID), "{said}");
}
