//! What upstreams say unasked: bounded, and only of their own.

use crate::support::{Children, connection, http, rig, standard, task_upstream, text, until};
use axum::response::sse::{Event, Sse};
use futures_util::StreamExt;
use mate_bridge::Limits;
use serde_json::{Value, json};
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};

/// Counts while it lives.
struct Open(Arc<AtomicUsize>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// An upstream that asks 500 questions while a call goes on, and takes no answer. Its address, how many answers are open
/// at it, and the most that ever were; the call is answered when the gate opens.
async fn asking_http(
    gate: tokio::sync::watch::Receiver<bool>,
) -> (String, Arc<AtomicUsize>, Arc<AtomicUsize>) {
    let (open, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let counts = (Arc::clone(&open), Arc::clone(&most));
    let handle = move |body: String| {
        let (open, most) = (Arc::clone(&counts.0), Arc::clone(&counts.1));
        let mut gate = gate.clone();
        async move {
            let m: Value = serde_json::from_str(&body).unwrap();
            let id = m["id"].clone();
            if m.get("method").is_none() {
                most.fetch_max(open.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                let _open = Open(open);
                std::future::pending::<()>().await;
            }
            let mut said = Vec::new();
            let calls = m["method"] == "tools/call";
            if calls {
                let ping =
                    |n| json!({ "jsonrpc": "2.0", "id": format!("q{n}"), "method": "ping" }).to_string();
                said.extend((0..500).map(ping));
            }
            let result =
                standard(&m).unwrap_or_else(|| r#"{"content":[{"type":"text","text":"ok"}]}"#.into());
            let answer = match m["method"].as_str() {
                Some("server/discover") => {
                    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32601, "message": "?" } })
                        .to_string()
                }
                _ => format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}"),
            };
            let last = async move {
                if calls {
                    gate.wait_for(|open| *open).await.ok();
                }
                answer
            };
            let events = futures_util::stream::iter(said).chain(futures_util::stream::once(last));
            Sse::new(events.map(|text| Ok::<_, std::convert::Infallible>(Event::default().data(text))))
        }
    };
    let app = axum::Router::new().route("/mcp", axum::routing::post(handle));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await });
    (url, open, most)
}

#[tokio::test]
async fn what_an_http_upstream_asks_is_answered_within_bounds_and_ends_with_the_call() {
    let (release, gate) = tokio::sync::watch::channel(false);
    let (url, open, most) = asking_http(gate).await;
    let rig = rig(vec![connection("up", http(&url))], Children::default(), Limits::default()).await;
    let mut client = rig.client().await;
    client.send(1, "tools/call", &json!({ "name": "up__get", "arguments": {} })).await;
    let dropped =
        || rig.notes.diagnostics.lock().unwrap().iter().filter(|d| d.contains("asks too much")).count();
    until("some of its questions are dropped", || dropped() > 0).await;
    until("the others are answered", || open.load(Ordering::SeqCst) == 16).await;
    release.send(true).unwrap();
    assert_eq!(text(&client.answer(1).await), "ok");
    until("nothing is left of them", || open.load(Ordering::SeqCst) == 0).await;
    assert_eq!((most.load(Ordering::SeqCst), dropped()), (16, 1), "and the log hears of it once");
}

/// An upstream over lines that is told of each request, and says what it is given in reply.
fn speaking(
    say: impl Fn(&Value) -> Vec<String> + Send + Sync + 'static,
) -> impl Fn(DuplexStream) + Send + Sync + 'static {
    let say = Arc::new(say);
    move |stream| {
        let say = Arc::clone(&say);
        tokio::spawn(async move {
            let (reader, mut writer) = tokio::io::split(stream);
            let mut lines = BufReader::new(reader).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                let message: Value = serde_json::from_str(&line).unwrap();
                for text in say(&message) {
                    if writer.write_all(format!("{text}\n").as_bytes()).await.is_err() {
                        return;
                    }
                }
            }
        });
    }
}

fn answer(message: &Value) -> Vec<String> {
    if message.get("id").is_none() || message.get("method").is_none() {
        return Vec::new();
    }
    let id = &message["id"];
    if message["method"] == "server/discover" {
        return vec![
            json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32601, "message": "?" } }).to_string(),
        ];
    }
    let result = standard(message).unwrap_or_else(|| r#"{"content":[{"type":"text","text":"ok"}]}"#.into());
    vec![format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}")]
}

#[expect(clippy::disallowed_methods, reason = "it measures pauses")]
#[tokio::test]
async fn an_upstream_that_changes_at_each_list_is_not_listed_without_end() {
    let lists = Arc::new(Mutex::new(Vec::new()));
    let times = Arc::clone(&lists);
    let children = Children::task(speaking(move |message| {
        let mut said = Vec::new();
        if message["method"] == "tools/list" {
            times.lock().unwrap().push(Instant::now());
            said.push(json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" }).to_string());
        }
        said.extend(answer(message));
        said
    }));
    let rig = rig(vec![connection("up", task_upstream())], children, Limits::default()).await;
    let mut client = rig.client().await;
    client.ask(1, "tools/list", &json!({})).await;
    until("it was listed again and again", || lists.lock().unwrap().len() >= 5).await;
    let times = lists.lock().unwrap().clone();
    let pauses: Vec<Duration> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    for (pause, least) in pauses.iter().zip([40, 90, 190, 390]) {
        assert!(*pause >= Duration::from_millis(least), "{pauses:?}");
    }
}

#[tokio::test]
async fn only_the_upstream_that_has_a_call_speaks_of_its_progress() {
    let children = Children::task(speaking(|message| {
        let arguments = &message["params"]["arguments"];
        let progress = |token: u64, text: &str| {
            let params = json!({ "progressToken": token, "progress": 1, "message": text });
            json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params }).to_string()
        };
        if arguments["hang"] == true {
            let token = message["params"]["_meta"]["progressToken"].as_u64().unwrap();
            return vec![progress(token, "its own")];
        }
        let mut said = Vec::new();
        if arguments["forge"] == true {
            said.extend((0..100).map(|token| progress(token, "another's")));
        }
        said.extend(answer(message));
        said
    }));
    let connections = vec![connection("up", task_upstream()), connection("other", task_upstream())];
    let rig = rig(connections, children, Limits::default()).await;
    let mut client = rig.client().await;
    client.ask(1, "tools/list", &json!({})).await;
    let meta = json!({ "progressToken": "mine" });
    let hang = json!({ "name": "up__get", "arguments": { "hang": true }, "_meta": meta });
    client.send(2, "tools/call", &hang).await;
    while !client.read().await.contains("its own") {}
    client.send(3, "tools/call", &json!({ "name": "other__get", "arguments": { "forge": true } })).await;
    loop {
        let line = client.read().await;
        assert!(!line.contains("another's"), "{line}");
        if line.contains(r#""id":3"#) {
            break;
        }
    }
}
