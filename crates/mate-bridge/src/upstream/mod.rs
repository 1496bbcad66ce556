//! Upstream MCP servers: one trait, one implementation per transport.
//!
//! Transport truth is the point of this module: every request ends as answered, as proved not to
//! have been sent, or as unknown; and nothing here ever sends a request a second time.

mod door;
mod dress;
mod http;
mod http_answer;
mod http_new;
mod inbound;
mod knock;
mod own;
mod progress;
mod reply;
mod sse;
mod stdio;
mod stdio_link;

pub(crate) use door::Door;
pub(crate) use http::HttpUpstream;
pub(crate) use inbound::Inbound;
pub(crate) use knock::{Knock, is_refused, knocks};
pub use progress::Progress;
pub(crate) use progress::ProgressSink;
pub(crate) use reply::{End, Race, Reply};
pub(crate) use sse::Events as SseEvents;
pub(crate) use stdio::StdioUpstream;

use crate::core::{OLD_UPSTREAM_VERSIONS, Object, VERSIONS, bounded, raw};
use async_trait::async_trait;
use serde_json::{json, value::RawValue};
use std::sync::Arc;

/// The version of the protocol in which calls can be carried out as tasks.
const TASKS_SINCE: &str = "2025-11-25";

/// A request on its way to an upstream.
pub(crate) struct Outgoing {
    /// Its JSON-RPC id, unique in this bridge.
    pub(crate) id: u64,
    pub(crate) method: &'static str,
    pub(crate) params: Box<RawValue>,
    /// Arguments that the tool wants in headers as well, where there are headers (2026-07-28).
    pub(crate) mirrored: Vec<(String, String)>,
    /// Where its one end goes.
    pub(crate) reply: Reply,
}

/// What an upstream said of itself in the handshake.
#[derive(Debug, Clone, Default)]
pub(crate) struct Hello {
    pub(crate) version: String,
    /// It speaks without sessions (2026-07-28).
    pub(crate) new: bool,
    pub(crate) tools: bool,
    /// It tells when its lists change.
    pub(crate) tells_tools: bool,
    pub(crate) tells_prompts: bool,
    pub(crate) tells_resources: bool,
    pub(crate) resources: bool,
    pub(crate) subscribe: bool,
    pub(crate) prompts: bool,
    pub(crate) completions: bool,
    pub(crate) logging: bool,
    /// It carries calls out as tasks, where the tool says so.
    pub(crate) tasks: bool,
    /// It takes `tasks/cancel`.
    pub(crate) cancels_tasks: bool,
    pub(crate) instructions: Option<String>,
}

impl Hello {
    /// Reads the result of `initialize`.
    pub(crate) fn read(result: &RawValue) -> Result<Self, String> {
        let object =
            Object::parse(result).map_err(|e| format!("its initialize result cannot be read: {e}"))?;
        let version = object.text("protocolVersion").unwrap_or_default();
        if !VERSIONS.contains(&version.as_str()) && !OLD_UPSTREAM_VERSIONS.contains(&version.as_str()) {
            let shown = bounded(&version);
            return Err(format!("it speaks protocol version {shown}, which Agent Mate does not"));
        }
        let can = object.object("capabilities").unwrap_or_default();
        let tasks = can.object("tasks").unwrap_or_default();
        let calls = tasks.object("requests").and_then(|r| r.object("tools")).and_then(|t| t.object("call"));
        Ok(Self {
            tasks: calls.is_some() && version == TASKS_SINCE,
            cancels_tasks: tasks.object("cancel").is_some(),
            version,
            ..Self::of(&object, &can)
        })
    }

    /// What both eras say in the same words.
    fn of(said: &Object, can: &Object) -> Self {
        let resources = can.object("resources");
        let subscribe =
            resources.as_ref().and_then(|r| r.get("subscribe")).is_some_and(|v| v.get() == "true");
        let tells = |kind: &str| {
            can.object(kind).is_some_and(|kind| kind.get("listChanged").is_some_and(|is| is.get() == "true"))
        };
        Self {
            tells_tools: tells("tools"),
            tells_prompts: tells("prompts"),
            tells_resources: tells("resources"),
            tools: can.object("tools").is_some(),
            resources: resources.is_some(),
            subscribe,
            prompts: can.object("prompts").is_some(),
            completions: can.object("completions").is_some(),
            logging: can.object("logging").is_some(),
            instructions: said.text("instructions").map(|text| bounded(&text).to_owned()),
            ..Self::default()
        }
    }

    /// What we say of ourselves in the handshake; `roots`: that there are roots to ask for.
    pub(crate) fn ours(roots: bool) -> Box<RawValue> {
        let mut can = json!({ "elicitation": {} });
        if roots {
            can["roots"] = json!({});
        }
        raw(&json!({
            "protocolVersion": VERSIONS[0],
            "capabilities": can,
            "clientInfo": { "name": "agent-mate", "title": "Agent Mate", "version": env!("CARGO_PKG_VERSION") },
        }))
    }
}

/// One upstream over some transport and protocol era.
#[async_trait]
pub(crate) trait Upstream: Send + Sync {
    /// Makes sure of a live, greeted connection.
    async fn hello(&self) -> Result<Arc<Hello>, String>;

    /// Sends one request once. Every path through here ends in `outgoing.reply`.
    async fn send(&self, outgoing: Outgoing);

    /// Sends a notification if there is a live connection; losing it is allowed.
    async fn notify(&self, method: &'static str, params: Box<RawValue>);

    /// Whether it speaks without sessions (2026-07-28), as far as is known.
    fn is_new(&self) -> bool {
        false
    }

    /// Wants to be told of changes of a resource, of an upstream that speaks without sessions. None: it is another one.
    async fn watch(&self, _uri: &str) -> Option<bool> {
        None
    }

    /// Ends the connection; bounded.
    async fn close(&self);
}
