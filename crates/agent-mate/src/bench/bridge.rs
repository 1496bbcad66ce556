//! `bench-bridge`: real sessions for a comparison. The coordinator runs in this process; each session has its
//! worker, keeper and runtime as processes of their own, started as ever.

use super::{
    figures::say,
    house::{CONNECTION, House},
};
use crate::serve;
use anyhow::{Context, Result, anyhow};
use mate_engine::{Home, SessionLock};
use mate_model::SessionId;
use serde_json::{Value, json};
use std::{net::SocketAddr, time::Duration};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, BufReader, Lines},
    net::{UnixListener, UnixStream},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

/// Workers go soon after their task; a listing is not waited for, since the load client is not the runtime.
const CONFIG: &str = "[session]\nidle_seconds = 1\nlist_seconds = 0\n";
const PATIENCE: Duration = Duration::from_secs(50);
/// How long workers may take to go.
const LEAVE: Duration = Duration::from_secs(8);

pub(super) async fn run(home: Home, sessions: usize, upstream: &str) -> Result<()> {
    let house = House::build(home.clone(), CONFIG, upstream).await?;
    let door = UnixListener::bind(House::door(&home)).context("the benchmark's socket")?;
    let mut hosted = Vec::new();
    for _ in 0..sessions {
        hosted.push(house.submit("hold", None).await?.session);
    }
    let shutdown = CancellationToken::new();
    let listen: SocketAddr = ([127, 0, 0, 1], 0).into();
    let coordinator = tokio::spawn(serve::serve(house.opened, Some(listen), shutdown.clone(), |_| ()));
    let (mut targets, mut runtimes) = (Vec::new(), Vec::new());
    for _ in 0..sessions {
        let (target, runtime) =
            timeout(PATIENCE, meet(&door)).await.context("a session did not come up")??;
        targets.push(target);
        runtimes.push(runtime);
    }
    for runtime in &mut runtimes {
        timeout(PATIENCE, runtime.next_line()).await.context("a session had no prompt")??;
    }
    say(&json!({
        "targets": targets,
        "prefix": format!("{CONNECTION}__"),
        "processes": "one worker for each session, started by the coordinator",
        "synchronous": "FULL",
    }))?;
    let mut rest = Vec::new();
    tokio::io::stdin().read_to_end(&mut rest).await?;
    drop(runtimes);
    let left = timeout(LEAVE, gone(&home, &hosted)).await;
    shutdown.cancel();
    coordinator.await??;
    left.map_err(|_| anyhow!("workers are still there"))
}

/// Takes the next runtime in: where its session's bridge is.
async fn meet(door: &UnixListener) -> Result<(Value, Lines<BufReader<UnixStream>>)> {
    let mut lines = BufReader::new(door.accept().await?.0).lines();
    let line = lines.next_line().await?.context("a runtime hung up")?;
    Ok((serde_json::from_str(&line)?, lines))
}

/// Waits until no session has a worker.
async fn gone(home: &Home, sessions: &[SessionId]) {
    for session in sessions {
        while !matches!(SessionLock::try_take(&home.session(*session)), Ok(Some(_))) {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}
