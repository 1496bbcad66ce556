//! What a turn left in the workspace: told at its end, within a bound of time.

use super::Worker;
use mate_engine::workspace::{Listing, list_changed};
use mate_guard::text;
use mate_model::{Micros, event::EventType};
use serde_json::json;
use std::{path::PathBuf, sync::Arc, time::Duration};

/// How long the look may take.
const BOUND: Duration = Duration::from_secs(3);
/// The longest path that is told, in characters.
const PATH: usize = 300;

impl Worker {
    /// Records which files were changed since the turn began. What cannot be looked at is said, and stops nothing.
    pub(super) async fn list_workspace(&self, since: Micros) {
        let clock = Arc::clone(&self.engine.clock);
        let (workspace, begun) = (PathBuf::from(&self.session.workspace), clock.monotonic());
        let looked = tokio::task::spawn_blocking(move || {
            let elapsed = || Duration::from_micros(clock.monotonic().saturating_sub(begun).unsigned_abs());
            list_changed(&workspace, since, BOUND, &elapsed)
        });
        let data = match looked.await {
            Ok(Ok(listing)) => self.told(&listing),
            Ok(Err(why)) => {
                json!({ "files": [], "total": 0, "complete": false, "detail": self.clean(&why.to_string()) })
            }
            Err(error) => {
                tracing::error!(%error, "the workspace could not be looked at");
                return;
            }
        };
        if let Err(error) = self.recorder.event(EventType::WorkspaceListed, data).await {
            tracing::warn!(%error, "the workspace's files could not be recorded");
        }
    }

    fn told(&self, listing: &Listing) -> serde_json::Value {
        let files: Vec<_> = listing
            .files
            .iter()
            .map(|file| {
                let path = file.path.to_string_lossy();
                let hash = file.hash.map(|hash| blake3::Hash::from_bytes(hash).to_hex().to_string());
                json!({
                    "path": text::line(&self.redactor.shown(&path, PATH), PATH),
                    "size": file.size,
                    "hash": hash,
                })
            })
            .collect();
        json!({ "files": files, "total": listing.total, "complete": listing.complete })
    }
}
