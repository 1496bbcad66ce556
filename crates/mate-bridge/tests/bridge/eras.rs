//! Runtimes and upstreams of the era without sessions, and each with one of the other.

use crate::support::{Children, Rig, connection, rig, scripted, task_upstream, text};
use mate_bridge::Limits;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

type Heard = Arc<Mutex<Vec<Value>>>;

/// An upstream of the new era that asks a name before it does anything; what it has heard.
async fn new_upstream() -> (Rig, Heard) {
    let heard = Heard::default();
    let log = Arc::clone(&heard);
    let answer = move |message: &Value| {
        log.lock().unwrap().push(message.clone());
        let params = &message["params"];
        Some(match message["method"].as_str()? {
            "server/discover" => {
                json!({ "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {} } })
            }
            "tools/list" => json!({ "resultType": "complete", "tools": [{ "name": "get", "inputSchema": { "type": "object" } }] }),
            "tools/call" if params["inputResponses"]["q"]["action"] == "accept" && params["requestState"] == "s" => {
                json!({ "resultType": "complete", "content": [{ "type": "text", "text": "done" }] })
            }
            "tools/call" => json!({
                "resultType": "input_required", "requestState": "s",
                "inputRequests": { "q": { "method": "elicitation/create", "params": { "message": "?" } } },
            }),
            _ => return Some(r#"error:{"code":-32601,"message":"no"}"#.to_owned()),
        }
        .to_string())
    };
    let children = Children::task(scripted(answer));
    (rig(vec![connection("up", task_upstream())], children, Limits::default()).await, heard)
}

fn of_method(heard: &Heard, method: &str) -> Vec<Value> {
    heard.lock().unwrap().iter().filter(|message| message["method"] == method).cloned().collect()
}

/// Parameters of a request of the new era.
fn new(mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": {}, "x": {} },
    });
    params
}

#[tokio::test]
async fn g04_a_runtime_that_is_asked_meanwhile_answers_by_a_round_of_the_bridge() {
    let (rig, heard) = new_upstream().await;
    let mut client = rig.client().await;
    client.send(1, "tools/call", &json!({ "name": "up__get", "arguments": { "a": 1 } })).await;
    let asked: Value = serde_json::from_str(&client.read().await).unwrap();
    assert_eq!((&asked["method"], &asked["params"]["message"]), (&json!("elicitation/create"), &json!("?")));
    let answer =
        json!({ "jsonrpc": "2.0", "id": asked["id"], "result": { "action": "accept", "content": {} } });
    client.write(&answer.to_string()).await;
    assert_eq!(text(&client.answer(1).await), "done");
    // One question and one answer, each admitted by itself.
    assert_eq!(rig.notes.outcomes(), ["input_required", "answered"]);
    assert_eq!(*rig.notes.continues.lock().unwrap(), [None, Some("\"s\"".to_owned())]);
    let calls = of_method(&heard, "tools/call");
    assert_eq!(calls.len(), 2);
    assert_eq!(calls[0]["params"]["arguments"], calls[1]["params"]["arguments"]);
    assert!(of_method(&heard, "initialize").is_empty(), "it was asked what it speaks, and is not greeted");
}

#[tokio::test]
async fn a_runtime_of_the_new_era_is_passed_on_and_answered_in_its_own_words() {
    let (rig, heard) = new_upstream().await;
    let mut client = rig.open();
    let said = client.ask(1, "server/discover", &new(json!({}))).await;
    assert_eq!(said["result"]["supportedVersions"][0], "2026-07-28");
    assert_eq!(said["result"]["resultType"], "complete");
    let listed = client.ask(2, "tools/list", &new(json!({}))).await;
    assert_eq!((&listed["result"]["ttlMs"], &listed["result"]["cacheScope"]), (&json!(0), &json!("private")));
    let asked = client.ask(3, "tools/call", &new(json!({ "name": "up__get", "arguments": {} }))).await;
    assert_eq!(asked["result"]["resultType"], "input_required");
    let mut answer = json!({ "name": "up__get", "arguments": {}, "requestState": "s" });
    answer["inputResponses"] = json!({ "q": { "action": "accept", "content": {} } });
    let done = client.ask(4, "tools/call", &new(answer)).await;
    assert_eq!((text(&done), &done["result"]["resultType"]), ("done", &json!("complete")));
    let calls = of_method(&heard, "tools/call");
    let can = &calls[0]["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"];
    assert_eq!(can, &json!({ "elicitation": {}, "x": {} }), "the runtime's own words");
    for (method, code) in [("ping", -32601), ("initialize", -32601), ("tasks/get", -32601)] {
        let refused = client.ask(5, method, &new(json!({ "taskId": "t" }))).await;
        assert_eq!(refused["error"]["code"], code, "{method}: {refused}");
    }
}
