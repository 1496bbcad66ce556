//! An upstream that asks in the middle of a call, and a runtime that is asked by the answer to its call: what it answers
//! is judged before the upstream hears it, and heard once.

use crate::support::{
    Children, Rig, connection, hello, rig, scripted, standard, task_upstream, text, unasked,
};
use mate_bridge::Limits;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};

/// What an upstream was answered, in the order in which it came.
type Answers = Arc<Mutex<Vec<Value>>>;

/// An upstream of the era with sessions whose one tool asks, and tells what it was answered.
fn asking(answers: &Answers) -> impl Fn(DuplexStream) + Send + Sync + 'static {
    let answers = Arc::clone(answers);
    move |stream| {
        let answers = Arc::clone(&answers);
        tokio::spawn(async move {
            let (reader, mut writer) = tokio::io::split(stream);
            let mut lines = BufReader::new(reader).lines();
            let mut call = Value::Null;
            while let Ok(Some(line)) = lines.next_line().await {
                let message: Value = serde_json::from_str(&line).unwrap();
                let out = match message["method"].as_str() {
                    Some("tools/call") => {
                        call = message["id"].clone();
                        let params = json!({ "message": "sure?", "requestedSchema": { "type": "object" } });
                        json!({ "jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": params })
                            .to_string()
                    }
                    Some(_) => match standard(&message).or_else(|| unasked(&message)) {
                        Some(result) => match result.strip_prefix("error:") {
                            Some(error) => {
                                format!(r#"{{"jsonrpc":"2.0","id":{},"error":{error}}}"#, message["id"])
                            }
                            None => {
                                format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, message["id"])
                            }
                        },
                        None => continue,
                    },
                    None => {
                        answers.lock().unwrap().push(message["result"].clone());
                        let said = json!([{ "type": "text", "text": message["result"]["action"] }]);
                        json!({ "jsonrpc": "2.0", "id": call, "result": { "content": said } }).to_string()
                    }
                };
                writer.write_all(format!("{out}\n").as_bytes()).await.unwrap();
            }
        });
    }
}

async fn asked() -> (Rig, Answers) {
    let answers = Answers::default();
    let children = Children::task(asking(&answers));
    (rig(vec![connection("up", task_upstream())], children, Limits::default()).await, answers)
}

/// A call of the new era; with the answer to its question, where one is given.
fn call(arguments: &Value, answer: Option<&Value>) -> Value {
    let mut params = json!({ "name": "up__get", "arguments": arguments });
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
    });
    if let Some(state) = answer {
        params["requestState"] = state.clone();
        params["inputResponses"] = json!({ "question": { "action": "accept", "content": {} } });
    }
    params
}

#[tokio::test]
async fn g04_the_answer_to_a_held_question_is_a_round_of_its_call_and_heard_once() {
    let (rig, answers) = asked().await;
    let mut client = rig.open();
    let question = client.ask(1, "tools/call", &call(&json!({ "a": 1 }), None)).await;
    let state = &question["result"]["requestState"];
    assert_eq!(question["result"]["inputRequests"]["question"]["params"]["message"], "sure?", "{question}");
    // With another call, it answers nothing here: what that is, the gate says.
    *rig.notes.knows_no_question.lock().unwrap() = true;
    let other = client.ask(2, "tools/call", &call(&json!({ "a": 2 }), Some(state))).await;
    assert_eq!(other["error"]["code"], -32602, "{other}");
    assert_eq!(rig.notes.continues.lock().unwrap().last(), Some(&Some(state.to_string())));
    assert_eq!(*answers.lock().unwrap(), Vec::<Value>::new());
    let done = client.ask(3, "tools/call", &call(&json!({ "a": 1 }), Some(state))).await;
    assert_eq!(text(&done), "accept");
    let judged = rig.notes.answered.lock().unwrap().clone();
    assert_eq!(judged.len(), 1, "{judged:?}");
    assert_eq!(judged[0].0, "op_1");
    let told = rig.notes.meanwhile.lock().unwrap().clone();
    assert!(
        told[0].1.as_ref().unwrap().contains("sure?"),
        "equal calls are asked the same meanwhile: {told:?}"
    );
    assert_eq!(told[1..], [("op_1".to_owned(), None)], "and not after the answer");
    // Made again it is no answer any more: what is known of it, the gate knows.
    let again = client.ask(4, "tools/call", &call(&json!({ "a": 1 }), Some(state))).await;
    assert_eq!(again["error"]["code"], -32602, "{again}");
    assert_eq!(answers.lock().unwrap().len(), 1);
    assert_eq!(rig.notes.answered.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn g07_an_answer_that_is_refused_never_reaches_the_upstream() {
    let (rig, answers) = asked().await;
    let mut client = rig.open();
    let question = client.ask(1, "tools/call", &call(&json!({ "a": 1 }), None)).await;
    *rig.notes.bars.lock().unwrap() = Some("The answer was NOT sent.".to_owned());
    let state = &question["result"]["requestState"];
    let done = client.ask(2, "tools/call", &call(&json!({ "a": 1 }), Some(state))).await;
    assert!(text(&done).starts_with("The answer was NOT sent."), "{done}");
    assert_eq!(done["result"]["content"][1]["text"], "cancel", "what the call came to is told all the same");
    assert_eq!(*answers.lock().unwrap(), [json!({ "action": "cancel" })]);
    assert_eq!(rig.notes.outcomes(), ["answered"]);
}

#[tokio::test]
async fn g07_a_runtime_that_is_asked_meanwhile_is_judged_as_well() {
    for bars in [None, Some("no".to_owned())] {
        let (rig, answers) = asked().await;
        let mut client = rig.client().await;
        client.send(1, "tools/call", &json!({ "name": "up__get", "arguments": { "a": 1 } })).await;
        let question: Value = serde_json::from_str(&client.read().await).unwrap();
        assert_eq!(question["method"], "elicitation/create", "{question}");
        rig.notes.bars.lock().unwrap().clone_from(&bars);
        let answer = json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "action": "accept" } });
        client.write(&answer.to_string()).await;
        let heard = if bars.is_some() { "cancel" } else { "accept" };
        assert_eq!(text(&client.answer(1).await), heard);
        assert_eq!(*answers.lock().unwrap(), [json!({ "action": heard })]);
        assert_eq!(rig.notes.answered.lock().unwrap().len(), usize::from(bars.is_none()));
    }
}

#[tokio::test]
async fn g03_what_is_asked_outside_of_a_call_nobody_answers() {
    let answers = Answers::default();
    let log = Arc::clone(&answers);
    let upstream = move |stream: DuplexStream| {
        let log = Arc::clone(&log);
        tokio::spawn(async move {
            let (reader, mut writer) = tokio::io::split(stream);
            let mut lines = BufReader::new(reader).lines();
            let mut read = Value::Null;
            while let Ok(Some(line)) = lines.next_line().await {
                let message: Value = serde_json::from_str(&line).unwrap();
                let out = match message["method"].as_str() {
                    Some("initialize") => json!({ "jsonrpc": "2.0", "id": message["id"], "result": {
                        "protocolVersion": "2025-06-18", "serverInfo": { "name": "up", "version": "1" },
                        "capabilities": { "resources": {} } } }),
                    Some("resources/read") => {
                        read = message["id"].clone();
                        json!({ "jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": { "message": "?" } })
                    }
                    Some("resources/list") => {
                        json!({ "jsonrpc": "2.0", "id": message["id"], "result": { "resources": [{ "uri": "x://1", "name": "x" }] } })
                    }
                    Some(_) if message.get("id").is_some() => {
                        json!({ "jsonrpc": "2.0", "id": message["id"], "error": { "code": -32601, "message": "no" } })
                    }
                    Some(_) => continue,
                    None => {
                        log.lock().unwrap().push(message["result"].clone());
                        json!({ "jsonrpc": "2.0", "id": read, "result": { "contents": [] } })
                    }
                };
                writer.write_all(format!("{out}\n").as_bytes()).await.unwrap();
            }
        });
    };
    let rig = rig(vec![connection("up", task_upstream())], Children::task(upstream), Limits::default()).await;
    let mut client = rig.open();
    client.ask(0, "initialize", &hello("2025-11-25")).await;
    client.send(1, "resources/read", &json!({ "uri": "x://1" })).await;
    let first: Value = serde_json::from_str(&client.read().await).unwrap();
    assert_eq!(first["id"], 1, "the runtime is not asked: {first}");
    assert_eq!(*answers.lock().unwrap(), [json!({ "action": "decline" })]);
}

#[tokio::test]
async fn a_state_of_the_upstreams_own_may_look_like_ours() {
    const STATE: &str = "agent-mate/op_1/1";
    let heard = Answers::default();
    let log = Arc::clone(&heard);
    let upstream = scripted(move |message: &Value| {
        let params = &message["params"];
        Some(match message["method"].as_str()? {
            "server/discover" => {
                json!({ "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {} } })
            }
            "tools/list" => json!({ "resultType": "complete", "tools": [{ "name": "get", "inputSchema": { "type": "object" } }] }),
            "tools/call" if params["requestState"] == STATE => {
                log.lock().unwrap().push(params["inputResponses"].clone());
                json!({ "resultType": "complete", "content": [{ "type": "text", "text": "done" }] })
            }
            "tools/call" => json!({ "resultType": "input_required", "requestState": STATE,
                "inputRequests": { "question": { "method": "elicitation/create", "params": { "message": "?" } } } }),
            _ => return None,
        }
        .to_string())
    });
    let rig = rig(vec![connection("up", task_upstream())], Children::task(upstream), Limits::default()).await;
    let mut client = rig.open();
    let asked = client.ask(1, "tools/call", &call(&json!({ "a": 1 }), None)).await;
    assert_eq!(asked["result"]["requestState"], STATE);
    let done = client.ask(2, "tools/call", &call(&json!({ "a": 1 }), Some(&json!(STATE)))).await;
    assert_eq!(text(&done), "done");
    assert_eq!(heard.lock().unwrap().len(), 1);
}
