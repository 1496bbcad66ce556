//! The two ways in.

use crate::support::{Children, Rig, connection, hello, rig, scripted, task_upstream, text, until};
use mate_bridge::Limits;
use reqwest::StatusCode;
use serde_json::{Value, json};
use std::time::Duration;

struct Http<'a> {
    rig: &'a Rig,
    client: reqwest::Client,
    session: Option<String>,
}

impl<'a> Http<'a> {
    fn new(rig: &'a Rig) -> Self {
        Self { rig, client: plain_client(), session: None }
    }

    fn request(&self, method: reqwest::Method) -> reqwest::RequestBuilder {
        let request = self
            .client
            .request(method, self.rig.bridge.url())
            .header("accept", "application/json, text/event-stream")
            .bearer_auth(self.rig.bridge.bearer());
        match &self.session {
            Some(session) => {
                request.header("mcp-session-id", session).header("mcp-protocol-version", "2025-11-25")
            }
            None => request,
        }
    }

    async fn post(&self, body: &Value) -> reqwest::Response {
        let request = self.request(reqwest::Method::POST).header("content-type", "application/json");
        request.body(body.to_string()).send().await.unwrap()
    }

    async fn open(rig: &'a Rig) -> Self {
        let mut http = Self::new(rig);
        let response = http.post(&request(0, "initialize", hello("2025-11-25"))).await;
        http.session = Some(response.headers()["mcp-session-id"].to_str().unwrap().into());
        http.post(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
        http
    }
}

fn plain_client() -> reqwest::Client {
    rustls::crypto::ring::default_provider().install_default().ok();
    reqwest::Client::builder().no_proxy().build().unwrap()
}

fn request(id: u64, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

fn call(id: u64, arguments: Value) -> Value {
    request(id, "tools/call", json!({ "name": "up__get", "arguments": arguments }))
}

async fn http_rig(limits: Limits) -> Rig {
    let answer = |m: &Value| {
        (m["method"] == "tools/call" && m["params"]["arguments"]["never"] != true)
            .then(|| r#"{"content":[{"type":"text","text":"ok"}]}"#.to_owned())
    };
    rig(vec![connection("up", task_upstream())], Children::task(scripted(answer)), limits).await
}

#[tokio::test]
async fn a_call_over_http_is_answered_as_json_and_delivered() {
    let rig = http_rig(Limits::default()).await;
    let http = Http::open(&rig).await;
    let response = http.post(&call(1, json!({}))).await;
    assert_eq!(response.headers()["content-type"], "application/json");
    let answer: Value = response.json().await.unwrap();
    assert_eq!(text(&answer), "ok");
    until("the gate hears of the delivery", || *rig.notes.delivered.lock().unwrap() == ["op_1"]).await;
    let gone = http.request(reqwest::Method::DELETE).send().await.unwrap();
    assert_eq!(gone.status(), StatusCode::NO_CONTENT);
    assert_eq!(http.post(&call(2, json!({}))).await.status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn who_is_not_the_runtime_is_turned_away_before_anything_is_read() {
    let rig = http_rig(Limits::default()).await;
    let client = plain_client();
    let post = || client.post(rig.bridge.url()).header("content-type", "application/json").body("{");
    assert_eq!(post().send().await.unwrap().status(), StatusCode::UNAUTHORIZED);
    assert_eq!(post().bearer_auth("wrong").send().await.unwrap().status(), StatusCode::UNAUTHORIZED);
    let right = || post().bearer_auth(rig.bridge.bearer());
    assert_eq!(
        right().header("origin", "https://evil.example").send().await.unwrap().status(),
        StatusCode::FORBIDDEN
    );
    assert_eq!(right().header("host", "evil.example").send().await.unwrap().status(), StatusCode::FORBIDDEN);
    assert_eq!(right().send().await.unwrap().status(), StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn odd_requests_get_a_clear_answer() {
    let rig = http_rig(Limits { message: 100_000, ..Limits::default() }).await;
    let http = Http::open(&rig).await;
    let bare = Http::new(&rig);
    let raw = |body: String| {
        http.request(reqwest::Method::POST).header("content-type", "application/json").body(body)
    };
    for (body, status) in [
        ("".to_owned(), 400),
        ("[]".to_owned(), 400),
        ("{\"jsonrpc\":\"2.0\"}".to_owned(), 400),
        (format!("{{\"x\":\"{}\"}}", "y".repeat(200_000)), 413),
    ] {
        let response = raw(body).send().await.unwrap();
        assert_eq!(response.status().as_u16(), status);
        assert!(response.json::<Value>().await.unwrap()["error"]["message"].is_string());
    }
    let plain = http.request(reqwest::Method::POST).body("{}").send().await.unwrap();
    assert_eq!(plain.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE);
    assert_eq!(bare.post(&call(1, json!({}))).await.status(), StatusCode::BAD_REQUEST);
    let probe: Value = bare.post(&request(1, "server/discover", json!({}))).await.json().await.unwrap();
    assert_eq!((&probe["id"], &probe["error"]["code"]), (&json!(1), &json!(-32601)));
    let odd = http.post(&request(2, "x/unknown", json!({}))).await.json::<Value>().await.unwrap();
    assert_eq!(odd["error"]["code"], -32601);
    let version = http.request(reqwest::Method::POST).header("mcp-protocol-version", "1999-01-01");
    let response =
        version.header("content-type", "application/json").body(call(3, json!({})).to_string()).send().await;
    assert!(matches!(response.unwrap().status().as_u16(), 200 | 400));
    let put = http.request(reqwest::Method::PUT).send().await.unwrap();
    assert_eq!(put.status(), StatusCode::METHOD_NOT_ALLOWED);
}

#[tokio::test]
async fn an_answer_that_takes_its_time_becomes_a_stream_and_progress_comes_first() {
    let limits = Limits { quiet: Duration::from_millis(50), ..Limits::default() };
    let rig = http_rig(limits).await;
    let http = Http::open(&rig).await;
    let params = json!({ "name": "up__get", "arguments": {}, "_meta": { "progressToken": 7 } });
    let response = http.post(&request(1, "tools/call", params)).await;
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let body = response.text().await.unwrap();
    let (progress, answer) = (body.find("notifications/progress").unwrap(), body.find("\"result\"").unwrap());
    assert!(progress < answer, "{body}");
    until("the stream's answer counts as delivered", || rig.notes.delivered.lock().unwrap().len() == 1).await;

    let mut response = http.post(&call(2, json!({ "never": true }))).await;
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    assert_eq!(response.chunk().await.unwrap().unwrap(), ": still here\n\n");
    drop(response);
    assert_eq!(rig.bridge.in_flight().len(), 1, "hanging up is no cancel");
}

#[tokio::test]
async fn what_nobody_asked_comes_over_the_get_stream_once() {
    let rig = http_rig(Limits::default()).await;
    let http = Http::open(&rig).await;
    http.post(&request(1, "tools/list", json!({}))).await;
    let mut stream = http.request(reqwest::Method::GET).send().await.unwrap();
    assert_eq!(stream.headers()["content-type"], "text/event-stream");
    assert_eq!(http.request(reqwest::Method::GET).send().await.unwrap().status(), StatusCode::CONFLICT);
    rig.bridge.refresh();
    let mut seen = String::new();
    while !seen.contains("notifications/tools/list_changed") {
        seen.push_str(&String::from_utf8_lossy(&stream.chunk().await.unwrap().unwrap()));
    }
    rig.bridge.shutdown(Duration::from_secs(1)).await;
    while stream.chunk().await.unwrap_or(None).is_some() {}
}

#[tokio::test]
async fn lines_survive_rubbish() {
    let rig = http_rig(Limits { message: 10_000, ..Limits::default() }).await;
    let mut client = rig.client().await;
    client.write("").await;
    client.write("not json").await;
    assert!(client.read().await.contains("-32700"));
    client.write("[{}]").await;
    assert!(client.read().await.contains("batches"));
    client.write(&"x".repeat(20_000)).await;
    assert!(client.read().await.contains("larger than"));
    client.write(r#"{"jsonrpc":"2.0","id":"s\u0031","method":"ping"}"#).await;
    assert_eq!(client.read().await, r#"{"jsonrpc":"2.0","id":"s\u0031","result":{}}"#);
    client.send(4, "tools/call", &json!({ "name": "up__get", "arguments": { "never": true } })).await;
    client.send(4, "ping", &json!({})).await;
    assert!(client.read().await.contains("still being served"));
}
