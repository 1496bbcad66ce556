//! Upstreams that answer with exactly the text a test wants.

use serde_json::{Value, json};
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};
use tokio::io::{
    AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, DuplexStream,
};

/// An upstream over an in-memory pipe: `answer` maps a request (as it came) to the `result` text, to `error:` and the
/// text of an error, or to nothing.
pub(crate) fn scripted(
    answer: impl Fn(&Value) -> Option<String> + Send + Sync + 'static,
) -> impl Fn(DuplexStream) + Send + Sync + 'static {
    let answer = Arc::new(answer);
    move |stream| {
        let answer = Arc::clone(&answer);
        tokio::spawn(async move {
            let (reader, mut writer) = tokio::io::split(stream);
            let mut lines = BufReader::new(reader).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
                if message.get("id").is_none() || message.get("method").is_none() {
                    continue;
                }
                let result = answer(&message).or_else(|| standard(&message)).or_else(|| unasked(&message));
                if let Some(result) = result {
                    let (member, value) = match result.strip_prefix("error:") {
                        Some(error) => ("error", error),
                        None => ("result", result.as_str()),
                    };
                    let text =
                        format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"{member}\":{value}}}\n", message["id"]);
                    if writer.write_all(text.as_bytes()).await.is_err() {
                        return;
                    }
                }
            }
        });
    }
}

/// What an upstream of the old era says when it is asked whether it does without sessions.
pub(crate) fn unasked(message: &Value) -> Option<String> {
    let unknown = r#"error:{"code":-32601,"message":"Method not found"}"#;
    (message["method"] == "server/discover").then(|| unknown.to_owned())
}

/// Handshake and a list with one tool `get` that takes anything.
pub(crate) fn standard(message: &Value) -> Option<String> {
    match message["method"].as_str()? {
        "initialize" => Some(
            json!({ "protocolVersion": message["params"]["protocolVersion"], "capabilities": { "tools": {} },
                    "serverInfo": { "name": "scripted", "version": "1" } })
            .to_string(),
        ),
        "tools/list" => {
            Some(json!({ "tools": [{ "name": "get", "inputSchema": { "type": "object" } }] }).to_string())
        }
        _ => None,
    }
}

/// A raw HTTP upstream: `answer` gives the whole body (and content type) for a request's JSON.
pub(crate) async fn raw_http(
    answer: impl Fn(&Value) -> Option<(&'static str, String)> + Send + Sync + 'static,
) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let answer = Arc::new(answer);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let answer = Arc::clone(&answer);
            tokio::spawn(async move { serve_http(stream, &*answer, true).await });
        }
    });
    url
}

pub(crate) async fn serve_http(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    answer: &(dyn Fn(&Value) -> Option<(&'static str, String)> + Send + Sync),
    keep: bool,
) -> Option<()> {
    loop {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.ok()?);
        }
        let head = String::from_utf8(head).ok()?.to_ascii_lowercase();
        let length =
            head.lines().find_map(|l| l.strip_prefix("content-length: ")?.trim().parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await.ok()?;
        if !head.starts_with("post") {
            stream
                .write_all(b"HTTP/1.1 405 no\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
                .await
                .ok()?;
            return None;
        }
        let message: Value = serde_json::from_slice(&body).ok()?;
        if message.get("id").is_none() || message.get("method").is_none() {
            let connection: &[u8] = if keep { b"" } else { b"connection: close\r\n" };
            let answer = [b"HTTP/1.1 202 ok\r\ncontent-length: 0\r\n", connection, b"\r\n"].concat();
            stream.write_all(&answer).await.ok()?;
            if !keep {
                return None;
            }
            continue;
        }
        let made = answer(&message).or_else(|| {
            if message["method"] == "server/discover" {
                let error = json!({ "code": -32601, "message": "Method not found" });
                let text = json!({ "jsonrpc": "2.0", "id": message["id"], "error": error }).to_string();
                return Some(("application/json", text));
            }
            let result = standard(&message)?;
            let text = format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{result}}}", message["id"]);
            Some(("application/json", text))
        });
        let (kind, text) = made?;
        let head =
            format!("HTTP/1.1 200 ok\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n", text.len());
        stream.write_all(head.as_bytes()).await.ok()?;
        stream.write_all(text.as_bytes()).await.ok()?;
        if !keep {
            return None;
        }
    }
}

/// Serves the standard answers; ends, with every connection, when its task is aborted.
pub(crate) async fn serve_listener(listener: tokio::net::TcpListener) {
    let mut tasks = tokio::task::JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        tasks.spawn(async move {
            let plain = |m: &Value| {
                let result = standard(m)?;
                Some((
                    "application/json",
                    format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{result}}}", m["id"]),
                ))
            };
            serve_http(stream, &plain, false).await;
        });
    }
}

/// Answers one request on each connection and then closes it without a word. It runs in a thread of its own, so that it
/// goes on while the test's runtime stands still. Its address, and how many connections have answered and not closed.
pub(crate) fn closing_http() -> (String, Arc<AtomicUsize>) {
    let open = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&open);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            while let Ok((stream, _)) = listener.accept().await {
                let answered = AtomicUsize::new(0);
                let answer = |m: &Value| {
                    answered.store(1, Ordering::SeqCst);
                    counted.fetch_add(1, Ordering::SeqCst);
                    let result =
                        standard(m).unwrap_or_else(|| r#"{"content":[{"type":"text","text":"ok"}]}"#.into());
                    let text = format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{result}}}", m["id"]);
                    Some(("application/json", text))
                };
                serve_http(stream, &answer, false).await;
                counted.fetch_sub(answered.into_inner(), Ordering::SeqCst);
            }
        });
    });
    (url, open)
}

/// Answers calls with `slow: true` only once the gate opens; the others at once.
pub(crate) async fn slow_http(gate: tokio::sync::watch::Receiver<bool>) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let handle = move |body: String| {
        let mut gate = gate.clone();
        async move {
            let m: Value = serde_json::from_str(&body).unwrap();
            if m["params"]["arguments"]["slow"] == true {
                gate.wait_for(|open| *open).await.ok();
            }
            let result =
                standard(&m).unwrap_or_else(|| r#"{"content":[{"type":"text","text":"fast"}]}"#.into());
            let text = format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{result}}}", m["id"]);
            ([("content-type", "application/json")], text)
        }
    };
    let app = axum::Router::new().route("/mcp", axum::routing::post(handle));
    tokio::spawn(async move { axum::serve(listener, app).await });
    url
}

/// Answers a call with a stream that ends after its first event; the answer comes to who resumes after it.
pub(crate) async fn resuming_http(calls: Arc<std::sync::atomic::AtomicU64>) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let id = Arc::new(std::sync::Mutex::new(Value::Null));
    let asked = Arc::clone(&id);
    let post = move |body: String| async move {
        let m: Value = serde_json::from_str(&body).unwrap();
        if m["method"] == "tools/call" {
            calls.fetch_add(1, Ordering::Relaxed);
            *asked.lock().unwrap() = m["id"].clone();
            return ([("content-type", "text/event-stream")], "id: 7\nretry: 1\ndata: \n\n".to_owned());
        }
        let result = standard(&m).unwrap_or_else(|| "{}".into());
        let text = format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{result}}}", m["id"]);
        ([("content-type", "application/json")], text)
    };
    let get = move |headers: http::HeaderMap| async move {
        let Some(last) = headers.get("last-event-id").and_then(|v| v.to_str().ok()) else {
            return (http::StatusCode::METHOD_NOT_ALLOWED, [("content-type", "text/plain")], String::new());
        };
        let result = json!({ "content": [{ "type": "text", "text": format!("resumed after {last}") }] });
        let answer = json!({ "jsonrpc": "2.0", "id": *id.lock().unwrap(), "result": result });
        (http::StatusCode::OK, [("content-type", "text/event-stream")], format!("data: {answer}\n\n"))
    };
    let app = axum::Router::new().route("/mcp", axum::routing::post(post).get(get));
    tokio::spawn(async move { axum::serve(listener, app).await });
    url
}
