//! Serving both ways in until told to end.

use super::{
    Listeners,
    door::{CONNECTIONS, Door},
};
use crate::{ServerState, check::Peer, router};
use std::{fs, future::Future, io, sync::Arc, time::Duration};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// How long requests may take to end when the service goes down.
const GRACE: Duration = Duration::from_secs(5);

/// Serves until `shutdown` is cancelled, then lets requests end for at most five seconds.
///
/// # Errors
/// What the system says of the listeners.
pub async fn serve(state: ServerState, listeners: Listeners, shutdown: CancellationToken) -> io::Result<()> {
    let Listeners { tcp, unix, address, path } = listeners;
    let spans = state.spans;
    let state = state.listening_on(address, shutdown.clone());
    let places = Arc::new(Semaphore::new(connections()));
    let service = router(state).into_make_service_with_connect_info::<Peer>();
    let tcp = Door { listener: tcp, places: Arc::clone(&places), spans };
    let unix = Door { listener: unix, places, spans };
    let tcp = axum::serve(tcp, service.clone()).with_graceful_shutdown(shutdown.clone().cancelled_owned());
    let unix = axum::serve(unix, service).with_graceful_shutdown(shutdown.clone().cancelled_owned());
    let served = bounded(async { tokio::try_join!(tcp, unix).map(|_| ()) }, &shutdown).await;
    // The caller still holds the coordinator's lock, so the socket is this one's own.
    if let Err(error) = fs::remove_file(&path) {
        tracing::debug!(%error, "the socket could not be removed");
    }
    served
}

/// The most connections at a time: half of the files that this process may have open stay for the stores.
fn connections() -> usize {
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    files(&limits).map_or(CONNECTIONS, |files| (files / 2).clamp(1, CONNECTIONS))
}

/// How many files a process with these limits may have open; none where that is not limited or not said.
fn files(limits: &str) -> Option<usize> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

async fn bounded(
    serving: impl Future<Output = io::Result<()>>,
    shutdown: &CancellationToken,
) -> io::Result<()> {
    tokio::select! {
        served = serving => served,
        () = async { shutdown.cancelled().await; tokio::time::sleep(GRACE).await } => {
            tracing::warn!("requests were cut off after {} s of waiting for their end", GRACE.as_secs());
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stores_keep_half_of_the_files() {
        let limits = "Max processes             63432    63432    processes\nMax open files            1024                 524288               files\n";
        assert_eq!(files(limits), Some(1_024));
        assert_eq!(files("Max open files            unlimited            unlimited            files"), None);
        assert_eq!(files(""), None);
        assert!((1..=CONNECTIONS).contains(&connections()));
    }
}
