//! The effect server's tools. Each effect is two lines in the log: `begin` and `end` (or `aborted`).

use crate::effect::Server;
use serde_json::{Value, json};
use std::{path::Path, time::Duration};
use tokio::sync::watch;

/// The longest that `slow` works, in seconds.
const LONGEST: f64 = 3600.0;
/// The largest answer of `big`, in bytes.
const BIGGEST: u64 = 64 << 20;

fn tool(name: &str, description: &str, properties: &Value, required: &[&str], annotations: &Value) -> Value {
    json!({
        "name": name, "description": description, "annotations": annotations,
        "inputSchema": { "type": "object", "properties": properties, "required": required },
    })
}

/// The result of `tools/list`.
pub(crate) fn list(other: Option<&Path>) -> Value {
    let mut list = usual();
    let text = other.and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default();
    let other: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
    for tool in list["tools"].as_array_mut().into_iter().flatten() {
        let name = tool["name"].as_str().unwrap_or_default().to_owned();
        for (member, value) in other[name.as_str()].as_object().into_iter().flatten() {
            tool[member] = value.clone();
        }
    }
    list
}

fn usual() -> Value {
    let (text, key) = (json!({ "type": "string" }), json!({ "type": "string" }));
    let seconds = json!({ "type": "number", "minimum": 0, "maximum": LONGEST });
    let bytes = json!({ "type": "integer", "minimum": 0, "maximum": BIGGEST });
    let effect = json!({ "readOnlyHint": false, "idempotentHint": false });
    let read = json!({ "readOnlyHint": true });
    let mut job = tool(
        "job",
        "Work for some seconds, then be done; as a task, if wanted.",
        &json!({ "seconds": seconds, "key": key }),
        &["seconds"],
        &effect,
    );
    job["execution"] = json!({ "taskSupport": "optional" });
    json!({ "tools": [
        job,
        tool("note", "Write a note down.", &json!({ "text": text }), &["text"], &effect),
        tool("slow", "Work for some seconds, then be done.", &json!({ "seconds": seconds, "key": key }), &["seconds"], &effect),
        tool("confirm", "Ask whether to go on, and go on if so.", &json!({ "text": text }), &["text"], &effect),
        tool("fail", "Fail, with an error result.", &json!({ "text": text }), &[], &effect),
        tool("echo", "Give the text back.", &json!({ "text": text }), &["text"], &read),
        tool("was_done", "Say whether a call with this key has begun, and whether it was done; after some seconds, if wanted.", &json!({ "key": key, "seconds": seconds }), &["key"], &read),
        tool("give", "Give these blocks as the content, and this as the structured content.", &json!({ "content": { "type": "array" }, "structured": { "type": "object" } }), &[], &read),
        tool("big", "Give so many bytes of text.", &json!({ "bytes": bytes }), &["bytes"], &read),
    ] })
}

fn text(text: &str, is_error: bool) -> Value {
    let mut result = json!({ "content": [{ "type": "text", "text": text }] });
    if is_error {
        result["isError"] = json!(true);
    }
    result
}

/// Whether a call is to be carried out as a task.
pub(crate) fn is_a_task(params: &Value) -> bool {
    params["name"] == "job" && params["task"].is_object()
}

/// Runs one call. `None`: it was aborted and gets no answer.
pub(crate) async fn call(
    server: &Server,
    id: &Value,
    params: &Value,
    cancelled: watch::Receiver<bool>,
) -> Option<Result<Value, Value>> {
    let (name, arguments) = (params["name"].as_str().unwrap_or(""), &params["arguments"]);
    let known =
        matches!(name, "note" | "slow" | "job" | "confirm" | "fail" | "echo" | "was_done" | "big" | "give");
    if !known {
        return Some(Err(json!({ "code": -32602, "message": format!("no tool {name}") })));
    }
    let line = |kind: &str| {
        let shown = if name == "note" { &arguments["text"] } else { &arguments["key"] };
        json!({ "kind": kind, "tool": name, "key": shown, "arguments": arguments, "request": id, "meta": params["_meta"] })
    };
    server.log.note(&line("begin"));
    let result = match name {
        "note" => text(&format!("noted: {}", arguments["text"].as_str().unwrap_or("")), false),
        "slow" | "job" => {
            if !slow(server, params, cancelled).await {
                server.log.note(&line("aborted"));
                return None;
            }
            text(&format!("{name} done: {}", arguments["key"].as_str().unwrap_or("")), false)
        }
        "confirm" => {
            server.log.note(&line("asked"));
            let answer = server.ask(arguments["text"].as_str().unwrap_or("")).await;
            let action = answer["action"].as_str().unwrap_or("none");
            let mut answered = line("answered");
            answered["action"] = json!(action);
            server.log.note(&answered);
            text(&format!("the answer was: {action}"), action != "accept")
        }
        "fail" => text(&format!("failed: {}", arguments["text"].as_str().unwrap_or("")), true),
        "was_done" => {
            let seconds = arguments["seconds"].as_f64().unwrap_or(0.0).clamp(0.0, LONGEST);
            tokio::time::sleep(Duration::from_secs_f64(seconds)).await;
            was_done(server, arguments["key"].as_str().unwrap_or(""))
        }
        "give" => {
            let mut result = json!({ "content": arguments.get("content").unwrap_or(&json!([])) });
            if let Some(structured) = arguments.get("structured") {
                result["structuredContent"] = structured.clone();
            }
            result
        }
        "big" => {
            let bytes = arguments["bytes"].as_u64().unwrap_or(0).min(BIGGEST);
            text(&"x".repeat(usize::try_from(bytes).unwrap_or(0)), false)
        }
        _ => text(arguments["text"].as_str().unwrap_or(""), false),
    };
    server.log.note(&line("end"));
    Some(Ok(result))
}

/// What the server's own log says of a key: an argument of that name, or the call's idempotency key.
fn was_done(server: &Server, key: &str) -> Value {
    let has = |kind: &str| {
        server.log.any(|line| {
            let known = &line["meta"]["agent-mate/idempotencyKey"];
            line["kind"] == kind && line["tool"] != "was_done" && (line["key"] == key || known == key)
        })
    };
    let found = json!({ "begun": has("begin"), "done": has("end") });
    let mut result = text(&found.to_string(), false);
    result["structuredContent"] = found;
    result
}

/// Works, with progress every second if it was asked for. False: cancelled, and it honours that.
async fn slow(server: &Server, params: &Value, mut cancelled: watch::Receiver<bool>) -> bool {
    let seconds = params["arguments"]["seconds"].as_f64().unwrap_or(0.0).clamp(0.0, LONGEST);
    let token = &params["_meta"]["progressToken"];
    let work = tokio::time::sleep(Duration::from_secs_f64(seconds));
    tokio::pin!(work);
    let mut tick = tokio::time::interval(Duration::from_secs(1));
    let mut done = 0_u64;
    loop {
        tokio::select! {
            () = &mut work => return true,
            Ok(()) = cancelled.changed(), if server.honour_cancel => return false,
            _ = tick.tick(), if !token.is_null() => {
                let params = json!({ "progressToken": token, "progress": done, "total": seconds, "message": "working" });
                server.send(&json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params })).await;
                done += 1;
            }
        }
    }
}
