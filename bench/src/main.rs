//! Measures what durable, authorised tool calls cost, as ratios within one run on one machine.

#![forbid(unsafe_code)]

mod bridge;
mod compare;
mod disk;
mod figures;
mod fixture;
mod listen;
mod load;
mod memory;
mod minproxy;
mod peer;
mod report;
mod rpc;
mod table;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "mate-bench", version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// The same calls made directly, through a bare proxy and through Agent Mate, side by side.
    Compare(compare::Args),
    /// Everything, as a table in Markdown.
    Report(report::Args),
    /// What the disk does: fdatasync, and SQLite with two durable commits an operation.
    Disk(disk::Args),
    /// How much memory processes hold.
    Memory(memory::Args),
    /// Calls one tool of one MCP server from many sessions and prints one JSON line.
    Load(load::Args),
    /// An upstream MCP server with harmless tools.
    Fixture(fixture::Args),
    /// The cheapest possible MCP proxy: it authorises nothing and records nothing.
    Minproxy(minproxy::Args),
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    match Cli::parse().command {
        Command::Compare(args) => compare::run(args).await,
        Command::Report(args) => report::run(args).await,
        Command::Disk(args) => disk::run(&args),
        Command::Memory(args) => memory::run(&args),
        Command::Load(args) => load::run(args).await,
        Command::Fixture(args) => fixture::run(args).await,
        Command::Minproxy(args) => minproxy::run(args).await,
    }
}
