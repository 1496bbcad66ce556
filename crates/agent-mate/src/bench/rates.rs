//! Operations made durable by the real admission desk, with nothing between leave and outcome.

use super::{
    below,
    figures::{Times, say},
    hosted::Hosted,
    house::House,
};
use anyhow::Result;
use serde_json::json;
use std::{path::Path, sync::Arc};

/// Nobody listens there; nothing is sent.
pub(super) const NOWHERE: &str = "http://127.0.0.1:9/mcp";

/// Calls before the clock starts.
const WARM: u64 = 100;

/// `count` operations over `sessions` sessions, one caller each.
pub(super) async fn run(folder: &Path, sessions: usize, count: u64) -> Result<()> {
    let house = House::build(below(folder, "home"), "", NOWHERE).await?;
    let each = (count / sessions as u64).max(1);
    let mut hosts = Vec::new();
    for _ in 0..sessions {
        let task = house.submit("operations", None).await?;
        let mut hosted = Hosted::take(&house.home, &task).await?;
        hosted.begin(task).await?;
        hosts.push(Arc::new(hosted));
    }
    for hosted in &hosts {
        measure(hosted, 0, WARM).await?;
    }
    let clock = Arc::clone(&house.engine().clock);
    let began = clock.monotonic();
    let callers: Vec<_> = hosts
        .into_iter()
        .map(|hosted| tokio::spawn(async move { measure(&hosted, WARM, each).await }))
        .collect();
    let mut times = Vec::new();
    for caller in callers {
        times.extend(caller.await??);
    }
    let took = clock.monotonic() - began;
    let done = times.len();
    let times = Times::of(times);
    say(&json!({
        "part": "rates", "sessions": sessions, "operations": done, "synchronous": "FULL",
        "per_second": done as f64 * 1e6 / took as f64,
        "p50_ms": times.quantile(0.5), "p99_ms": times.quantile(0.99),
    }))
}

/// Makes `count` operations, one after the other; their times.
pub(super) async fn measure(hosted: &Hosted, first: u64, count: u64) -> Result<Vec<i64>> {
    let mut times = Vec::new();
    for number in first..first + count {
        let began = hosted.clock();
        hosted.operation(number).await?;
        times.push(hosted.clock() - began);
    }
    Ok(times)
}
