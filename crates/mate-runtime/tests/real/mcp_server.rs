//! The smallest MCP server over HTTP: answers as JSON, or as a stream of events in chunks.

use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

pub(crate) struct McpServer {
    port: u16,
    heads: Arc<Mutex<Vec<String>>>,
}

impl McpServer {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let heads = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&heads);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&heard)));
            }
        });
        Self { port, heads }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    /// The heads of all requests, in lower case but for the values.
    pub(crate) fn heard(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

async fn serve(mut stream: TcpStream, heads: Arc<Mutex<Vec<String>>>) {
    let mut bytes = Vec::new();
    let (head, length) = loop {
        stream.read_buf(&mut bytes).await.unwrap();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let head = head.to_ascii_lowercase();
            let length: usize =
                head.split("content-length: ").nth(1).unwrap().split("\r\n").next().unwrap().parse().unwrap();
            if body.len() >= length {
                break (head, length);
            }
        }
    };
    heads.lock().unwrap().push(head);
    let request: Value = serde_json::from_slice(&bytes[bytes.len() - length..]).unwrap();
    let Some(id) = request.get("id") else {
        stream.write_all(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n").await.unwrap();
        return;
    };
    let answer = json!({"jsonrpc": "2.0", "id": id, "result": result(&request)}).to_string();
    let reply = if request["params"]["name"] == "stream" {
        let progress = json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {}});
        let events = format!(": hello\n\ndata: {progress}\n\nevent: message\ndata: {answer}\n\n");
        let (a, b) = events.split_at(events.len() / 2);
        let chunks = format!("{:x}\r\n{a}\r\n{:x}\r\n{b}\r\n0\r\n\r\n", a.len(), b.len());
        format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}"
        )
    } else {
        format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{answer}",
            answer.len()
        )
    };
    stream.write_all(reply.as_bytes()).await.unwrap();
}

fn result(request: &Value) -> Value {
    match request["method"].as_str().unwrap() {
        "initialize" => {
            json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "t", "version": "1"}})
        }
        "tools/list" => json!({"tools": [{"name": "c__echo"}, {"name": "stream"}]}),
        _ => json!({"content": [{"type": "text", "text": request["params"]["arguments"].to_string()}]}),
    }
}
