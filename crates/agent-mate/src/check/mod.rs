//! Looking at a connection: the coordinator starts a helper of its own executable, which lives for one look.
//!
//! The helper has a container and a fence as a session has; what it starts ends with it, and it ends with the coordinator.

pub(crate) mod inside;

use anyhow::{Context, Result};
use async_trait::async_trait;
use mate_engine::{Engine, EngineError, Home, HomeId, Prober, settings::FenceSettings};
use mate_model::{Entropy, records::Connection};
use mate_runtime::container::end_container;
use serde_json::Value;
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
    time::Duration,
};
use tokio::{io::AsyncReadExt, sync::Semaphore};

/// Looks at the same time; each is a process with what it starts.
const AT_ONCE: usize = 2;
/// How long a look waits for its turn.
const TURN: Duration = Duration::from_secs(20);
/// The longest look; the command line waits for a minute.
const LOOK: Duration = Duration::from_secs(35);
/// The longest report.
const REPORT: u64 = 16 << 20;
/// How long what a look started may take to end.
const END: Duration = Duration::from_secs(20);

/// Starts helpers.
pub(crate) struct Helpers {
    exe: PathBuf,
    home: Home,
    home_id: HomeId,
    fence: FenceSettings,
    entropy: Arc<dyn Entropy>,
    turns: Semaphore,
}

impl Helpers {
    /// Helpers of this executable; what earlier looks left is ended and removed.
    ///
    /// # Errors
    /// That this program does not know where it is.
    pub(crate) fn new(engine: &Engine, home_id: HomeId, fence: FenceSettings) -> Result<Self> {
        let home = engine.home.clone();
        let checks = home.checks();
        // A stuck leftover keeps nobody waiting.
        tokio::task::spawn_blocking(move || {
            for left in fs::read_dir(checks).into_iter().flatten().flatten() {
                clear(&left.path());
            }
        });
        Ok(Self {
            exe: env::current_exe().context("this program does not know where it is")?,
            home,
            home_id,
            fence,
            entropy: Arc::clone(&engine.entropy),
            turns: Semaphore::new(AT_ONCE),
        })
    }

    async fn ask(&self, connection: &Connection, folder: &Path) -> Result<Value, String> {
        self.home.is_still(self.home_id).map_err(|error| error.to_string())?;
        let fence = serde_json::to_string(&self.fence).map_err(|error| error.to_string())?;
        let mut helper = tokio::process::Command::new(&self.exe)
            .arg("connection-check")
            .arg(connection.id.to_string())
            .arg("--folder")
            .arg(folder)
            .arg("--home")
            .arg(self.home.path())
            .arg("--config")
            .arg(self.home.config())
            .arg("--home-id")
            .arg(self.home_id.to_string())
            .arg("--fence")
            .arg(fence)
            .current_dir("/")
            .env_remove(crate::service::NOTIFY_SOCKET)
            // Held open: when the coordinator is gone, the helper reads its end and goes as well.
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| format!("the helper cannot be started: {error}"))?;
        let mut report = Vec::new();
        let mut stdout = helper.stdout.take().ok_or("the helper has no output")?.take(REPORT);
        let read = tokio::time::timeout(LOOK, stdout.read_to_end(&mut report)).await;
        read.map_err(|_| format!("the look took longer than {} s", LOOK.as_secs()))?
            .map_err(|error| error.to_string())?;
        serde_json::from_slice(&report)
            .map_err(|_| "the helper ended without a report; the coordinator's log says why".to_owned())
    }
}

#[async_trait]
impl Prober for Helpers {
    async fn probe(&self, connection: &Connection) -> Result<Value, EngineError> {
        let busy =
            || EngineError::refused("busy", "other connections are being looked at: try again in a moment");
        let turn = tokio::time::timeout(TURN, self.turns.acquire()).await;
        let _turn = turn.map_err(|_| busy())?.map_err(|_| busy())?;
        let name = self.entropy.uuid().simple().to_string();
        let folder =
            self.home.create_check(&name).map_err(|error| EngineError::Unavailable(error.to_string()))?;
        // Also when nobody waits for the answer any more.
        let cleared = Cleared(folder.clone());
        let found = self.ask(connection, &folder).await;
        drop(cleared);
        found.map_err(|why| {
            EngineError::refused("look_failed", format!("{} cannot be looked at: {why}", connection.name))
        })
    }
}

/// Ends and removes what a look leaves, however it ends.
struct Cleared(PathBuf);

impl Drop for Cleared {
    fn drop(&mut self) {
        let folder = std::mem::take(&mut self.0);
        tokio::task::spawn_blocking(move || clear(&folder));
    }
}

fn clear(folder: &Path) {
    if let Err(error) = end_container(folder, END) {
        tracing::warn!(%error, folder = %folder.display(), "what a look at a connection started may still live");
        return;
    }
    if let Err(error) = fs::remove_dir_all(folder) {
        tracing::debug!(%error, folder = %folder.display(), "the folder of a look is left");
    }
}
