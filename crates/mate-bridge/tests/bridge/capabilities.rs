//! Resources, prompts, completions, logging, progress, elicitation, roots and changes of lists.

use crate::support::{Children, Lines, connection, hello, rig, task_upstream, text};
use mate_bridge::Limits;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};

/// An upstream that can everything; its tool `act` talks to its client before it answers.
fn rich(stream: DuplexStream) {
    tokio::spawn(async move {
        let (reader, mut writer) = tokio::io::split(stream);
        let mut lines = BufReader::new(reader).lines();
        let mut act = Value::Null;
        let mut extra = false;
        while let Ok(Some(line)) = lines.next_line().await {
            let m: Value = serde_json::from_str(&line).unwrap();
            let mut out = Vec::new();
            let mut answer =
                |result: Value| out.push(json!({ "jsonrpc": "2.0", "id": m["id"], "result": result }));
            match m["method"].as_str() {
                Some("initialize") => answer(json!({
                    "protocolVersion": "2025-06-18", "serverInfo": { "name": "rich", "version": "1" }, "instructions": "Be kind.",
                    "capabilities": { "tools": { "listChanged": true }, "resources": { "subscribe": true }, "prompts": {}, "completions": {}, "logging": {} } })),
                Some("tools/list") => {
                    let mut tools = vec![json!({ "name": "act", "inputSchema": { "type": "object" } })];
                    if extra {
                        tools.push(json!({ "name": "extra", "inputSchema": { "type": "object" } }));
                    }
                    answer(json!({ "tools": tools }));
                }
                Some("resources/list") => {
                    answer(json!({ "resources": [{ "uri": "rich://one", "name": "one", "odd": 1.10 }] }))
                }
                Some("resources/templates/list") => answer(
                    json!({ "resourceTemplates": [{ "uriTemplate": "rich://item/{id}", "name": "item" }] }),
                ),
                Some("resources/read") => {
                    answer(json!({ "contents": [{ "uri": m["params"]["uri"], "text": "body" }] }))
                }
                Some("resources/subscribe" | "resources/unsubscribe" | "logging/setLevel") => {
                    answer(json!({}))
                }
                Some("prompts/list") => {
                    answer(json!({ "prompts": [{ "name": "greet", "arguments": [{ "name": "who" }] }] }))
                }
                Some("prompts/get") => answer(json!({ "description": m["params"]["name"], "messages": [] })),
                Some("completion/complete") => {
                    answer(json!({ "completion": { "values": [m["params"]["ref"]["name"]] } }))
                }
                Some("tools/call") => {
                    act = m.clone();
                    extra = true;
                    let token = &m["params"]["_meta"]["progressToken"];
                    out.push(json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": { "progressToken": token, "progress": 1, "x": 2 } }));
                    out.push(json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": { "level": "info", "data": "hi" } }));
                    out.push(json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" }));
                    out.push(json!({ "jsonrpc": "2.0", "id": "r", "method": "roots/list" }));
                    out.push(json!({ "jsonrpc": "2.0", "id": "s", "method": "sampling/createMessage", "params": {} }));
                    out.push(json!({ "jsonrpc": "2.0", "id": "e", "method": "elicitation/create", "params": { "message": "sure?", "requestedSchema": { "type": "object" } } }));
                }
                Some(_) => {}
                None if m["id"] == "r" => assert_eq!(m["error"]["code"], -32601),
                None if m["id"] == "s" => assert!(m["error"].is_object()),
                None if m["id"] == "e" => {
                    let said = m["result"].to_string();
                    out.push(json!({ "jsonrpc": "2.0", "id": act["id"], "result": { "content": [{ "type": "text", "text": said }] } }));
                }
                None => {}
            }
            for message in out {
                writer.write_all(format!("{message}\n").as_bytes()).await.unwrap();
            }
        }
    });
}

async fn next_of(client: &mut Lines, method: &str) -> Value {
    loop {
        let message: Value = serde_json::from_str(&client.read().await).unwrap();
        if message["method"] == method {
            return message;
        }
    }
}

#[tokio::test]
async fn all_that_a_granted_upstream_can_is_passed_on() {
    let rig = rig(vec![connection("rich", task_upstream())], Children::task(rich), Limits::default()).await;
    let mut client = rig.open();
    let said = client.ask(0, "initialize", &hello("2025-06-18")).await;
    assert_eq!(said["result"]["protocolVersion"], "2025-06-18");
    let can = &said["result"]["capabilities"];
    for name in ["tools", "resources", "prompts", "completions", "logging"] {
        assert!(can[name].is_object(), "{name}: {can}");
    }
    assert!(said["result"]["instructions"].as_str().unwrap().contains("Be kind."));
    let resources = client.ask(1, "resources/list", &json!({})).await;
    assert_eq!(
        resources["result"]["resources"],
        json!([{ "uri": "rich://one", "name": "one", "odd": 1.10 }])
    );
    let templates = client.ask(2, "resources/templates/list", &json!({})).await;
    assert_eq!(templates["result"]["resourceTemplates"][0]["uriTemplate"], "rich://item/{id}");
    let read = client.ask(3, "resources/read", &json!({ "uri": "rich://item/7" })).await;
    assert_eq!(read["result"]["contents"][0]["uri"], "rich://item/7");
    assert_eq!(
        client.ask(4, "resources/subscribe", &json!({ "uri": "rich://one" })).await["result"],
        json!({})
    );
    let prompts = client.ask(5, "prompts/list", &json!({})).await;
    assert_eq!(prompts["result"]["prompts"][0]["name"], "rich__greet");
    let prompt =
        client.ask(6, "prompts/get", &json!({ "name": "rich__greet", "arguments": { "who": "x" } })).await;
    assert_eq!(prompt["result"]["description"], "greet");
    let reference = json!({ "ref": { "type": "ref/prompt", "name": "rich__greet" }, "argument": { "name": "who", "value": "a" } });
    assert_eq!(
        client.ask(7, "completion/complete", &reference).await["result"]["completion"]["values"][0],
        "greet"
    );
    assert_eq!(client.ask(8, "logging/setLevel", &json!({ "level": "info" })).await["result"], json!({}));
    assert_eq!(client.ask(9, "logging/setLevel", &json!({ "level": "loud" })).await["error"]["code"], -32602);
    rig.notes.denied.lock().unwrap().insert("rich".into());
    assert!(client.ask(10, "resources/read", &json!({ "uri": "rich://one" })).await["error"].is_object());
    assert_eq!(client.ask(11, "resources/list", &json!({})).await["result"]["resources"], json!([]));
}

#[tokio::test]
async fn progress_logs_elicitation_and_list_changes_find_their_way() {
    let rig = rig(vec![connection("rich", task_upstream())], Children::task(rich), Limits::default()).await;
    let mut client = rig.client().await;
    client.ask(1, "tools/list", &json!({})).await;
    client.send(2, "tools/call", &json!({ "name": "rich__act", "_meta": { "progressToken": "mine" } })).await;
    let own = next_of(&mut client, "notifications/progress").await;
    assert_eq!(
        (&own["params"]["progressToken"], &own["params"]["message"]),
        (&json!("mine"), &json!("admitted"))
    );
    let progress = next_of(&mut client, "notifications/progress").await;
    assert_eq!(progress["params"], json!({ "progressToken": "mine", "progress": 1, "x": 2 }));
    let (mut log, mut changed, mut answered) = (false, false, false);
    while !(log && changed && answered) {
        let message: Value = serde_json::from_str(&client.read().await).unwrap();
        match message["method"].as_str() {
            Some("notifications/message") => log = message["params"]["data"] == "hi",
            Some("notifications/tools/list_changed") => changed = true,
            Some("elicitation/create") => {
                assert_eq!(message["params"]["message"], "sure?");
                let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": { "action": "accept", "content": { "n": 1 } } });
                client.write(&answer.to_string()).await;
            }
            Some(_) => {}
            None => {
                assert_eq!(text(&message), r#"{"action":"accept","content":{"n":1}}"#);
                answered = true;
            }
        }
    }
    let listed = client.ask(3, "tools/list", &json!({})).await;
    assert_eq!(listed["result"]["tools"].as_array().unwrap().len(), 3);
}

/// An upstream whose tool `where` gives what its client has said of roots: in the greeting, and when it is asked.
fn rooted(stream: DuplexStream) {
    tokio::spawn(async move {
        let (reader, mut writer) = tokio::io::split(stream);
        let mut lines = BufReader::new(reader).lines();
        let (mut can, mut call) = (Value::Null, Value::Null);
        while let Ok(Some(line)) = lines.next_line().await {
            let m: Value = serde_json::from_str(&line).unwrap();
            let answer = |id: &Value, result: Value| json!({ "jsonrpc": "2.0", "id": id, "result": result });
            let out = match m["method"].as_str() {
                Some("initialize") => {
                    can = m["params"]["capabilities"]["roots"].clone();
                    answer(
                        &m["id"],
                        json!({ "protocolVersion": "2025-11-25", "serverInfo": { "name": "rooted", "version": "1" },
                                "capabilities": { "tools": {} } }),
                    )
                }
                Some("tools/list") => answer(
                    &m["id"],
                    json!({ "tools": [{ "name": "where", "inputSchema": { "type": "object" } }] }),
                ),
                Some("tools/call") => {
                    call = m["id"].clone();
                    json!({ "jsonrpc": "2.0", "id": "r", "method": "roots/list" })
                }
                None if m["id"] == "r" => {
                    let said = json!([can, m["result"]["roots"][0]["uri"], m["error"]["code"]]).to_string();
                    answer(&call, json!({ "content": [{ "type": "text", "text": said }] }))
                }
                Some(_) | None => continue,
            };
            writer.write_all(format!("{out}\n").as_bytes()).await.unwrap();
        }
    });
}

/// A server that takes folders as arguments puts its client's roots in their place.
#[tokio::test]
async fn the_workspace_is_told_as_a_root_only_where_that_is_wished() {
    let mut told = connection("told", task_upstream());
    told.roots = true;
    let specs = vec![told, connection("untold", task_upstream())];
    let rig = rig(specs, Children::task(rooted), Limits::default()).await;
    let mut client = rig.client().await;
    assert_eq!(text(&client.call(1, "told__where", &json!({})).await), r#"[{},"file:///tmp/a%20b",null]"#);
    assert_eq!(text(&client.call(2, "untold__where", &json!({})).await), "[null,null,-32601]");
}

#[tokio::test]
async fn without_elicitation_the_upstream_is_declined_politely() {
    let rig = rig(vec![connection("rich", task_upstream())], Children::task(rich), Limits::default()).await;
    let mut client = rig.open();
    client.ask(0, "initialize", &json!({ "protocolVersion": "2025-11-25", "capabilities": {} })).await;
    assert_eq!(text(&client.call(1, "rich__act", &json!({})).await), r#"{"action":"decline"}"#);
}

#[tokio::test]
async fn without_prefix_names_stay_and_a_collision_is_reported() {
    let mut first = connection("a", task_upstream());
    first.prefixed = false;
    let mut second = connection("b", task_upstream());
    second.prefixed = false;
    let rig = rig(vec![first, second], Children::task(rich), Limits::default()).await;
    let names = rig.bridge.tool_names().await;
    assert_eq!(names[..2], ["agent_mate__report", "act"]);
    assert!(names[2].starts_with("act_"), "{names:?}");
    assert!(rig.notes.diagnostics.lock().unwrap().iter().any(|d| d.starts_with("b: \"act\" has a name")));
}
