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
    let places = Arc::new(Semaphore::new(CONNECTIONS));
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
