//! A server process that a run started: known by its first line, ended by closing its input.

use std::{process::Stdio, time::Duration};

use anyhow::{Context, bail};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
    time::timeout,
};

/// A child that serves until its standard input closes.
pub(crate) struct Peer {
    child: Child,
    /// What its first line of output said.
    pub(crate) hello: serde_json::Value,
}

impl Peer {
    /// Starts `command` and waits, for at most a minute, until it says where it listens.
    pub(crate) async fn start(mut command: Command) -> anyhow::Result<Self> {
        let what = format!("{:?}", command.as_std());
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("cannot start {what}"))?;
        let Some(output) = child.stdout.take() else { bail!("{what} has no output") };
        let mut line = String::new();
        timeout(Duration::from_secs(60), BufReader::new(output).read_line(&mut line))
            .await
            .with_context(|| format!("{what} did not say where it listens"))??;
        let hello = serde_json::from_str(&line).with_context(|| format!("{what} said {line:?}"))?;
        Ok(Self { child, hello })
    }

    /// Its process id, while it has not been waited for.
    pub(crate) fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// The URL that it listens on.
    pub(crate) fn url(&self) -> anyhow::Result<String> {
        match self.hello["listening"].as_str() {
            Some(url) => Ok(url.to_owned()),
            None => bail!("no URL in {}", self.hello),
        }
    }

    /// Closes its input and waits for its end; kills it after ten seconds.
    pub(crate) async fn end(mut self) -> anyhow::Result<()> {
        drop(self.child.stdin.take());
        if timeout(Duration::from_secs(10), self.child.wait()).await.is_err() {
            self.child.kill().await?;
        }
        Ok(())
    }
}
