//! Tasks of the era without sessions, for a runtime that follows them itself.

use crate::support::{Children, Lines, Rig, connection, rig, scripted, task_upstream, until};
use mate_bridge::Limits;
use serde_json::{Value, json};
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
};

/// The upstream's own name for its task.
const ID: &str = "upstream-0123456789";
const TASKS: &str = "io.modelcontextprotocol/tasks";

type Heard = Arc<Mutex<Vec<Value>>>;

fn task(status: &str, more: &Value) -> String {
    let time = "2026-07-28T10:30:00Z";
    let mut task = json!({
        "resultType": "complete", "taskId": ID, "status": status, "createdAt": time, "lastUpdatedAt": time, "ttlMs": null,
        "pollIntervalMs": 1, "statusMessage": format!("{ID} is {status}"),
    });
    for (key, value) in more.as_object().unwrap() {
        task[key] = value.clone();
    }
    task.to_string()
}

/// An upstream whose task asks two questions and is over when both are answered; `lost`: it does not say that it has
/// heard an answer.
async fn upstream(lost: &'static AtomicBool) -> (Rig, Heard) {
    let heard = Heard::default();
    let log = Arc::clone(&heard);
    let answer = move |message: &Value| {
        log.lock().unwrap().push(message.clone());
        let answered = || {
            let all = log.lock().unwrap();
            let updates = all.iter().filter(|message| message["method"] == "tasks/update");
            updates.flat_map(|update| update["params"]["inputResponses"].as_object().unwrap().clone()).count()
        };
        let ask = |n| json!({ "method": "elicitation/create", "params": { "message": n } });
        Some(match message["method"].as_str()? {
            "server/discover" => json!({
                "resultType": "complete", "supportedVersions": ["2026-07-28"],
                "capabilities": { "tools": {}, "extensions": { TASKS: {} } },
            })
            .to_string(),
            "tools/list" => {
                json!({ "resultType": "complete", "tools": [{ "name": "get", "inputSchema": { "type": "object" } }] })
                    .to_string()
            }
            "tools/call" => task("working", &json!({ "resultType": "task" })),
            "tasks/get" if message["params"]["taskId"] != ID => r#"error:{"code":-32602,"message":"no"}"#.to_owned(),
            "tasks/get" => match answered() {
                0 => task("input_required", &json!({ "inputRequests": { "a": ask("1"), "b": ask("2") } })),
                1 => task("input_required", &json!({ "inputRequests": { "b": ask("2") } })),
                _ => task("completed", &json!({ "result": { "content": [{ "type": "text", "text": "done" }] } })),
            },
            "tasks/cancel" => format!(r#"error:{{"code":-32000,"message":"{ID} cannot be","data":"{ID}"}}"#),
            "tasks/update" if lost.load(Ordering::SeqCst) => return None,
            "tasks/update" => r#"{"resultType":"complete"}"#.to_owned(),
            _ => return Some(r#"error:{"code":-32601,"message":"no"}"#.to_owned()),
        })
    };
    let limits = Limits {
        read: std::time::Duration::from_millis(300),
        start: std::time::Duration::from_millis(300),
        ..Limits::default()
    };
    let children = Children::task(scripted(answer));
    (rig(vec![connection("up", task_upstream())], children, limits).await, heard)
}

fn of_method(heard: &Heard, method: &str) -> Vec<Value> {
    heard.lock().unwrap().iter().filter(|message| message["method"] == method).cloned().collect()
}

/// Parameters of a request whose sender follows tasks.
fn new(mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": {}, "extensions": { TASKS: {} } },
    });
    params
}

async fn made(client: &mut Lines) -> String {
    client.ask(1, "server/discover", &new(json!({}))).await;
    client.ask(2, "tools/list", &new(json!({}))).await;
    let made = client.ask(3, "tools/call", &new(json!({ "name": "up__get", "arguments": {} }))).await;
    assert_eq!(made["result"]["resultType"], "task", "{made}");
    made["result"]["taskId"].as_str().unwrap().to_owned()
}

fn answers(task: &str, keys: &[&str]) -> Value {
    let answers: serde_json::Map<String, Value> =
        keys.iter().map(|key| ((*key).to_owned(), json!({ "action": "accept", "content": {} }))).collect();
    new(json!({ "taskId": task, "inputResponses": answers }))
}

static HEARD: AtomicBool = AtomicBool::new(false);
static DEAF: AtomicBool = AtomicBool::new(true);

#[tokio::test]
async fn g12_a_task_whose_name_did_not_reach_the_runtime_is_told_to_an_equal_call() {
    let (rig, _) = upstream(&HEARD).await;
    let mut client = rig.open();
    client.ask(1, "tools/list", &new(json!({}))).await;
    let mut gone = rig.open();
    gone.send(1, "tools/call", &new(json!({ "name": "up__get", "arguments": {} }))).await;
    drop(gone);
    until("the lost name", || !rig.notes.meanwhile.lock().unwrap().is_empty()).await;
    let told = rig.notes.meanwhile.lock().unwrap().clone();
    let (operation, result) = &told[0];
    let result: Value = serde_json::from_str(result.as_ref().unwrap()).unwrap();
    assert_eq!((told.len(), operation.as_str(), &result["taskId"]), (1, "op_1", &json!("op_1")), "{result}");
    assert_eq!(result["resultType"], "task");
}

#[tokio::test]
async fn g08_a_task_has_our_name_for_the_runtime_and_its_own_for_the_upstream() {
    let (rig, heard) = upstream(&HEARD).await;
    let mut client = rig.open();
    let name = made(&mut client).await;
    assert_eq!(name, "op_1", "the operation's");
    assert!(rig.notes.meanwhile.lock().unwrap().is_empty(), "it has arrived: it is told to nobody else");
    let seen = client.ask(4, "tasks/get", &new(json!({ "taskId": name }))).await;
    assert_eq!(
        (&seen["result"]["taskId"], &seen["result"]["status"]),
        (&json!("op_1"), &json!("input_required"))
    );
    let refused = client.ask(5, "tasks/cancel", &new(json!({ "taskId": name }))).await;
    assert_eq!(refused["error"]["code"], -32000);
    assert!(!format!("{seen}{refused}").contains(ID), "{seen}{refused}");
    let before = of_method(&heard, "tasks/get").len();
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        for foreign in [ID, "op_2"] {
            let refused =
                client.ask(6, method, &new(json!({ "taskId": foreign, "inputResponses": {} }))).await;
            assert_eq!(refused["error"]["code"], -32602, "{method} {foreign}: {refused}");
        }
    }
    let asked = of_method(&heard, "tasks/get");
    assert!(asked.iter().all(|ask| ask["params"]["taskId"] == ID) && asked.len() >= before, "{asked:?}");
    assert!(of_method(&heard, "tasks/update").is_empty());
}

#[tokio::test]
async fn g04_each_question_of_a_task_is_answered_once_and_its_record_is_the_outcome() {
    let (rig, heard) = upstream(&HEARD).await;
    let mut client = rig.open();
    let name = made(&mut client).await;
    for keys in [&["a"][..], &["a"], &["a", "b"], &["b"]] {
        let said = client.ask(4, "tasks/update", &answers(&name, keys)).await;
        assert_eq!(said["result"]["resultType"], "complete", "{said}");
    }
    let sent: Vec<Vec<String>> = of_method(&heard, "tasks/update")
        .iter()
        .map(|update| update["params"]["inputResponses"].as_object().unwrap().keys().cloned().collect())
        .collect();
    assert_eq!(sent, [["a"], ["b"]], "what was answered before is not sent again");
    until("the outcome", || rig.notes.outcomes() == ["answered"]).await;
    let seen = client.ask(5, "tasks/get", &new(json!({ "taskId": name }))).await;
    assert_eq!(seen["result"]["result"]["content"][0]["text"], "done", "{seen}");
    until("its receipt", || rig.notes.delivered.lock().unwrap().contains(&"op_1".to_owned())).await;
    assert_eq!(of_method(&heard, "tools/call").len(), 1);
}

#[tokio::test]
async fn g04_an_answer_that_may_have_arrived_is_not_sent_again_and_is_called_uncertain() {
    let (rig, heard) = upstream(&DEAF).await;
    let mut client = rig.open();
    let name = made(&mut client).await;
    for _ in 0..2 {
        let said = client.ask(4, "tasks/update", &answers(&name, &["a"])).await;
        assert!(said["error"]["message"].as_str().unwrap().contains("not sent again"), "{said}");
    }
    assert_eq!(of_method(&heard, "tasks/update").len(), 1);
    // What became of it, the task's record says.
    let seen = client.ask(5, "tasks/get", &new(json!({ "taskId": name }))).await;
    assert_eq!(seen["result"]["inputRequests"].as_object().unwrap().len(), 1, "{seen}");
}
