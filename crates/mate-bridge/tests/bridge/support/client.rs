//! A bridge with its gate, and a raw client over its line front.

use super::{Children, Notes, Ticks};
use mate_bridge::{Bridge, BridgeConfig, ConnectionSpec, Gate, Limits};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};

/// A bridge with its gate.
pub(crate) struct Rig {
    pub(crate) bridge: Bridge,
    pub(crate) notes: Arc<Notes>,
}

pub(crate) async fn rig(connections: Vec<ConnectionSpec>, children: Children, limits: Limits) -> Rig {
    let notes = Arc::new(Notes::default());
    let clock = Arc::new(Ticks::default());
    let config = BridgeConfig { connections, workspace: Some("/tmp/a b".into()), limits };
    let gate = Arc::clone(&notes) as Arc<dyn Gate>;
    let bridge =
        Bridge::start(config, gate, Arc::new(children), Arc::clone(&clock) as _, clock).await.unwrap();
    Rig { bridge, notes }
}

/// A raw client over the line front.
pub(crate) struct Lines {
    reader: BufReader<tokio::io::ReadHalf<DuplexStream>>,
    writer: tokio::io::WriteHalf<DuplexStream>,
}

impl Rig {
    pub(crate) fn open(&self) -> Lines {
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        self.bridge.serve_stream(theirs);
        let (reader, writer) = tokio::io::split(ours);
        Lines { reader: BufReader::new(reader), writer }
    }

    /// A greeted client over the line front.
    pub(crate) async fn client(&self) -> Lines {
        let mut lines = self.open();
        let said = lines.ask(0, "initialize", &hello("2025-11-25")).await;
        assert_eq!(said["result"]["protocolVersion"], "2025-11-25");
        lines.write(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        lines
    }
}

pub(crate) fn hello(version: &str) -> Value {
    let info = json!({ "name": "test", "version": "1" });
    json!({ "protocolVersion": version, "capabilities": { "elicitation": {} }, "clientInfo": info })
}

impl Lines {
    pub(crate) async fn write(&mut self, line: &str) {
        self.writer.write_all(line.as_bytes()).await.unwrap();
        self.writer.write_all(b"\n").await.unwrap();
    }

    pub(crate) async fn read(&mut self) -> String {
        let mut line = String::new();
        let read = tokio::time::timeout(Duration::from_secs(30), self.reader.read_line(&mut line)).await;
        assert!(
            read.unwrap_or_else(|_| panic!("no answer within 30 s")).unwrap() > 0,
            "the bridge closed the stream"
        );
        line.trim_end().to_owned()
    }

    pub(crate) async fn send(&mut self, id: u64, method: &str, params: &Value) {
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string())
            .await;
    }

    /// Sends and reads on until the answer; what comes before it is dropped.
    pub(crate) async fn ask(&mut self, id: u64, method: &str, params: &Value) -> Value {
        self.send(id, method, params).await;
        self.answer(id).await
    }

    pub(crate) async fn answer(&mut self, id: u64) -> Value {
        loop {
            let message: Value = serde_json::from_str(&self.read().await).unwrap();
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
        }
    }

    pub(crate) async fn call(&mut self, id: u64, tool: &str, arguments: &Value) -> Value {
        self.ask(id, "tools/call", &json!({ "name": tool, "arguments": arguments })).await
    }
}

/// Text of a tool result.
pub(crate) fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {answer}"))
}
