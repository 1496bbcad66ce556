//! Many clients on one busy task: whether all see the same, how late, and what it costs the coordinator.

use super::{
    below,
    figures::{Times, say},
    hosted::{Hosted, Running},
    house::House,
    listener::{self, Heard},
    memory,
    rates::NOWHERE,
    serving::Serving,
};
use anyhow::{Context, Result, ensure};
use clap::Args;
use mate_model::event::EventType;
use mate_store::Change;
use serde_json::{Value, json};
use std::{path::PathBuf, sync::Arc, time::Duration};
use tokio::{
    task::JoinSet,
    time::{MissedTickBehavior, interval, timeout},
};
use tokio_util::sync::CancellationToken;

/// All clients are one account.
const CONFIG: &str = "[serve]\nrequests_per_second = 100000\nrequest_burst = 100000\n";
/// How often health is asked for.
const ASKING: Duration = Duration::from_millis(20);
/// How long news may take to reach everybody after the last event.
const LAST: Duration = Duration::from_secs(60);

/// `bench-streams`
#[derive(Args, Clone, Debug)]
pub(crate) struct StreamsArgs {
    /// Where the throw-away home is made
    #[arg(long)]
    dir: PathBuf,
    /// How many follow: half of them the task's own stream, half one of the task and its project
    #[arg(long, default_value_t = 1_000)]
    clients: usize,
    /// Events a second
    #[arg(long, default_value_t = 50)]
    rate: u32,
    /// For how many seconds
    #[arg(long, default_value_t = 30)]
    seconds: u32,
}

/// Measures, prints one line, and fails if any client has seen another sequence than the rest.
pub(super) async fn run(arguments: StreamsArgs) -> Result<()> {
    let folder = tempfile::Builder::new().prefix("agent-mate-bench-").tempdir_in(&arguments.dir)?;
    let house = House::build(below(folder.path(), "home"), CONFIG, NOWHERE).await?;
    let task = house.submit("streams", None).await?;
    let mut hosted = Hosted::take(&house.home, &task).await?;
    let running = hosted.begin(task.clone()).await?;
    let serving = Serving::start(&house.home).await?;
    let before = memory::of(serving.pid()?)?;
    let token: Arc<str> = std::fs::read_to_string(house.home.token())?.trim().into();
    let mut clients = JoinSet::new();
    let paths = [
        format!("/api/v1/tasks/{}/events", task.id),
        format!("/api/v1/stream?project={}&task={}", task.project, task.id),
    ];
    let mut join = |count: usize, from: usize| {
        for number in from..from + count {
            let path = paths.get(number % 2).cloned().unwrap_or_default();
            let (address, token) = (serving.address().to_owned(), Arc::clone(&token));
            let clock = Arc::clone(&house.engine().clock);
            clients.spawn(async move {
                let heard = listener::follow(&address, &path, &token, clock.as_ref()).await;
                (number % 2, heard)
            });
        }
    };
    // Half of them are there before the first event, and half come while it is busy.
    let early = arguments.clients / 2;
    join(early, 0);
    let (calm, asking) = (CancellationToken::new(), serving.address().to_owned());
    let (until, clock) = (calm.clone(), Arc::clone(&house.engine().clock));
    let health =
        tokio::spawn(async move { listener::ask_health(&asking, ASKING, clock.as_ref(), &until).await });
    let told = {
        let first = write(&house, &hosted, running, &arguments, 0).await?;
        join(arguments.clients - early, early);
        first + write(&house, &hosted, running, &arguments, first).await?
    };
    write_one(&house, &hosted, running, json!({ "last": true })).await?;
    let during = memory::of(serving.pid()?)?;
    let finished = timeout(LAST, finish(&mut clients, told + 1));
    let lags = Times::of(finished.await.context("not everybody heard the last event")??);
    calm.cancel();
    let health = Times::of(health.await??);
    let after = memory::of(serving.pid()?)?;
    say(&json!({
        "part": "streams", "clients": arguments.clients, "events": told + 1, "rate": arguments.rate,
        "same": true, "lag_p50_ms": lags.quantile(0.5), "lag_p99_ms": lags.quantile(0.99),
        "healthz_p50_ms": health.quantile(0.5), "healthz_p99_ms": health.quantile(0.99),
        "serve_before": before, "serve_during": during, "serve_after": after,
    }))?;
    serving.end().await
}

/// Writes the half of the events, at the rate that is asked for; how many.
async fn write(
    house: &House,
    hosted: &Hosted,
    running: Running,
    arguments: &StreamsArgs,
    from: usize,
) -> Result<usize> {
    let count = (arguments.rate * arguments.seconds / 2).max(1) as usize;
    let mut tick = interval(Duration::from_secs(1) / arguments.rate.max(1));
    tick.set_missed_tick_behavior(MissedTickBehavior::Burst);
    for number in from..from + count {
        tick.tick().await;
        let text = format!("event {number}: some words as an agent says them, of a usual length");
        let data = json!({ "text": text, "told_at": house.engine().clock.now().0 });
        write_one(house, hosted, running, data).await?;
    }
    Ok(count)
}

async fn write_one(house: &House, hosted: &Hosted, running: Running, data: Value) -> Result<()> {
    let event = running.draft(EventType::AgentMessage, house.engine(), data);
    Ok(hosted.journal.write(vec![Change::Event(event)]).await.map(drop)?)
}

/// Waits until everybody has heard the last event, and compares what they heard; how late it was.
async fn finish(clients: &mut JoinSet<(usize, Result<Heard>)>, told: usize) -> Result<Vec<i64>> {
    let mut lags = Vec::new();
    let mut firsts: [Option<Heard>; 2] = [None, None];
    while let Some(done) = clients.join_next().await {
        let (kind, heard) = done?;
        let mut heard = heard?;
        ensure!(heard.journal.len() == told, "a client heard {} of {told} messages", heard.journal.len());
        lags.append(&mut heard.lags);
        let first = firsts.get_mut(kind).context("there are two kinds")?.get_or_insert_with(|| heard.clone());
        ensure!(first.journal == heard.journal, "two clients heard different journals");
        ensure!(first.ledger == heard.ledger, "two clients heard different ledgers");
    }
    Ok(lags)
}
