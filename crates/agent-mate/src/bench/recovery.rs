//! From the death of everything to all operations classified.
//!
//! The home is made by real admissions whose outcomes never come, and copied while it is open: that is what a
//! SIGKILL leaves, logs and all. One copy is recovered by a coordinator that is started for it, the other in
//! this process, session by session.

use super::{
    below,
    figures::{millis, say},
    hosted::Hosted,
    house::House,
    rates::NOWHERE,
    serving::Serving,
};
use crate::launch::Containers;
use anyhow::{Context, Result, bail, ensure};
use mate_engine::{Home, SessionLock};
use mate_model::{Clock, OperationId, TaskId, records::Task, task::TaskStateWord};
use serde_json::json;
use std::{path::Path, sync::Arc, time::Duration};
use tokio::process::Command;

/// Calls admitted at once while the home is made.
const LANES: u64 = 64;
const LOOK: Duration = Duration::from_millis(2);
const PATIENCE_MICROS: i64 = 120_000_000;

pub(super) async fn run(folder: &Path, sessions: usize, count: u64) -> Result<()> {
    let (served, direct) = (below(folder, "served"), below(folder, "direct"));
    let tasks = prepare(below(folder, "home"), &[&served, &direct], sessions, count).await?;
    let (ready, done) = by_coordinator(&served, &tasks).await?;
    let pure = in_process(&direct, &tasks, count).await?;
    say(&json!({
        "part": "recovery", "sessions": sessions, "operations": count, "synchronous": "FULL",
        "listening_ms": millis(ready), "classified_ms": millis(done), "recover_ms": millis(pure),
    }))
}

async fn prepare(home: Home, copies: &[&Home], sessions: usize, count: u64) -> Result<Vec<Task>> {
    let house = House::build(home, "", NOWHERE).await?;
    let each = count / sessions as u64;
    ensure!(each * sessions as u64 == count, "the operations do not spread evenly over {sessions} sessions");
    let (mut tasks, mut hosts) = (Vec::new(), Vec::new());
    for _ in 0..sessions {
        let task = house.submit("in flight", None).await?;
        let mut hosted = Hosted::take(&house.home, &task).await?;
        hosted.begin(task.clone()).await?;
        let hosted = Arc::new(hosted);
        let lanes: Vec<_> = (0..LANES.min(each))
            .map(|lane| {
                let hosted = Arc::clone(&hosted);
                tokio::spawn(async move {
                    for number in (lane..each).step_by(LANES as usize) {
                        hosted.admit(number).await?;
                    }
                    anyhow::Ok(())
                })
            })
            .collect();
        for lane in lanes {
            lane.await??;
        }
        tasks.push(task);
        hosts.push(hosted);
    }
    for copy in copies {
        let copied = Command::new("cp").arg("-a").arg(house.home.path()).arg(copy.path()).status().await?;
        ensure!(copied.success(), "the home could not be copied");
    }
    Ok(tasks)
}

/// From the start of the program to its ready line, and to the last task classified; microseconds.
async fn by_coordinator(home: &Home, tasks: &[Task]) -> Result<(i64, i64)> {
    let house = House::again(home.clone()).await?;
    let clock = Arc::clone(&house.engine().clock);
    let began = clock.monotonic();
    let serving = Serving::start(home).await?;
    let ready = clock.monotonic() - began;
    for task in tasks {
        while !is_classified(&house, task.id).await? {
            ensure!(clock.monotonic() - began < PATIENCE_MICROS, "recovery takes too long");
            tokio::time::sleep(LOOK).await;
        }
    }
    let done = clock.monotonic() - began;
    serving.end().await?;
    for task in tasks {
        let open = house.engine().stores.journal_reader(task.session).await?.open_count().await?;
        ensure!(open == 0, "{open} operations of {} are still open", task.id);
    }
    Ok((ready, done))
}

async fn is_classified(house: &House, id: TaskId) -> Result<bool> {
    let task = house.engine().ledger.task(id).await?.context("the task is gone")?;
    match task.state.word() {
        TaskStateWord::Unknown => Ok(true),
        TaskStateWord::Running => Ok(false),
        word @ (TaskStateWord::Proposed
        | TaskStateWord::Accepted
        | TaskStateWord::StopRequested
        | TaskStateWord::Completed
        | TaskStateWord::Failed
        | TaskStateWord::Stopped
        | TaskStateWord::Rejected) => bail!("a task with operations in flight is {word}"),
    }
}

/// The time that recovery itself takes, session after session; microseconds.
async fn in_process(home: &Home, tasks: &[Task], count: u64) -> Result<i64> {
    let house = House::again(home.clone()).await?;
    let engine = house.engine();
    let undertaker = Containers { clock: Arc::clone(&engine.clock) };
    let clock: &dyn Clock = engine.clock.as_ref();
    let (mut took, mut unknown) = (0, 0);
    for task in tasks {
        let session = engine.ledger.session(task.session).await?.context("the session is gone")?;
        let lock = SessionLock::try_take(&home.session(session.id))?.context("somebody hosts the session")?;
        let began = clock.monotonic();
        unknown += engine.recover(&session, &lock, &undertaker).await?.unknown;
        took += clock.monotonic() - began;
        let first = OperationId { session: session.id, number: 1 };
        let operation = engine.stores.journal_reader(session.id).await?.operation(first).await?;
        ensure!(operation.is_some(), "the journal has no operation");
    }
    ensure!(unknown == count, "{unknown} of {count} operations are unknown");
    Ok(took)
}
