//! The same calls to the same upstream: directly, through a bare proxy, and through Agent Mate, in turns within one run.

use std::path::PathBuf;

use tokio::process::Command;

use crate::{
    bridge::{self, Bridges},
    disk,
    figures::{Figures, median},
    load::{self, Work},
    memory,
    peer::Peer,
    rpc::Target,
};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The agent-mate binary; without it only the direct way and the proxy are measured, and the output says so.
    #[arg(long)]
    agent_mate: Option<PathBuf>,
    /// Where Agent Mate keeps its stores during the run; also the disk that is measured.
    #[arg(long, default_value = ".")]
    dir: PathBuf,
    #[arg(long, value_delimiter = ',', default_values_t = [1, 16, 32])]
    sessions: Vec<usize>,
    /// Rounds for each figure; the ways take turns, and the middle round counts.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    #[command(flatten)]
    work: Work,
}

/// One way to reach the upstream.
struct Way {
    name: &'static str,
    targets: Vec<Target>,
    work: Work,
    rounds: Vec<Figures>,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<()> {
    disk::print(&disk::measure(&args.dir)?);
    if args.agent_mate.is_none() {
        println!("Agent Mate is not measured: name its binary with --agent-mate");
    }
    let fixture = Peer::start(own("fixture", &["http"])?).await?;
    let upstream = fixture.url()?;
    let proxy = Peer::start(own("minproxy", &[&upstream])?).await?;
    for sessions in &args.sessions {
        let mut ways = vec![
            Way::new("direct", vec![Target { url: upstream.clone(), bearer: None }; *sessions], &args.work),
            Way::new("bare proxy", vec![Target { url: proxy.url()?, bearer: None }; *sessions], &args.work),
        ];
        let home = tempfile::Builder::new().prefix("mate-bench-home").tempdir_in(&args.dir)?;
        let mut running = None;
        if let Some(binary) = &args.agent_mate {
            let Bridges { peer, targets, prefix } =
                bridge::start(binary, home.path(), *sessions, &upstream).await?;
            let mut work = args.work.clone();
            work.tool.insert_str(0, &prefix);
            ways.push(Way::new("agent-mate", targets, &work));
            running = Some(peer);
        }
        for _ in 0..args.rounds.max(1) {
            for way in &mut ways {
                way.rounds.push(load::measure(&way.targets, &way.work).await?);
            }
        }
        print(*sessions, &ways);
        if let Some(peer) = running {
            memory::print(&memory::family(peer.id().unwrap_or_default())?);
            peer.end().await?;
        }
    }
    proxy.end().await?;
    fixture.end().await
}

impl Way {
    fn new(name: &'static str, targets: Vec<Target>, work: &Work) -> Self {
        Self { name, targets, work: work.clone(), rounds: Vec::new() }
    }

    fn middle(&self, figure: impl Fn(&Figures) -> f64) -> f64 {
        median(self.rounds.iter().map(figure).collect())
    }
}

fn own(subcommand: &str, args: &[&str]) -> anyhow::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(subcommand).args(args);
    Ok(command)
}

fn print(sessions: usize, ways: &[Way]) {
    println!("\n{sessions} session{}", if sessions == 1 { "" } else { "s" });
    println!(
        "{:<12} {:>9} {:>9} {:>9} {:>10} {:>9} {:>7}",
        "", "calls/s", "p50 ms", "p99 ms", "of direct", "of proxy", "errors"
    );
    let rate = |way: &Way| way.middle(|f| f.per_second);
    let direct = ways.first().map_or(f64::NAN, rate);
    let proxy = ways.get(1).map_or(f64::NAN, rate);
    for way in ways {
        let errors: usize = way.rounds.iter().map(|f| f.errors).sum();
        println!(
            "{:<12} {:>9.0} {:>9.3} {:>9.3} {:>9.2}x {:>8.2}x {:>7}",
            way.name,
            rate(way),
            way.middle(|f| f.p50_ms),
            way.middle(|f| f.p99_ms),
            rate(way) / direct,
            rate(way) / proxy,
            errors
        );
        if let Some(error) = way.rounds.iter().find_map(|f| f.first_error.as_deref()) {
            println!("             first error: {}", error.escape_debug());
        }
    }
}
