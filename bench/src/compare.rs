//! The same calls to the same upstream: directly, through a bare proxy, and through Agent Mate, in turns within one run.

use std::path::{Path, PathBuf};

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
pub(crate) struct Way {
    name: &'static str,
    targets: Vec<Target>,
    work: Work,
    rounds: Vec<Figures>,
}

/// What one number of sessions gave.
pub(crate) struct Compared {
    pub(crate) ways: Vec<Way>,
    /// The processes of the Agent Mate side, after the last call.
    memory: Vec<memory::Process>,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<()> {
    disk::print(&disk::measure(&args.dir)?);
    if args.agent_mate.is_none() {
        println!("Agent Mate is not measured: name its binary with --agent-mate");
    }
    for sessions in &args.sessions {
        let binary = args.agent_mate.as_deref();
        let compared = measure(binary, &args.dir, *sessions, args.rounds, &args.work).await?;
        print(*sessions, &compared.ways);
        memory::print(&compared.memory);
    }
    Ok(())
}

/// All ways in turns, `rounds` times: directly, through the bare proxy, and through `binary` if there is one.
pub(crate) async fn measure(
    binary: Option<&Path>,
    dir: &Path,
    sessions: usize,
    rounds: usize,
    work: &Work,
) -> anyhow::Result<Compared> {
    let fixture = Peer::start(own("fixture", &["http"])?).await?;
    let upstream = fixture.url()?;
    let proxy = Peer::start(own("minproxy", &[&upstream])?).await?;
    let mut ways = vec![
        Way::new("direct", vec![Target { url: upstream.clone(), bearer: None }; sessions], work),
        Way::new("bare proxy", vec![Target { url: proxy.url()?, bearer: None }; sessions], work),
    ];
    let home = tempfile::Builder::new().prefix("mate-bench-home").tempdir_in(dir)?;
    let mut running = None;
    if let Some(binary) = binary {
        let Bridges { peer, targets, prefix } =
            bridge::start(binary, &home.path().join("home"), sessions, &upstream).await?;
        let mut work = work.clone();
        work.tool.insert_str(0, &prefix);
        ways.push(Way::new("agent-mate", targets, &work));
        running = Some(peer);
    }
    for _ in 0..rounds.max(1) {
        for way in &mut ways {
            way.rounds.push(load::measure(&way.targets, &way.work).await?);
        }
    }
    let mut memory = Vec::new();
    if let Some(peer) = running {
        memory = memory::family(peer.id().unwrap_or_default())?;
        peer.end().await?;
    }
    proxy.end().await?;
    fixture.end().await?;
    Ok(Compared { ways, memory })
}

impl Way {
    fn new(name: &'static str, targets: Vec<Target>, work: &Work) -> Self {
        Self { name, targets, work: work.clone(), rounds: Vec::new() }
    }

    fn middle(&self, figure: impl Fn(&Figures) -> f64) -> f64 {
        median(self.rounds.iter().map(figure).collect())
    }

    pub(crate) fn rate(&self) -> f64 {
        self.middle(|f| f.per_second)
    }

    pub(crate) fn p50(&self) -> f64 {
        self.middle(|f| f.p50_ms)
    }

    pub(crate) fn p99(&self) -> f64 {
        self.middle(|f| f.p99_ms)
    }

    pub(crate) fn errors(&self) -> usize {
        self.rounds.iter().map(|f| f.errors).sum()
    }
}

fn own(subcommand: &str, args: &[&str]) -> anyhow::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(subcommand).args(args);
    Ok(command)
}

pub(crate) fn print(sessions: usize, ways: &[Way]) {
    println!("\n{sessions} session{}", if sessions == 1 { "" } else { "s" });
    println!(
        "{:<12} {:>9} {:>9} {:>9} {:>10} {:>9} {:>7}",
        "", "calls/s", "p50 ms", "p99 ms", "of direct", "of proxy", "errors"
    );
    let direct = ways.first().map_or(f64::NAN, Way::rate);
    let proxy = ways.get(1).map_or(f64::NAN, Way::rate);
    for way in ways {
        println!(
            "{:<12} {:>9.0} {:>9.3} {:>9.3} {:>9.2}x {:>8.2}x {:>7}",
            way.name,
            way.rate(),
            way.p50(),
            way.p99(),
            way.rate() / direct,
            way.rate() / proxy,
            way.errors()
        );
        if let Some(error) = way.rounds.iter().find_map(|f| f.first_error.as_deref()) {
            println!("             first error: {}", error.escape_debug());
        }
    }
}
