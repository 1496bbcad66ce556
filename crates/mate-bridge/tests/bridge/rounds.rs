//! An upstream that answers with a question, and a client that answers it with a further call.

use crate::support::{Children, connection, rig, scripted, task_upstream, text};
use mate_bridge::{Limits, Outcome};
use serde_json::{Value, json};

fn upstream(message: &Value) -> Option<String> {
    if message["method"] != "tools/call" {
        return None;
    }
    let params = &message["params"];
    Some(if params["requestState"] == "s1" && params["inputResponses"]["q"]["action"] == "accept" {
        json!({ "resultType": "complete", "content": [{ "type": "text", "text": "gone on" }] }).to_string()
    } else {
        // Members that nobody here knows, in an order of their own.
        r#"{"zz":1,"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create"}},"requestState":"s1"}"#
            .to_owned()
    })
}

#[tokio::test]
async fn g04_a_question_is_passed_on_as_it_is_and_its_answer_names_the_call() {
    let children = Children::task(scripted(upstream));
    let rig = rig(vec![connection("up", task_upstream())], children, Limits::default()).await;
    let mut client = rig.client().await;
    client.send(1, "tools/call", &json!({ "name": "up__get", "arguments": { "a": 1 } })).await;
    let asked = client.read().await;
    assert!(asked.ends_with(r#""result":{"zz":1,"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create"}},"requestState":"s1"}}"#), "{asked}");
    let params = json!({
        "name": "up__get", "arguments": { "a": 1 }, "requestState": "s1",
        "inputResponses": { "q": { "action": "accept" } },
    });
    let answer = client.ask(2, "tools/call", &params).await;
    assert_eq!(text(&answer), "gone on");
    assert_eq!(rig.notes.outcomes(), ["input_required", "answered"]);
    let settled = rig.notes.settled.lock().unwrap();
    assert!(matches!(&settled[0].1.outcome, Outcome::InputRequired { state, .. } if state.get() == "\"s1\""));
    let continues: Vec<Option<String>> = rig.notes.continues.lock().unwrap().clone();
    assert_eq!(continues, [None, Some("\"s1\"".to_owned())]);
}
