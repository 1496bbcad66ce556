//! Every figure of one machine in one run, as a table in Markdown. The disk is measured right before each part.

use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use serde_json::Value;
use tokio::process::Command;

use crate::{
    compare,
    disk::{self, Disk},
    figures::median,
    load::Work,
    table::{Row, Table},
};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The agent-mate binary.
    #[arg(long)]
    agent_mate: PathBuf,
    /// The disk that is measured: throw-away homes are made there.
    #[arg(long, default_value = ".")]
    dir: PathBuf,
    /// Small counts: shows that everything runs, and nothing else.
    #[arg(long)]
    quick: bool,
    /// A journal of 5 million events as well; takes some gigabytes.
    #[arg(long)]
    large: bool,
}

/// Rounds of what is compared with the disk, in turns with it.
const ROUNDS: usize = 3;

pub(crate) async fn run(args: Args) -> anyhow::Result<()> {
    let mut table = Table::default();
    println!("{}\n", machine()?);
    args.calls(&mut table).await?;
    args.rates(&mut table).await?;
    args.recovery(&mut table).await?;
    args.pages(&mut table).await?;
    args.resting(&mut table).await?;
    if args.quick {
        println!("\nSmall counts: this shows that everything runs. The figures mean nothing.");
    }
    table.print();
    Ok(())
}

impl Args {
    fn count(&self, full: u64) -> u64 {
        if self.quick { (full / 20).max(200) } else { full }
    }

    fn disk(&self) -> anyhow::Result<Disk> {
        disk::measure(&self.dir)
    }

    /// Runs one part of `agent-mate bench-store`; its lines.
    async fn store(&self, part: &str, count: u64, sessions: usize) -> anyhow::Result<Vec<Value>> {
        eprintln!("measuring: {part}, {count}, over {sessions} session(s)");
        let mut command = Command::new(&self.agent_mate);
        command.arg("bench-store").arg(part).arg("--dir").arg(&self.dir);
        command.arg("--count").arg(count.to_string()).arg("--sessions").arg(sessions.to_string());
        let output = command.stderr(std::process::Stdio::inherit()).kill_on_drop(true).output().await?;
        ensure!(output.status.success(), "agent-mate bench-store {part} failed");
        let text = String::from_utf8(output.stdout)?;
        text.lines().map(|line| serde_json::from_str(line).context("not JSON")).collect()
    }

    async fn calls(&self, table: &mut Table) -> anyhow::Result<()> {
        let calls = self.count(4_000);
        let work = Work::echo(calls, (calls / 10).max(50));
        for sessions in [1, 16, 32] {
            eprintln!("measuring: calls, {calls}, over {sessions} session(s)");
            let disk = self.disk()?;
            let binary = Some(self.agent_mate.as_path());
            let ways = compare::measure(binary, &self.dir, sessions, ROUNDS, &work).await?.ways;
            compare::print(sessions, &ways);
            let [direct, proxy, mate] = ways.as_slice() else { anyhow::bail!("not three ways") };
            let bound = 0.7 + 2.0 * disk.overwrite.p50_ms;
            let added = mate.p50() - direct.p50();
            let ratio = mate.rate() / proxy.rate();
            let figure = format!(
                "{:.0} calls/s, p50 {:.2} ms, p99 {:.2} ms; added p50 {added:.2} ms, p99 {:.2} ms; {} errors",
                mate.rate(),
                mate.p50(),
                mate.p99(),
                mate.p99() - direct.p99(),
                mate.errors()
            );
            let against = format!(
                "{ratio:.2} of the bare proxy ({:.0}/s, p50 {:.2} ms), {:.2} of direct ({:.0}/s, p50 {:.2} ms)",
                proxy.rate(),
                proxy.p50(),
                mate.rate() / direct.rate(),
                direct.rate(),
                direct.p50()
            );
            let (reach, met) = match sessions {
                1 => (format!("p50 < 0.7 ms + 2 fdatasync = {bound:.2} ms"), Some(mate.p50() < bound)),
                16 => ("0.8 of the bare proxy".to_owned(), Some(ratio >= 0.8)),
                _ => (String::new(), None),
            };
            let what = format!("Calls through the bridge, {sessions} session(s)");
            table.add(Row { what, figure, against, reach, met }, &disk);
        }
        Ok(())
    }

    async fn rates(&self, table: &mut Table) -> anyhow::Result<()> {
        for sessions in [1_usize, 16] {
            let (mut rates, mut ratios, mut p50, mut p99, mut last) = (vec![], vec![], vec![], vec![], None);
            for _ in 0..ROUNDS {
                let disk = self.disk()?;
                let raw = if sessions == 1 { disk.sqlite.per_second } else { disk.sqlite_16 };
                let lines = self.store("rates", self.count(4_000 * sessions as u64), sessions).await?;
                let line = lines.first().context("no figures")?;
                rates.push(number(line, "per_second"));
                ratios.push(number(line, "per_second") / raw);
                p50.push(number(line, "p50_ms"));
                p99.push(number(line, "p99_ms"));
                last = Some(disk);
            }
            let disk = last.context("no round")?;
            let (rate, ratio) = (median(rates), median(ratios));
            let (reach, met) = if sessions == 1 {
                ("0.7 of raw".to_owned(), ratio >= 0.7)
            } else {
                ("8,000/s".to_owned(), rate >= 8_000.0)
            };
            let raw = if sessions == 1 { disk.sqlite.per_second } else { disk.sqlite_16 };
            let row = Row {
                what: format!("Durable operations, no MCP, {sessions} session(s)"),
                figure: format!("{rate:.0}/s, p50 {:.2} ms, p99 {:.2} ms", median(p50), median(p99)),
                against: format!("{ratio:.2} of two bare SQLite commits ({raw:.0}/s)"),
                reach,
                met: Some(met),
            };
            table.add(row, &disk);
        }
        Ok(())
    }

    async fn recovery(&self, table: &mut Table) -> anyhow::Result<()> {
        for (count, sessions) in [(1_000, 1), (1_000, 20), (20_000, 1), (20_000, 20)] {
            let disk = self.disk()?;
            let lines = self.store("recovery", self.count(count), sessions).await?;
            let line = lines.first().context("no figures")?;
            let all = number(line, "classified_ms");
            let row = Row {
                what: format!(
                    "All {} operations in flight classified, {sessions} session(s)",
                    self.count(count)
                ),
                figure: format!("{:.2} s from the start of `serve`", all / 1e3),
                against: format!(
                    "recovery alone {:.2} s; listening after {:.0} ms",
                    number(line, "recover_ms") / 1e3,
                    number(line, "listening_ms")
                ),
                reach: if count == 20_000 { "< 2 s".to_owned() } else { String::new() },
                met: (count == 20_000).then_some(all < 2_000.0),
            };
            table.add(row, &disk);
        }
        Ok(())
    }

    async fn pages(&self, table: &mut Table) -> anyhow::Result<()> {
        let sizes: &[u64] = if self.large { &[1_000_000, 5_000_000] } else { &[1_000_000] };
        for size in sizes {
            let disk = self.disk()?;
            let lines = self.store("pages", self.count(*size), 1).await?;
            let short = lines.first().context("no figures")?;
            let long = lines.last().context("no figures")?;
            let p50 = number(long, "task_p50_ms");
            let row = Row {
                what: format!("A page of 100 events out of {}", self.count(*size)),
                figure: format!("p50 {p50:.2} ms, p99 {:.2} ms", number(long, "task_p99_ms")),
                against: format!(
                    "{:.2} of the p50 in a journal of {} events; an operation there {:.2} of one in that",
                    p50 / number(short, "task_p50_ms"),
                    short["events"],
                    number(long, "operation_p50_ms") / number(short, "operation_p50_ms")
                ),
                reach: "< 1 ms".to_owned(),
                met: Some(p50 < 1.0),
            };
            table.add(row, &disk);
        }
        Ok(())
    }

    async fn resting(&self, table: &mut Table) -> anyhow::Result<()> {
        let disk = self.disk()?;
        let lines = self.store("resting", self.count(10_000), 1).await?;
        let [new, old] = lines.as_slice() else { anyhow::bail!("not two homes") };
        let tasks = &old["finished_tasks"];
        for (who, reach) in [("worker", 15.0), ("serve", 40.0)] {
            let (fresh, aged) = (number(&new[who], "resident_mb"), number(&old[who], "resident_mb"));
            let row = Row {
                what: format!("Memory of {}", if who == "worker" { "an idle worker" } else { "`serve`" }),
                figure: format!("{fresh:.1} MB resident, {:.1} MB private", number(&new[who], "private_mb")),
                against: format!("{aged:.1} MB after {tasks} finished tasks ({:.2})", aged / fresh),
                reach: format!("< {reach} MB"),
                met: Some(fresh < reach && aged < reach),
            };
            table.add(row, &disk);
        }
        let (fresh, aged) = (number(new, "operation_p50_ms"), number(old, "operation_p50_ms"));
        let row = Row {
            what: format!("An operation after {tasks} finished tasks"),
            figure: format!("p50 {aged:.2} ms"),
            against: format!("{:.2} of one in a new home ({fresh:.2} ms)", aged / fresh),
            reach: "does not grow".to_owned(),
            met: Some(aged / fresh < 1.15),
        };
        table.add(row, &disk);
        Ok(())
    }
}

fn number(value: &Value, name: &str) -> f64 {
    value[name].as_f64().unwrap_or(f64::NAN)
}

/// What the figures were made on.
fn machine() -> anyhow::Result<String> {
    let cpus = std::thread::available_parallelism()?;
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or_default();
    let kernel = std::fs::read_to_string(Path::new("/proc/sys/kernel/osrelease")).unwrap_or_default();
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load: String = load.split(' ').take(1).collect();
    let model = model.trim_start_matches([' ', '\t', ':']);
    Ok(format!("{cpus} cores ({model}), Linux {}, load {load} at the start", kernel.trim()))
}
