//! Clients of the coordinator, as plain as they can be: so many of them on one machine must cost little.

use anyhow::{Context, Result, bail, ensure};
use mate_model::Clock;
use serde::Deserialize;
use serde_json::Value;
use std::time::Duration;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

const PATIENCE: Duration = Duration::from_secs(60);

/// What a client heard: the numbers of each log, in the order in which they came.
#[derive(Clone, Debug, Default)]
pub(super) struct Heard {
    /// Of the messages in the journal.
    pub(super) journal: Vec<i64>,
    pub(super) ledger: Vec<i64>,
    /// How late what was told live came; microseconds.
    pub(super) lags: Vec<i64>,
}

#[derive(Deserialize)]
struct Event {
    log: String,
    seq: i64,
    #[serde(rename = "type")]
    kind: String,
    data: Value,
}

/// Follows a stream until its last event.
pub(super) async fn follow(address: &str, path: &str, token: &str, clock: &dyn Clock) -> Result<Heard> {
    let mut stream = TcpStream::connect(address).await.context("a client cannot connect")?;
    let asked = format!(
        "GET {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nAccept: text/event-stream\r\n\r\n"
    );
    stream.write_all(asked.as_bytes()).await?;
    let (mut heard, came, mut line) = (Heard::default(), clock.now().0, String::new());
    let mut stream = BufReader::new(stream);
    timeout(PATIENCE, stream.read_line(&mut line)).await??;
    ensure!(line.starts_with("HTTP/1.1 200"), "a client is answered {line}");
    loop {
        line.clear();
        if timeout(PATIENCE, stream.read_line(&mut line)).await.context("silence")?? == 0 {
            bail!("a stream ended");
        }
        // The sizes of chunks and what is not an event are lines of their own.
        let Some(text) = line.strip_prefix("data: {\"id\"") else { continue };
        let event: Event = serde_json::from_str(&format!("{{\"id\"{text}"))?;
        match (event.log.as_str(), event.kind.as_str()) {
            ("ledger", _) => heard.ledger.push(event.seq),
            (_, "agent.message") => heard.journal.push(event.seq),
            _ => continue,
        }
        if let Some(at) = event.data.get("told_at").and_then(Value::as_i64)
            && at >= came
        {
            heard.lags.push(clock.now().0 - at);
        }
        if event.data.get("last").is_some() {
            return Ok(heard);
        }
    }
}

/// Asks for health over one connection until told to end; how long each answer took, in microseconds.
pub(super) async fn ask_health(
    address: &str,
    pause: Duration,
    clock: &dyn Clock,
    until: &CancellationToken,
) -> Result<Vec<i64>> {
    let mut stream = TcpStream::connect(address).await.context("health cannot be asked for")?;
    stream.set_nodelay(true)?;
    let asked = format!("GET /healthz HTTP/1.1\r\nHost: {address}\r\n\r\n");
    let (mut times, mut answer) = (Vec::new(), vec![0; 4_096]);
    while !until.is_cancelled() {
        let began = clock.monotonic();
        stream.write_all(asked.as_bytes()).await?;
        let read = timeout(PATIENCE, stream.read(&mut answer)).await.context("no health")??;
        ensure!(
            answer.get(..read).is_some_and(|text| text.starts_with(b"HTTP/1.1 200")),
            "health is not well"
        );
        times.push(clock.monotonic() - began);
        sleep(pause).await;
    }
    Ok(times)
}
