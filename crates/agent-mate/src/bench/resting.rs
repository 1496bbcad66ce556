//! What waits: memory of an idle worker and of the coordinator, and the latency of an operation, in a new home and
//! in one with a history.

use super::{
    below,
    figures::{Times, say},
    hosted::Hosted,
    house::House,
    memory,
    rates::{self, NOWHERE},
    serving::Serving,
};
use anyhow::{Context, Result, ensure};
use mate_engine::SessionLock;
use mate_model::{event::EventType, records::Task, task::TaskStateWord};
use serde_json::json;
use std::{path::Path, time::Duration};

/// A worker that has lost its last task stays as long as it may.
const CONFIG: &str = "[session]\nlist_seconds = 0\n";
/// Sessions that the history is spread over.
const SESSIONS: u64 = 16;
/// Operations for the latency.
const CALLS: u64 = 1_000;
/// What a process may still free after its work.
const CALM: Duration = Duration::from_secs(3);
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) async fn run(folder: &Path, tasks: u64) -> Result<()> {
    for (name, history) in [("new", 0), ("old", tasks)] {
        let house = House::build(below(folder, name), CONFIG, NOWHERE).await?;
        let old = past(&house, history).await?;
        let operation = latency(&house, old.as_ref()).await?;
        look(&house, old.as_ref(), history, &operation).await?;
    }
    Ok(())
}

/// Tasks that have ended, each with a turn and one operation. The last of one of their sessions.
async fn past(house: &House, tasks: u64) -> Result<Option<Task>> {
    let mut lanes = Vec::new();
    for lane in 0..SESSIONS.min(tasks) {
        let count = tasks / SESSIONS + u64::from(lane < tasks % SESSIONS);
        let house = House::again(house.home.clone()).await?;
        lanes.push(tokio::spawn(async move {
            let mut task = house.submit("past", None).await?;
            let mut hosted = Hosted::take(&house.home, &task).await?;
            for number in 0..count {
                if number > 0 {
                    task = house.submit("past", Some(task.session)).await?;
                }
                let running = hosted.begin(task.clone()).await?;
                hosted.operation(number).await?;
                hosted.end(running).await?;
            }
            hosted.release(&task).await?;
            anyhow::Ok(task)
        }));
    }
    let mut last = None;
    for lane in lanes {
        last = Some(lane.await??);
    }
    Ok(last)
}

async fn latency(house: &House, old: Option<&Task>) -> Result<Times> {
    let task = house.submit("operations", old.map(|task| task.session)).await?;
    let mut hosted = Hosted::take(&house.home, &task).await?;
    let running = hosted.begin(task.clone()).await?;
    rates::measure(&hosted, 1_000_000, CALLS / 5).await?;
    let times = rates::measure(&hosted, 2_000_000, CALLS).await?;
    hosted.end(running).await?;
    hosted.release(&task).await?;
    Ok(Times::of(times))
}

/// A real coordinator, with a real worker that has just ended a task.
async fn look(house: &House, old: Option<&Task>, history: u64, operation: &Times) -> Result<()> {
    let serving = Serving::start(&house.home).await?;
    let task = house.submit("end", old.map(|task| task.session)).await?;
    tokio::time::timeout(PATIENCE, ended(house, &task)).await.context("the task did not end")??;
    tokio::time::sleep(CALM).await;
    let worker = worker(house, &task).await?;
    let keepers: Vec<_> =
        memory::children(worker).into_iter().filter_map(|pid| memory::of(pid).ok()).collect();
    say(&json!({
        "part": "resting", "finished_tasks": history, "synchronous": "FULL",
        "worker": memory::of(worker)?, "keepers": keepers, "serve": memory::of(serving.pid()?)?,
        "operation_p50_ms": operation.quantile(0.5), "operation_p99_ms": operation.quantile(0.99),
    }))?;
    end_worker(house, &task, worker).await?;
    serving.end().await
}

async fn ended(house: &House, task: &Task) -> Result<()> {
    loop {
        let now = house.engine().ledger.task(task.id).await?.context("the task is gone")?;
        match now.state.word() {
            TaskStateWord::Completed | TaskStateWord::Failed => return Ok(()),
            TaskStateWord::Proposed
            | TaskStateWord::Accepted
            | TaskStateWord::Running
            | TaskStateWord::StopRequested
            | TaskStateWord::Stopped
            | TaskStateWord::Rejected
            | TaskStateWord::Unknown => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

/// The worker's process, as it wrote it down.
async fn worker(house: &House, task: &Task) -> Result<u32> {
    let reader = house.engine().stores.journal_reader(task.session).await?;
    let events = reader.tail(None, 100).await?.items;
    let started = events.iter().rev().find(|event| event.kind == EventType::WorkerStarted);
    let pid = started.and_then(|event| event.data["pid"].as_u64()).context("no worker has started")?;
    Ok(u32::try_from(pid)?)
}

/// Ends the worker that this benchmark had started; the kernel ends what it hosts.
async fn end_worker(house: &House, task: &Task, pid: u32) -> Result<()> {
    let folder = house.home.session(task.session);
    ensure!(SessionLock::try_take(&folder)?.is_none(), "the worker has gone by itself");
    let process = rustix::process::Pid::from_raw(i32::try_from(pid)?).context("no process")?;
    rustix::process::kill_process(process, rustix::process::Signal::KILL)?;
    let gone = async {
        while SessionLock::try_take(&folder).is_ok_and(|lock| lock.is_none()) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    Ok(tokio::time::timeout(PATIENCE, gone).await?)
}
