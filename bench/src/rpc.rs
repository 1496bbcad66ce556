//! A raw MCP client over Streamable HTTP, with no SDK in the way of the measurement.

use anyhow::{Context, bail};
use futures_util::StreamExt;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use serde_json::{Value, json};

const PROTOCOL: &str = "2025-11-25";

/// Where to call, and with which bearer token if one is needed.
#[derive(Clone, Debug, serde::Deserialize)]
pub(crate) struct Target {
    pub(crate) url: String,
    #[serde(default)]
    pub(crate) bearer: Option<String>,
}

/// One initialised MCP session.
pub(crate) struct Session {
    http: reqwest::Client,
    target: Target,
    protocol: String,
    id: Option<String>,
}

impl Session {
    /// Opens a session of its own, over connections of its own.
    pub(crate) async fn open(target: &Target) -> anyhow::Result<Self> {
        let http = reqwest::Client::builder()
            .no_proxy()
            .tcp_nodelay(true)
            .timeout(std::time::Duration::from_secs(60))
            .build()?;
        let mut session = Self { http, target: target.clone(), protocol: PROTOCOL.into(), id: None };
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": {"name": "mate-bench", "version": "1"}}});
        let response = session.post(&hello).await?;
        let id = response.headers().get("mcp-session-id").and_then(|v| v.to_str().ok()).map(str::to_owned);
        let answer = answer_to(response, &hello["id"]).await?;
        let Some(protocol) = answer["result"]["protocolVersion"].as_str() else {
            bail!("no handshake: {answer}")
        };
        session.protocol = protocol.to_owned();
        session.id = id;
        let ready = session.post(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await?;
        ready.error_for_status()?.bytes().await?;
        Ok(session)
    }

    /// Calls a tool. An error answer, of the protocol's or of the tool's, is an error here.
    pub(crate) async fn call(&self, id: u64, tool: &str, arguments: &Value) -> anyhow::Result<()> {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": {"name": tool, "arguments": arguments}});
        let answer = answer_to(self.post(&request).await?, &request["id"]).await?;
        if answer.get("error").is_some() || answer["result"]["isError"] == true {
            bail!("{answer}");
        }
        Ok(())
    }

    async fn post(&self, body: &Value) -> anyhow::Result<reqwest::Response> {
        let mut request = self
            .http
            .post(&self.target.url)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream")
            .body(body.to_string());
        if body["method"] != "initialize" {
            request = request.header("mcp-protocol-version", &self.protocol);
        }
        if let Some(id) = &self.id {
            request = request.header("mcp-session-id", id);
        }
        if let Some(bearer) = &self.target.bearer {
            request = request.header(AUTHORIZATION, format!("Bearer {bearer}"));
        }
        request.send().await.context("send")
    }
}

/// The answer to request `id`, from a JSON body or from an event stream that carries it.
async fn answer_to(response: reqwest::Response, id: &Value) -> anyhow::Result<Value> {
    let status = response.status();
    if !status.is_success() {
        bail!("HTTP {status}: {}", response.text().await.unwrap_or_default());
    }
    let kind = response.headers().get(CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
    if !kind.starts_with("text/event-stream") {
        let body = response.bytes().await.context("body")?;
        return serde_json::from_slice(&body).context("the body is not JSON");
    }
    let mut stream = response.bytes_stream();
    let mut buffer: Vec<u8> = Vec::new();
    while let Some(chunk) = stream.next().await {
        buffer.extend_from_slice(&chunk.context("event stream")?);
        while let Some(end) = buffer.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = buffer.drain(..=end).collect();
            let Some(data) = line.strip_prefix(b"data:") else { continue };
            let Ok(message) = serde_json::from_slice::<Value>(data) else { continue };
            if message["id"] == *id && (message.get("result").is_some() || message.get("error").is_some()) {
                return Ok(message);
            }
        }
    }
    bail!("the event stream ended with no answer")
}
