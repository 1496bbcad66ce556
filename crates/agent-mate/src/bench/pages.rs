//! Pages of events out of a long journal.

use super::{
    below,
    figures::{Times, say},
    hosted::{Hosted, Running},
    house::House,
    rates::{self, NOWHERE},
};
use anyhow::{Result, ensure};
use mate_model::event::EventType;
use mate_store::{BULK, Change};
use serde_json::json;
use std::path::Path;

const PAGE: u32 = 100;
const READS: u64 = 2_000;
/// A journal so short that nothing of it can be slow.
const SHORT: u64 = 10_000;
/// Calls for the latency beside a long journal.
const CALLS: u64 = 1_000;

pub(super) async fn run(folder: &Path, count: u64) -> Result<()> {
    let house = House::build(below(folder, "home"), "", NOWHERE).await?;
    let task = house.submit("events", None).await?;
    let mut hosted = Hosted::take(&house.home, &task).await?;
    let running = hosted.begin(task).await?;
    rates::measure(&hosted, 0, CALLS / 10).await?;
    fill(&house, &hosted, running, 0, SHORT).await?;
    measure(&hosted, running, SHORT, CALLS).await?;
    fill(&house, &hosted, running, SHORT, count).await?;
    measure(&hosted, running, count, 2 * CALLS).await
}

async fn fill(house: &House, hosted: &Hosted, running: Running, from: u64, to: u64) -> Result<()> {
    for first in (from..to).step_by(BULK) {
        let numbers = first..to.min(first + BULK as u64);
        let changes = numbers.map(|number| {
            let data = json!({ "id": format!("call-{number}"), "title": "read a file", "status": "completed", "kind": "read" });
            Change::Event(running.draft(EventType::ToolUpdate, house.engine(), data))
        });
        hosted.journal.write(changes.collect()).await?;
    }
    Ok(())
}

async fn measure(hosted: &Hosted, running: Running, events: u64, first: u64) -> Result<()> {
    let mut times = [Vec::new(), Vec::new()];
    for read in 0..READS {
        // A prime walks through the whole journal in no order that a cache could follow.
        let after = i64::try_from(read * 999_983 % (events - u64::from(PAGE)))?;
        for (task, times) in [None, Some(running.task)].into_iter().zip(&mut times) {
            let began = hosted.clock();
            let page = hosted.reader.events(task, after, PAGE).await?;
            times.push(hosted.clock() - began);
            ensure!(page.items.len() == PAGE as usize, "a page of {} events", page.items.len());
        }
    }
    let [all, task] = times.map(Times::of);
    let calls = Times::of(rates::measure(hosted, first, CALLS).await?);
    say(&json!({
        "part": "pages", "events": events, "page": PAGE, "synchronous": "FULL",
        "p50_ms": all.quantile(0.5), "p99_ms": all.quantile(0.99),
        "task_p50_ms": task.quantile(0.5), "task_p99_ms": task.quantile(0.99),
        "operation_p50_ms": calls.quantile(0.5), "operation_p99_ms": calls.quantile(0.99),
    }))
}
