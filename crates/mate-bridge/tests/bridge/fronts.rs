//! The two ways in.

use crate::support::{Children, Rig, connection, hello, rig, scripted, task_upstream, text, until};
use http::{HeaderName, HeaderValue, Method, header};
use mate_bridge::Limits;
use mate_http::{Client, Endpoint, Request, Response, Trust};
use serde_json::{Value, json};
use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

struct Http<'a> {
    rig: &'a Rig,
    client: Client,
    session: Option<String>,
}

impl<'a> Http<'a> {
    fn new(rig: &'a Rig) -> Self {
        let endpoint = Endpoint::parse(rig.bridge.url()).unwrap();
        Self { rig, client: Client::new(endpoint, &Trust::Machine).unwrap(), session: None }
    }

    fn bare(&self, method: Method) -> Request {
        Request::new(method, self.client.endpoint().target().clone())
    }

    fn request(&self, method: Method) -> Request {
        let request = self
            .bare(method)
            .header(header::ACCEPT, value("application/json, text/event-stream"))
            .header(header::AUTHORIZATION, value(&format!("Bearer {}", self.rig.bridge.bearer())));
        match &self.session {
            Some(session) => request
                .header(HeaderName::from_static("mcp-session-id"), value(session))
                .header(VERSION, value("2025-11-25")),
            None => request,
        }
    }

    async fn send(&self, request: Request) -> Response {
        self.client.send(&request, || true).await.unwrap()
    }

    async fn status(&self, request: Request) -> u16 {
        self.send(request).await.status().as_u16()
    }

    async fn post(&self, body: &Value) -> Response {
        self.send(json_body(self.request(Method::POST)).body(body.to_string())).await
    }

    async fn open(rig: &'a Rig) -> Self {
        let mut http = Self::new(rig);
        let response = http.post(&request(0, "initialize", hello("2025-11-25"))).await;
        http.session = Some(response.headers()["mcp-session-id"].to_str().unwrap().into());
        http.post(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
        http
    }
}

const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

fn value(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).unwrap()
}

fn json_body(request: Request) -> Request {
    request.header(header::CONTENT_TYPE, value("application/json"))
}

async fn read(response: Response) -> Value {
    serde_json::from_slice(&response.body(1 << 20).await.unwrap()).unwrap()
}

fn request(id: u64, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

fn call(id: u64, arguments: Value) -> Value {
    request(id, "tools/call", json!({ "name": "up__get", "arguments": arguments }))
}

async fn http_rig(limits: Limits) -> Rig {
    let answer = |m: &Value| {
        let asked = &m["params"]["arguments"];
        let text = "x".repeat(usize::try_from(asked["bytes"].as_u64().unwrap_or(0)).unwrap());
        (m["method"] == "tools/call" && asked["never"] != true)
            .then(|| format!(r#"{{"content":[{{"type":"text","text":"ok{text}"}}]}}"#))
    };
    rig(vec![connection("up", task_upstream())], Children::task(scripted(answer)), limits).await
}

#[tokio::test]
async fn a_call_over_http_is_answered_as_json_and_delivered() {
    let rig = http_rig(Limits::default()).await;
    let http = Http::open(&rig).await;
    let response = http.post(&call(1, json!({}))).await;
    assert_eq!(response.headers()["content-type"], "application/json");
    let answer = read(response).await;
    assert_eq!(text(&answer), "ok");
    until("the gate hears of the delivery", || *rig.notes.delivered.lock().unwrap() == ["op_1"]).await;
    assert_eq!(http.status(http.request(Method::DELETE)).await, 204);
    assert_eq!(http.post(&call(2, json!({}))).await.status().as_u16(), 404);
}

#[tokio::test]
async fn who_is_not_the_runtime_is_turned_away_before_anything_is_read() {
    let rig = http_rig(Limits::default()).await;
    let http = Http::new(&rig);
    let post = || json_body(http.bare(Method::POST)).body("{");
    assert_eq!(http.status(post()).await, 401);
    assert_eq!(http.status(post().header(header::AUTHORIZATION, value("Bearer wrong"))).await, 401);
    let right = || json_body(http.request(Method::POST)).body("{");
    assert_eq!(http.status(right().header(header::ORIGIN, value("https://evil.example"))).await, 403);
    assert_eq!(http.status(right().header(header::HOST, value("evil.example"))).await, 403);
    assert_eq!(http.status(right()).await, 400);
}

#[tokio::test]
async fn odd_requests_get_a_clear_answer() {
    let rig = http_rig(Limits { message: 100_000, ..Limits::default() }).await;
    let http = Http::open(&rig).await;
    let bare = Http::new(&rig);
    for (body, status) in [
        ("".to_owned(), 400),
        ("[]".to_owned(), 400),
        ("{\"jsonrpc\":\"2.0\"}".to_owned(), 400),
        (format!("{{\"x\":\"{}\"}}", "y".repeat(200_000)), 413),
    ] {
        let response = http.send(json_body(http.request(Method::POST)).body(body)).await;
        assert_eq!(response.status().as_u16(), status);
        assert!(read(response).await["error"]["message"].is_string());
    }
    assert_eq!(http.status(http.request(Method::POST).body("{}")).await, 415);
    assert_eq!(bare.post(&call(1, json!({}))).await.status().as_u16(), 400);
    let probe = read(bare.post(&request(1, "server/discover", json!({}))).await).await;
    assert_eq!((&probe["id"], &probe["error"]["code"]), (&json!(1), &json!(-32601)));
    let odd = read(http.post(&request(2, "x/unknown", json!({}))).await).await;
    assert_eq!(odd["error"]["code"], -32601);
    let version = json_body(http.request(Method::POST)).header(VERSION, value("1999-01-01"));
    let status = http.status(version.body(call(3, json!({})).to_string())).await;
    assert!(matches!(status, 200 | 400));
    assert_eq!(http.status(http.request(Method::PUT)).await, 405);
}

#[tokio::test]
async fn an_answer_that_takes_its_time_becomes_a_stream_and_progress_comes_first() {
    let limits = Limits { quiet: Duration::from_millis(50), ..Limits::default() };
    let rig = http_rig(limits).await;
    let http = Http::open(&rig).await;
    let params = json!({ "name": "up__get", "arguments": {}, "_meta": { "progressToken": 7 } });
    let response = http.post(&request(1, "tools/call", params)).await;
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let body = String::from_utf8(response.body(1 << 20).await.unwrap()).unwrap();
    let (progress, answer) = (body.find("notifications/progress").unwrap(), body.find("\"result\"").unwrap());
    assert!(progress < answer, "{body}");
    until("the stream's answer counts as delivered", || rig.notes.delivered.lock().unwrap().len() == 1).await;

    let mut response = http.post(&call(2, json!({ "never": true }))).await;
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let first = response.chunk().await.unwrap().unwrap();
    assert!(first.starts_with(b"id: stream-") && first.ends_with(b"\nretry: 500\ndata: \n\n"), "{first:?}");
    drop(response);
    assert_eq!(rig.bridge.in_flight().len(), 1, "hanging up is no cancel");
}

static OPEN: AtomicBool = AtomicBool::new(false);

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn g04_who_comes_back_for_a_stream_hears_the_rest_once_and_nothing_is_done_again() {
    let answer = |m: &Value| {
        while m["method"] == "tools/call" && !OPEN.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(5));
        }
        (m["method"] == "tools/call").then(|| r#"{"content":[{"type":"text","text":"ok"}]}"#.to_owned())
    };
    let limits = Limits { quiet: Duration::from_millis(50), ..Limits::default() };
    let rig = rig(vec![connection("up", task_upstream())], Children::task(scripted(answer)), limits).await;
    let http = Http::open(&rig).await;
    let mut response = http.post(&call(1, json!({}))).await;
    let first = String::from_utf8(response.chunk().await.unwrap().unwrap().to_vec()).unwrap();
    let id = first.lines().next().unwrap().strip_prefix("id: ").unwrap().to_owned();
    drop(response);
    let back = |id: &str| http.request(Method::GET).header(LAST_EVENT, value(id));
    let rest = loop {
        let response = http.send(back(&id)).await;
        if response.status().as_u16() == 200 {
            break response;
        }
        assert_eq!(response.status().as_u16(), 400);
    };
    OPEN.store(true, Ordering::SeqCst);
    let rest = String::from_utf8(rest.body(1 << 20).await.unwrap()).unwrap();
    assert!(rest.contains("\"id\":1") && rest.contains("\"ok\""), "{rest}");
    until("it counts as delivered", || *rig.notes.delivered.lock().unwrap() == ["op_1"]).await;
    assert_eq!(http.status(back(&id)).await, 400, "once");
    assert_eq!(http.status(back("stream-99")).await, 400);
    assert_eq!(rig.notes.outcomes(), ["answered"]);
}

#[tokio::test]
async fn what_nobody_asked_comes_over_the_get_stream_once() {
    let rig = http_rig(Limits::default()).await;
    let http = Http::open(&rig).await;
    http.post(&request(1, "tools/list", json!({}))).await;
    let mut stream = http.send(http.request(Method::GET)).await;
    assert_eq!(stream.headers()["content-type"], "text/event-stream");
    assert_eq!(http.status(http.request(Method::GET)).await, 409);
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

/// More than the buffers of both ends of a socket take.
const LARGE: u64 = 24 << 20;

#[tokio::test]
async fn g04_an_answer_that_did_not_leave_whole_was_not_delivered() {
    let rig = http_rig(Limits::default()).await;
    let http = Http::open(&rig).await;
    for (number, meta) in [(1, json!({})), (2, json!({ "progressToken": 7 }))] {
        let params = json!({ "name": "up__get", "arguments": { "bytes": LARGE }, "_meta": meta });
        let response = http.post(&request(number, "tools/call", params)).await;
        until("the outcome", || rig.notes.outcomes().len() as u64 == number).await;
        drop(response);
        until("the caller is gone", || rig.notes.undelivered.load(Ordering::Relaxed) == number).await;
        assert!(rig.notes.delivered.lock().unwrap().is_empty());
    }
    let params = json!({ "name": "up__get", "arguments": { "bytes": LARGE } });
    let response = http.post(&request(3, "tools/call", params)).await;
    assert!(response.body(32 << 20).await.unwrap().len() as u64 > LARGE);
    until("who reads it all has it", || *rig.notes.delivered.lock().unwrap() == ["op_3"]).await;
}
