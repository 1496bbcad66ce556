//! A small MCP client, over a program's pipes or over HTTP.

use super::{http::Http, pipe::Pipe};
use serde_json::{Value, json};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

const PROTOCOL: &str = "2025-11-25";
const HANDSHAKE: Duration = Duration::from_secs(60);

/// One MCP server of a session.
#[derive(Clone)]
pub(super) struct Mcp(Arc<Inner>);

struct Inner {
    server: Value,
    way: Way,
    last_id: AtomicU64,
}

enum Way {
    Pipe(Pipe),
    Http(Http),
}

impl Mcp {
    /// Connects to a server as `session/new` describes it.
    pub(super) async fn connect(server: &Value) -> Result<Self, String> {
        let way = if server["type"] == "http" {
            Way::Http(Http::new(server)?)
        } else {
            Way::Pipe(Pipe::start(server)?)
        };
        let mcp = Self(Arc::new(Inner { server: server.clone(), way, last_id: AtomicU64::new(0) }));
        let hello = json!({
            "protocolVersion": PROTOCOL, "capabilities": {"elicitation": {}},
            "clientInfo": {"name": "scripted-runtime", "version": env!("CARGO_PKG_VERSION")},
        });
        tokio::time::timeout(HANDSHAKE, async {
            let welcome = mcp.request(mcp.next_id(), "initialize", hello).await?;
            if let Way::Http(http) = &mcp.0.way {
                http.agreed(welcome["protocolVersion"].as_str().unwrap_or(PROTOCOL));
            }
            mcp.notify("notifications/initialized", json!({})).await
        })
        .await
        .map_err(|_| "the MCP server does not introduce itself".to_owned())??;
        Ok(mcp)
    }

    /// What it is to be shown as a bearer, if anything.
    pub(super) fn bearer(&self) -> Option<String> {
        let headers = self.0.server["headers"].as_array()?;
        let value = headers.iter().find(|header| header["name"] == "Authorization")?["value"].as_str()?;
        value.strip_prefix("Bearer ").map(str::to_owned)
    }

    /// Another client of the same server.
    pub(super) async fn again(&self) -> Result<Self, String> {
        Self::connect(&self.0.server).await
    }

    /// The names of its tools.
    pub(super) async fn tools(&self) -> Result<Vec<String>, String> {
        let mut names = Vec::new();
        let mut page = json!({});
        for _ in 0..100 {
            let answer = self.request(self.next_id(), "tools/list", page).await?;
            let tools = answer["tools"].as_array().into_iter().flatten();
            names.extend(tools.filter_map(|tool| tool["name"].as_str()).map(str::to_owned));
            match answer["nextCursor"].as_str() {
                Some(cursor) => page = json!({"cursor": cursor}),
                None => break,
            }
        }
        Ok(names)
    }

    /// A fresh id, so that a call can be cancelled by whoever makes it.
    pub(super) fn next_id(&self) -> u64 {
        self.0.last_id.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Calls a tool; what comes back is the whole result, with `isError` in it.
    pub(super) async fn call(
        &self,
        id: u64,
        tool: &str,
        args: &Value,
        call_id: &str,
    ) -> Result<Value, String> {
        let args = if args.is_null() { json!({}) } else { args.clone() };
        let meta = json!({"progressToken": id, "callId": call_id});
        self.request(id, "tools/call", json!({"name": tool, "arguments": args, "_meta": meta})).await
    }

    /// Says that nobody waits for a call any more.
    pub(super) async fn cancel(&self, id: u64) {
        let params = json!({"requestId": id, "reason": "the turn was cancelled"});
        // The server may be gone, and then nothing is left to cancel.
        let _ = tokio::time::timeout(Duration::from_secs(2), self.notify("notifications/cancelled", params))
            .await;
    }

    async fn notify(&self, method: &str, params: Value) -> Result<(), String> {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        match &self.0.way {
            Way::Pipe(pipe) => pipe.send(&message).await,
            Way::Http(http) => http.post(&message, None).await.map(|_| ()),
        }
    }

    async fn request(&self, id: u64, method: &str, params: Value) -> Result<Value, String> {
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let answer = match &self.0.way {
            Way::Pipe(pipe) => pipe.request(id, &message).await?,
            Way::Http(http) => http.post(&message, Some(id)).await?,
        };
        match answer.get("error") {
            Some(error) => Err(error["message"].as_str().unwrap_or("an error without words").to_owned()),
            None => Ok(answer["result"].clone()),
        }
    }
}
