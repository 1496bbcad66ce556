//! `bench-runtime`: an agent runtime that tells the benchmark where its tools are, and keeps its turn until the
//! benchmark hangs up. A prompt of `end` is over at once.

use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::path::Path;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::UnixStream,
};

/// Serves one client on the standard streams. `door` is the benchmark's socket.
///
/// # Errors
/// That a stream broke, or nobody is at the door.
pub(crate) async fn run(door: &Path) -> Result<()> {
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    let mut bench = None;
    let mut prompt = None;
    loop {
        let line = tokio::select! {
            line = lines.next_line() => line?,
            () = hung_up(&mut bench), if prompt.is_some() => {
                answer(prompt.take(), json!({ "result": { "stopReason": "end_turn" } })).await?;
                continue;
            }
        };
        let Some(line) = line else { return Ok(()) };
        let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
        let (id, params) = (message.get("id").cloned(), &message["params"]);
        match message["method"].as_str() {
            Some("session/prompt") => {
                prompt = id;
                match &mut bench {
                    Some(bench) if params["prompt"][0]["text"] != "end" => bench.write_all(b"{}\n").await?,
                    Some(_) | None => {
                        answer(prompt.take(), json!({ "result": { "stopReason": "end_turn" } })).await?
                    }
                }
            }
            Some("session/cancel") => {
                answer(prompt.take(), json!({ "result": { "stopReason": "cancelled" } })).await?;
            }
            Some("session/new") => {
                bench = tell(door, params).await?;
                answer(id, json!({ "result": { "sessionId": "bench" } })).await?;
            }
            Some("initialize") => answer(id, introduce()).await?,
            _ => answer(id, json!({ "error": { "code": -32601, "message": "not known" } })).await?,
        }
    }
}

fn introduce() -> Value {
    json!({ "result": {
        "protocolVersion": 1,
        "agentInfo": { "name": "bench", "version": env!("CARGO_PKG_VERSION") },
        "agentCapabilities": { "mcpCapabilities": { "http": true } },
    } })
}

/// Tells the benchmark where the session's bridge is. A benchmark that has no door wants nothing.
async fn tell(door: &Path, params: &Value) -> Result<Option<UnixStream>> {
    let Ok(mut bench) = UnixStream::connect(door).await else { return Ok(None) };
    let server = &params["mcpServers"][0];
    let bearer = server["headers"][0]["value"].as_str().and_then(|value| value.strip_prefix("Bearer "));
    let endpoint = json!({ "url": server["url"], "bearer": bearer.context("the bridge has no bearer")? });
    bench.write_all(format!("{endpoint}\n").as_bytes()).await?;
    Ok(Some(bench))
}

async fn hung_up(bench: &mut Option<UnixStream>) {
    let Some(bench) = bench else { return };
    let mut rest = [0; 64];
    while bench.read(&mut rest).await.is_ok_and(|read| read > 0) {}
}

async fn answer(id: Option<Value>, mut body: Value) -> Result<()> {
    let Some(id) = id else { return Ok(()) };
    body["jsonrpc"] = "2.0".into();
    body["id"] = id;
    let mut out = tokio::io::stdout();
    out.write_all(format!("{body}\n").as_bytes()).await?;
    Ok(out.flush().await?)
}
