//! What an upstream answers reaches the runtime as the same text, whatever it is.

use crate::support::{Children, connection, http, raw_http, rig, scripted, task_upstream};
use mate_bridge::Limits;
use serde_json::{Value, json};

/// Results that reach the runtime byte for byte.
fn odd() -> Vec<String> {
    let mut all: Vec<String> = [
        r#"{"content":[]}"#,
        "{}",
        r#"{"content":[{"type":"text","text":""}]}"#,
        r#"{"content":[{"type":"text","text":"a"}],"isError":false}"#,
        r#"{"content":[{"type":"text","text":"a"}],"isError":true,"code":[1,2]}"#,
        r#"{"content":[{"type":"text","text":"a"}],"unknownField":{"deep":[null,{"x":1}]}}"#,
        r#"{"content":[{"type":"hologram","beams":[1,2,3]}]}"#,
        r#"{"content":[{"type":"text","text":"a","annotations":{"audience":["user"],"priority":0.10,"odd":1}}]}"#,
        r#"{"content":[{"type":"text","text":"a","_meta":{"x/y":[1]}}],"_meta":{"z":null}}"#,
        r#"{"content":[],"structuredContent":null}"#,
        r#"{"content":[],"structuredContent":true}"#,
        r#"{"content":[],"structuredContent":0}"#,
        r#"{"content":[],"structuredContent":"text"}"#,
        r#"{"content":[],"structuredContent":[1,"2",null]}"#,
        r#"{"content":[],"structuredContent":{"a":{"b":{}}}}"#,
        r#"{"content":[{"type":"resource","resource":{"uri":"file:///x","text":"t","mimeType":"text/x","extra":1}}]}"#,
        r#"{"content":[{"type":"resource","resource":{"uri":"file:///x","blob":"AAAA"}}]}"#,
        r#"{"content":[{"type":"resource_link","uri":"x://y","name":"n","size":12345678901234567890}]}"#,
        r#"{"content":[{"type":"image","data":"AAAA","mimeType":"image/png"},{"type":"audio","data":"","mimeType":"audio/wav"}]}"#,
        r#"{"content":[],"n":123456789012345678901234567890.123456789012345678901234567890}"#,
        r#"{"content":[],"n":[1e400,-0,-0.0,1.0,1E+2,0.1000]}"#,
        r#"{"content":[{"type":"text","text":"\ud800 alone \udfff"}]}"#,
        r#"{"content":[{"type":"text","text":"\u0000\u001b[31m\u2028\u202e"}]}"#,
        r#"{"content":[{"type":"text","text":"zwj 👩‍👩‍👧 e\u0301 \/ \\ \" 𝄞"}]}"#,
        r#"{"content":[],"same":1,"same":2}"#,
        r#"{"content":[],"":"empty key","\n":"odd key","__proto__":{"x":1}}"#,
        r#"{  "content" : [ ] , "spaces" :	[1 ,2 ]  }"#,
        r#"{"content":[{"type":"text","text":"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"}]}"#,
        r#"{"content":null}"#,
        r#"{"content":"not even a list","toolResult":7}"#,
        r#"{"resultType":"complete","content":[]}"#,
    ]
    .map(str::to_owned)
    .into();
    all.push(format!(r#"{{"content":[{{"type":"text","text":"{}"}}]}}"#, "ü".repeat(5_000_000)));
    all.push(format!(r#"{{"content":[],"deep":{}1{}}}"#, "[".repeat(500), "]".repeat(500)));
    all.push(format!(r#"{{"content":[{}{{}}]}}"#, "{\"type\":\"text\",\"text\":\"x\"},".repeat(5000)));
    all
}

/// Results that are refused, with what the agent is told and how the operation is settled.
fn refused() -> Vec<(String, &'static str, &'static str)> {
    vec![
        (
            format!(r#"{{"content":[],"deep":{}{}}}"#, "[".repeat(5000), "]".repeat(5000)),
            "nested deeper",
            "answered",
        ),
        (r#"{"content":[],"isError":true,"isError":false}"#.into(), "duplicate field", "unknown"),
        ("null".into(), "not with a tool result", "unknown"),
        ("[]".into(), "not with a tool result", "unknown"),
        ("7".into(), "not with a tool result", "unknown"),
        (r#"{"isError":"maybe"}"#.into(), "cannot be read", "unknown"),
        (format!(r#"{{"content":["{}"]}}"#, "x".repeat(33 << 20)), "larger than", "unknown"),
    ]
}

fn result_of(id: u64, line: &str) -> String {
    let head = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":");
    let rest =
        line.strip_prefix(&head).unwrap_or_else(|| panic!("no result: {}", &line[..line.len().min(300)]));
    rest.strip_suffix('}').unwrap().to_owned()
}

fn pick(results: &[String], message: &Value) -> Option<String> {
    let index = message["params"]["arguments"]["index"].as_u64()?;
    results.get(usize::try_from(index).unwrap()).cloned()
}

async fn check_all(rig: &crate::support::Rig, name: &str) {
    let mut client = rig.client().await;
    for (index, wanted) in odd().into_iter().enumerate() {
        let id = 100 + index as u64;
        client.send(id, "tools/call", &json!({ "name": name, "arguments": { "index": index } })).await;
        assert!(result_of(id, &client.read().await) == wanted, "{}", &wanted[..wanted.len().min(200)]);
    }
    let settled = rig.notes.settled.lock().unwrap();
    assert_eq!(settled.len(), odd().len());
    for ((_, settled), wanted) in settled.iter().zip(odd()) {
        let mate_bridge::Outcome::Answered { result, .. } = &settled.outcome else { panic!("{settled:?}") };
        assert!(result.get() == wanted, "the gate sees the same text");
    }
}

#[tokio::test]
async fn every_odd_result_of_a_child_arrives_byte_for_byte() {
    let results = odd();
    let children = Children::task(scripted(move |m| pick(&results, m)));
    let rig = rig(vec![connection("up", task_upstream())], children, Limits::default()).await;
    check_all(&rig, "up__get").await;
}

#[tokio::test]
async fn every_odd_result_over_http_arrives_byte_for_byte_in_json_and_in_streams() {
    for stream in [false, true] {
        let results = odd();
        let url = raw_http(move |m| {
            let result = pick(&results, m)?;
            let text = format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{result}}}", m["id"]);
            Some(if stream {
                ("text/event-stream", format!("data: {text}\n\n"))
            } else {
                ("application/json", text)
            })
        })
        .await;
        let rig = rig(vec![connection("up", http(&url))], Children::default(), Limits::default()).await;
        check_all(&rig, "up__get").await;
    }
}

#[tokio::test]
async fn what_cannot_be_passed_on_is_refused_with_its_reason() {
    let results: Vec<String> = refused().into_iter().map(|(r, _, _)| r).collect();
    let children = Children::task(scripted(move |m| pick(&results, m)));
    let rig = rig(vec![connection("up", task_upstream())], children, Limits::default()).await;
    let mut client = rig.client().await;
    for (index, (_, words, outcome)) in refused().into_iter().enumerate() {
        let answer = client.call(100 + index as u64, "up__get", &json!({ "index": index })).await;
        assert_eq!(answer["result"]["isError"], true);
        let told = crate::support::text(&answer);
        assert!(told.contains(words) && told.contains("epeat"), "{told}");
        assert_eq!(rig.notes.outcomes()[index], outcome, "{told}");
    }
}

#[tokio::test]
async fn an_upstream_error_reaches_the_runtime_as_it_was() {
    let error = r#"{"code":-32042,"message":"go there","data":{"elicitations":[{"url":"https://x.example","n":1.10}]}}"#;
    let url = raw_http(move |m| {
        (m["method"] == "tools/call").then(|| {
            ("application/json", format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"error\":{error}}}", m["id"]))
        })
    })
    .await;
    let rig = rig(vec![connection("up", http(&url))], Children::default(), Limits::default()).await;
    let mut client = rig.client().await;
    client.send(9, "tools/call", &json!({ "name": "up__get" })).await;
    assert_eq!(client.read().await, format!("{{\"jsonrpc\":\"2.0\",\"id\":9,\"error\":{error}}}"));
    assert_eq!(rig.notes.outcomes(), ["rpc_error"]);
}

#[tokio::test]
async fn line_breaks_between_tokens_do_not_break_the_framing() {
    let url = raw_http(|m| {
        (m["method"] == "tools/call").then(|| {
            (
                "application/json",
                format!(
                    "{{\r\n \"jsonrpc\": \"2.0\",\n \"id\": {},\n \"result\": {{\n  \"content\": []\n }}\n}}",
                    m["id"]
                ),
            )
        })
    })
    .await;
    let rig = rig(vec![connection("up", http(&url))], Children::default(), Limits::default()).await;
    let mut client = rig.client().await;
    assert_eq!(client.call(1, "up__get", &json!({})).await["result"], json!({ "content": [] }));
}
