//! Memory as the kernel counts it: resident, and proportional (shared pages divided among those who share them).

use std::{collections::HashMap, fs};

use anyhow::Context;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Processes to look at, each with all its descendants.
    #[arg(required = true)]
    pids: Vec<u32>,
}

/// One process. Sizes are in KiB.
pub(crate) struct Process {
    pid: u32,
    name: String,
    resident: u64,
    proportional: u64,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    for pid in &args.pids {
        print(&family(*pid)?);
    }
    Ok(())
}

pub(crate) fn print(processes: &[Process]) {
    for process in processes {
        println!(
            "{:>8}  {:<16} resident {:>6.1} MB   proportional {:>6.1} MB",
            process.pid,
            process.name.escape_debug(),
            process.resident as f64 / 1024.0,
            process.proportional as f64 / 1024.0
        );
    }
}

/// `ancestor` and its descendants, as far as they live and may be read.
pub(crate) fn family(ancestor: u32) -> anyhow::Result<Vec<Process>> {
    let parents = parents()?;
    let mut pids: Vec<u32> =
        parents.keys().copied().filter(|pid| descends(*pid, ancestor, &parents)).collect();
    pids.sort_unstable();
    Ok(pids.into_iter().filter_map(|pid| read(pid).ok()).collect())
}

fn descends(mut pid: u32, ancestor: u32, parents: &HashMap<u32, u32>) -> bool {
    // Bounded, since a pid that is used anew while we read could close a circle.
    for _ in 0..64 {
        if pid == ancestor {
            return true;
        }
        match parents.get(&pid) {
            Some(parent) => pid = *parent,
            None => return false,
        }
    }
    false
}

fn parents() -> anyhow::Result<HashMap<u32, u32>> {
    let mut parents = HashMap::new();
    for entry in fs::read_dir("/proc").context("/proc")? {
        let Ok(pid) = entry?.file_name().to_string_lossy().parse() else { continue };
        let Ok(status) = fs::read_to_string(format!("/proc/{pid}/status")) else { continue };
        if let Some(parent) = field(&status, "PPid:").and_then(|value| value.parse().ok()) {
            parents.insert(pid, parent);
        }
    }
    Ok(parents)
}

fn read(pid: u32) -> anyhow::Result<Process> {
    let name = fs::read_to_string(format!("/proc/{pid}/comm"))?.trim_end().to_owned();
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
    let size = |name: &str| -> anyhow::Result<u64> {
        let value = field(&rollup, name).with_context(|| format!("no {name}"))?;
        Ok(value.trim_end_matches(" kB").parse()?)
    };
    Ok(Process { pid, name, resident: size("Rss:")?, proportional: size("Pss:")? })
}

fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
}
