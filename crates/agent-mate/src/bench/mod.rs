//! Hidden commands for the benchmarks in `bench/`: they set the stage with what the product itself runs on, and
//! print one JSON document a line. Nothing here is a stand-in for a layer.

mod bridge;
mod decision;
mod figures;
mod hosted;
mod house;
mod listener;
mod memory;
mod pages;
mod rates;
mod recovery;
mod resting;
mod runtime;
mod serving;
mod streams;

use anyhow::Result;
use clap::{Args, ValueEnum};
use mate_engine::Home;
use std::path::{Path, PathBuf};

pub(crate) use runtime::run as runtime;
pub(crate) use streams::StreamsArgs;

/// `bench-bridge`
#[derive(Args, Clone, Debug)]
pub(crate) struct BridgeArgs {
    /// Sessions at once, each with a worker of its own
    #[arg(long)]
    pub(crate) sessions: usize,
    /// The upstream MCP server
    #[arg(long)]
    pub(crate) upstream: String,
}

/// `bench-store`
#[derive(Args, Clone, Debug)]
pub(crate) struct StoreArgs {
    /// What to measure
    part: Part,
    /// Where throw-away homes are made: the disk that is measured
    #[arg(long)]
    dir: PathBuf,
    /// How much of it: operations, events or tasks of history
    #[arg(long)]
    count: Option<u64>,
    /// Over how many sessions, where that makes a difference
    #[arg(long, default_value_t = 1)]
    sessions: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Operations made durable, with nothing in between
    Rates,
    /// From the death of everything to all operations classified
    Recovery,
    /// Pages of events out of a long journal
    Pages,
    /// What grants and policies say of a call, for a session with 50 grants
    Decision,
    /// Memory of what waits, and latency, with and without history
    Resting,
}

/// Serves bridges until standard input closes.
///
/// # Errors
/// What keeps the stage from being set.
pub(crate) async fn bridge(home: Home, arguments: BridgeArgs) -> Result<()> {
    bridge::run(home, arguments.sessions, &arguments.upstream).await
}

/// Measures one part and prints it.
///
/// # Errors
/// What keeps it from being measured.
pub(crate) async fn store(arguments: StoreArgs) -> Result<()> {
    let folder = tempfile::Builder::new().prefix("agent-mate-bench-").tempdir_in(&arguments.dir)?;
    let (path, sessions) = (folder.path(), arguments.sessions.max(1));
    match arguments.part {
        Part::Rates => rates::run(path, sessions, arguments.count.unwrap_or(4_000)).await,
        Part::Recovery => recovery::run(path, sessions, arguments.count.unwrap_or(1_000)).await,
        Part::Pages => pages::run(path, arguments.count.unwrap_or(1_000_000)).await,
        Part::Decision => Box::pin(decision::run(path, arguments.count.unwrap_or(10_000))).await,
        Part::Resting => Box::pin(resting::run(path, arguments.count.unwrap_or(10_000))).await,
    }
}

/// Measures many clients on one task, and prints it.
///
/// # Errors
/// What keeps it from being measured; that clients saw different things.
pub(crate) async fn streams(arguments: StreamsArgs) -> Result<()> {
    streams::run(arguments).await
}

/// A home that is not there yet, below `folder`.
fn below(folder: &Path, name: &str) -> Home {
    Home::at(folder.join(name))
}
