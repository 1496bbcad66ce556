//! MCP over Streamable HTTP: one connection for each message, to a server on this machine.

use serde_json::Value;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::{
    io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpStream,
};

/// A server behind an address.
pub(super) struct Http {
    authority: String,
    path: String,
    /// Sent with each message: as configured, then the protocol's own.
    headers: Mutex<Vec<(String, String)>>,
}

impl Http {
    pub(super) fn new(server: &Value) -> Result<Self, String> {
        let url = server["url"].as_str().ok_or("the MCP server has no url")?;
        let rest = url.strip_prefix("http://").ok_or("only http:// is known here")?;
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let headers = server["headers"].as_array().into_iter().flatten();
        let headers = headers
            .filter_map(|header| {
                Some((header["name"].as_str()?.to_owned(), header["value"].as_str()?.to_owned()))
            })
            .collect();
        Ok(Self { authority: authority.to_owned(), path: format!("/{path}"), headers: Mutex::new(headers) })
    }

    fn headers(&self) -> MutexGuard<'_, Vec<(String, String)>> {
        self.headers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on this version is spoken.
    pub(super) fn agreed(&self, version: &str) {
        self.headers().push(("MCP-Protocol-Version".to_owned(), version.to_owned()));
    }

    /// Sends a message; waits for the answer to `id`, if there is one to wait for.
    pub(super) async fn post(&self, message: &Value, id: Option<u64>) -> Result<Value, String> {
        self.exchange(message, id).await.map_err(|error| format!("http://{}: {error}", self.authority))
    }

    async fn exchange(&self, message: &Value, id: Option<u64>) -> std::io::Result<Value> {
        let stream = TcpStream::connect(&self.authority).await?;
        stream.set_nodelay(true)?;
        let mut stream = BufReader::new(stream);
        let body = message.to_string();
        let mut head = format!("POST {} HTTP/1.1\r\nHost: {}\r\n", self.path, self.authority);
        for (name, value) in self.headers().iter() {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n");
        head.push_str(&format!("Connection: close\r\nContent-Length: {}\r\n\r\n{body}", body.len()));
        stream.write_all(head.as_bytes()).await?;
        let reply = Reply::read(&mut stream).await?;
        if let Some(session) = &reply.session {
            let mut headers = self.headers();
            if !headers.iter().any(|(name, _)| name == "Mcp-Session-Id") {
                headers.push(("Mcp-Session-Id".to_owned(), session.clone()));
            }
        }
        if !(200..300).contains(&reply.status) {
            return Err(other(&format!("HTTP status {}", reply.status)));
        }
        let Some(id) = id else { return Ok(Value::Null) };
        let mut body =
            Body { stream, chunked: reply.chunked, left: reply.length.unwrap_or(u64::MAX), started: false };
        if reply.events {
            body.event_answering(id).await
        } else {
            Ok(serde_json::from_slice(&body.whole().await?)?)
        }
    }
}

#[derive(Default)]
struct Reply {
    status: u16,
    session: Option<String>,
    events: bool,
    chunked: bool,
    length: Option<u64>,
}

impl Reply {
    async fn read(stream: &mut (impl AsyncBufRead + Unpin)) -> std::io::Result<Self> {
        let mut reply = Self::default();
        let first = line(stream).await?;
        let status = first.split(' ').nth(1).and_then(|status| status.parse().ok());
        reply.status = status.ok_or_else(|| other("no HTTP answer"))?;
        loop {
            let header = line(stream).await?;
            let Some((name, value)) = header.split_once(':') else { return Ok(reply) };
            let value = value.trim();
            match name.to_ascii_lowercase().as_str() {
                "mcp-session-id" => reply.session = Some(value.to_owned()),
                "content-type" => reply.events = value.starts_with("text/event-stream"),
                "transfer-encoding" => reply.chunked = value.eq_ignore_ascii_case("chunked"),
                "content-length" => reply.length = value.parse().ok(),
                _ => {}
            }
        }
    }
}

struct Body<S> {
    stream: S,
    chunked: bool,
    /// Bytes left of the chunk, or of the body.
    left: u64,
    started: bool,
}

impl<S: AsyncBufRead + Unpin> Body<S> {
    /// The next bytes; none at the end.
    async fn more(&mut self) -> std::io::Result<Vec<u8>> {
        if self.chunked && (!self.started || self.left == 0) {
            if self.started {
                line(&mut self.stream).await?;
            }
            self.started = true;
            let size = line(&mut self.stream).await?;
            let size = size.split(';').next().unwrap_or_default().trim().to_owned();
            self.left = u64::from_str_radix(&size, 16).map_err(|_| other("a chunk without a size"))?;
        }
        let mut bytes = vec![0; usize::try_from(self.left.min(64 << 10)).unwrap_or_default()];
        let count = if bytes.is_empty() { 0 } else { self.stream.read(&mut bytes).await? };
        bytes.truncate(count);
        self.left -= count as u64;
        Ok(bytes)
    }

    async fn whole(&mut self) -> std::io::Result<Vec<u8>> {
        let mut whole = Vec::new();
        loop {
            let bytes = self.more().await?;
            if bytes.is_empty() {
                return Ok(whole);
            }
            whole.extend(bytes);
        }
    }

    /// Reads events until one of them answers the request.
    async fn event_answering(&mut self, id: u64) -> std::io::Result<Value> {
        let (mut pending, mut data) = (Vec::new(), String::new());
        loop {
            let bytes = self.more().await?;
            if bytes.is_empty() {
                return Err(other("the stream ended before the answer"));
            }
            pending.extend(bytes);
            while let Some(end) = pending.iter().position(|byte| *byte == b'\n') {
                let rest = pending.split_off(end + 1);
                let line = String::from_utf8_lossy(&std::mem::replace(&mut pending, rest)).into_owned();
                let line = line.trim_end_matches(['\r', '\n']);
                if let Some(more) = line.strip_prefix("data:") {
                    data.push_str(more.strip_prefix(' ').unwrap_or(more));
                } else if line.is_empty() {
                    let message: Value = serde_json::from_str(&std::mem::take(&mut data)).unwrap_or_default();
                    if message["id"] == id && message.get("method").is_none() {
                        return Ok(message);
                    }
                }
            }
        }
    }
}

async fn line(stream: &mut (impl AsyncBufRead + Unpin)) -> std::io::Result<String> {
    let mut text = String::new();
    if stream.read_line(&mut text).await? == 0 {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    Ok(text.trim_end().to_owned())
}

fn other(why: &str) -> std::io::Error {
    std::io::Error::other(why.to_owned())
}
