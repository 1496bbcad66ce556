//! `agent-mate serve`: the interface and the scheduler. Sessions go on without it.

use crate::{
    authorizer::OverHttp,
    check::Helpers,
    launch::{Containers, ContainersAtHome, Workers},
    opening::{NotNow, Opened},
};
use anyhow::{Context, Result, bail};
use mate_engine::{HomeId, Launcher, Scheduler, SocketPath, Undertaker, settings::FenceSettings};
use mate_server::{Listeners, PeerCheck, RateLimit, RateLimits, ServerState};
use std::{
    env,
    fs::{File, OpenOptions, TryLockError},
    net::SocketAddr,
    os::unix::fs::OpenOptionsExt,
    sync::Arc,
    time::Duration,
};
use tokio_util::sync::CancellationToken;

/// The longest that anything waits when every doorbell is lost.
const ROUND: Duration = Duration::from_millis(400);
/// In which rounds tasks are looked for that somebody settled and died before ending them: the first, and some.
const SETTLE_EVERY: u32 = 120;
/// In which rounds contents are let go that no artifact holds: the first, and about every hour.
const COLLECT_EVERY: u32 = 9_000;

/// Runs until `shutdown`. Calls `ready` with the address once both listeners are open.
///
/// # Errors
/// That another coordinator has this home, or that nothing can be listened on.
pub(crate) async fn serve(
    opened: Opened,
    listen: Option<SocketAddr>,
    shutdown: CancellationToken,
    ready: impl FnOnce(SocketAddr),
) -> Result<()> {
    mate_runtime::confine::shut_to_others().context("this process cannot be closed to others")?;
    let Opened { engine, settings } = opened;
    let home_id = engine.home.identify(rustix::process::geteuid().as_raw())?;
    let _held = only_one(&engine.home.serve_lock())?;
    let listen = match listen {
        Some(listen) => listen,
        None => settings.serve.listen.parse().context("`serve.listen` in config.toml is not ADDRESS:PORT")?,
    };
    let socket = SocketPath::of(&engine.home.socket()).context("the home's socket")?;
    let listeners = Listeners::open(listen, socket.path()).await?;
    ready(listeners.address());
    let state =
        ServerState::new(Arc::clone(&engine), PeerCheck::new(|pid| !in_a_container(pid)).over_tcp(outside))
            .with_limits(RateLimits {
                requests: RateLimit {
                    per_second: settings.serve.requests_per_second,
                    burst: settings.serve.request_burst,
                },
                failures: RateLimit {
                    per_second: settings.serve.failures_per_second,
                    burst: settings.serve.failure_burst,
                },
            })
            .with_registrar(Arc::new(crate::registrar::Presets))
            .with_authorizer(Arc::new(OverHttp {
                clock: Arc::clone(&engine.clock),
                entropy: Arc::clone(&engine.entropy),
            }))
            .with_prober(Arc::new(
                Helpers::new(&engine, home_id, settings.fence()).context("looks at connections")?,
            ));
    let scheduler = tokio::spawn(schedule(Arc::clone(&engine), home_id, settings.fence(), shutdown.clone()));
    let served = mate_server::serve(state, listeners, shutdown.clone()).await;
    shutdown.cancel();
    let _ = scheduler.await;
    served.context("the interface failed")
}

fn only_one(path: &std::path::Path) -> Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
        .with_context(|| path.display().to_string())?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            bail!(NotNow("another `agent-mate serve` has this home already".to_owned()))
        }
        Err(TryLockError::Error(error)) => Err(error).with_context(|| path.display().to_string()),
    }
}

/// Of a process that cannot be looked at nothing is known, so it is refused.
fn in_a_container(pid: i32) -> bool {
    mate_runtime::container::in_any_container(pid).unwrap_or(true)
}

/// Whether a client over TCP may speak; not when that cannot be told.
fn outside(client: SocketAddr, server: SocketAddr) -> bool {
    mate_runtime::confine::client_is_outside(client, server).unwrap_or_else(|error| {
        tracing::warn!(%error, "it cannot be told who a client is: it is refused");
        false
    })
}

async fn schedule(
    engine: Arc<mate_engine::Engine>,
    home_id: HomeId,
    fence: FenceSettings,
    shutdown: CancellationToken,
) {
    let exe = match env::current_exe() {
        Ok(exe) => exe,
        Err(error) => {
            tracing::error!(%error, "this program does not know where it is: no session can be started");
            return;
        }
    };
    let workers: Arc<dyn Launcher> = Arc::new(Workers { exe, home: engine.home.clone(), home_id, fence });
    let containers: Arc<dyn Undertaker> = Arc::new(ContainersAtHome {
        containers: Containers { clock: Arc::clone(&engine.clock) },
        home: engine.home.clone(),
        home_id,
    });
    let mut scheduler = Scheduler::default();
    let mut bell = engine.ledger.database().listen("ledger").await.ok();
    let mut rounds = 0_u32;
    while !shutdown.is_cancelled() {
        if rounds.is_multiple_of(SETTLE_EVERY)
            && let Err(error) = engine.settle_left().await
        {
            tracing::warn!(%error, "the ledger cannot be asked for tasks that can be settled; trying again later");
        }
        if rounds.is_multiple_of(COLLECT_EVERY)
            && let Err(error) = engine.collect_artifacts().await
        {
            tracing::warn!(%error, "contents that no artifact holds could not be let go; trying again later");
        }
        rounds = rounds.wrapping_add(1);
        if let Err(error) = scheduler.round(&engine, &workers, &containers).await {
            tracing::error!(%error, "the ledger cannot be asked what is to do; trying again");
        }
        let pause = async {
            match &mut bell {
                Some(bell) => {
                    bell.wait(ROUND).await;
                }
                None => tokio::time::sleep(ROUND).await,
            }
        };
        tokio::select! { () = pause => {}, () = shutdown.cancelled() => {} }
    }
    scheduler.finish().await;
}
