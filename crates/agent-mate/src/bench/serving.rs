//! The coordinator as a process of its own.

use anyhow::{Context, Result};
use mate_engine::Home;
use std::{process::Stdio, time::Duration};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
    time::timeout,
};

const PATIENCE: Duration = Duration::from_secs(60);

/// A coordinator that ends with this value.
pub(super) struct Serving {
    child: Child,
    address: String,
}

impl Serving {
    /// Starts it and waits for its ready line.
    pub(super) async fn start(home: &Home) -> Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["--json", "serve", "--listen", "127.0.0.1:0", "--home"])
            .arg(home.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("the coordinator cannot be started")?;
        let stdout = child.stdout.take().context("the coordinator has no output")?;
        let mut line = String::new();
        let read = timeout(PATIENCE, BufReader::new(stdout).read_line(&mut line)).await;
        read.context("the coordinator did not come up")??;
        let ready: serde_json::Value = serde_json::from_str(&line).context("the ready line")?;
        let url = ready.get("url").and_then(|url| url.as_str()).unwrap_or_default();
        let address = url.trim_start_matches("http://").to_owned();
        Ok(Self { child, address })
    }

    /// Where it listens.
    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// Its process.
    pub(super) fn pid(&self) -> Result<u32> {
        self.child.id().context("the coordinator has ended")
    }

    /// Ends it by SIGKILL: nothing depends on how it goes.
    pub(super) async fn end(mut self) -> Result<()> {
        Ok(self.child.kill().await?)
    }
}
