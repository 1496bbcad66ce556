//! The Agent Mate side of a comparison.
//!
//! The product is asked for real sessions: `agent-mate bench-bridge --home DIR --sessions N --upstream URL` starts N session
//! workers, each with a running turn, the full admission and its own journal, in a throw-away home; its first line of output is
//! `{"targets": [{"url": ..., "bearer": ...}, ...], "prefix": "bench__"}`; it ends when its input closes.

use std::path::Path;

use anyhow::Context;
use tokio::process::Command;

use crate::{peer::Peer, rpc::Target};

/// Running bridges, one for each session.
pub(crate) struct Bridges {
    pub(crate) peer: Peer,
    pub(crate) targets: Vec<Target>,
    /// What goes before the upstream's tool names.
    pub(crate) prefix: String,
}

/// Starts `sessions` bridges of the given binary in front of `upstream`.
pub(crate) async fn start(
    binary: &Path,
    home: &Path,
    sessions: usize,
    upstream: &str,
) -> anyhow::Result<Bridges> {
    let mut command = Command::new(binary);
    command.arg("bench-bridge").arg("--home").arg(home);
    command.arg("--sessions").arg(sessions.to_string()).arg("--upstream").arg(upstream);
    let peer = Peer::start(command).await?;
    let targets =
        serde_json::from_value(peer.hello["targets"].clone()).context("bench-bridge named no targets")?;
    let prefix = peer.hello["prefix"].as_str().unwrap_or_default().to_owned();
    Ok(Bridges { peer, targets, prefix })
}
