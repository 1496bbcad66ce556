//! What the kernel says of a process's memory.

use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::fs;

/// Resident, of that private, and proportional (shared pages divided among those who share them), in MB; threads.
pub(super) fn of(pid: u32) -> Result<Value> {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let size = |name: &str| -> Result<f64> { Ok(number(&rollup, name)? / 1024.0) };
    Ok(json!({
        "resident_mb": size("Rss:")?,
        "private_mb": size("Private_Dirty:")? + size("Private_Clean:")?,
        "proportional_mb": size("Pss:")?,
        "threads": number(&status, "Threads:")?,
    }))
}

fn number(text: &str, name: &str) -> Result<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)).with_context(|| format!("no {name}"))?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}

/// The keepers that this worker started: its children.
pub(super) fn children(pid: u32) -> Vec<u32> {
    let listed = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    listed.split_whitespace().filter_map(|child| child.parse().ok()).collect()
}
