//! Starting session workers, and ending what a dead one left.

use async_trait::async_trait;
use mate_engine::{Home, HomeId, Launcher, Undertaker, settings::FenceSettings};
use mate_model::{Clock, Epoch, SessionId, containment::Means, task::StopEvidence};
use mate_runtime::container::{Evidence, Proof, end_container};
use std::{
    fs::{File, OpenOptions},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
    time::Duration,
};

/// How long a container may take to end.
const PATIENCE: Duration = Duration::from_secs(20);

/// Starts workers from this binary.
pub(crate) struct Workers {
    pub(crate) exe: PathBuf,
    pub(crate) home: Home,
    /// The folder that the coordinator has opened.
    pub(crate) home_id: HomeId,
    /// What the settings said then.
    pub(crate) fence: FenceSettings,
}

#[async_trait]
impl Launcher for Workers {
    async fn launch(&self, session: SessionId, epoch: Epoch, lock: File) -> Result<(), String> {
        self.home.is_still(self.home_id).map_err(|error| error.to_string())?;
        let fence = serde_json::to_string(&self.fence).map_err(|error| error.to_string())?;
        let log = self.home.session(session).worker_log();
        let log = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(&log)
            .map_err(|error| format!("{}: {error}", log.display()))?;
        let mut child = tokio::process::Command::new(&self.exe)
            .arg("session-worker")
            .arg(session.to_string())
            .arg("--epoch")
            .arg(epoch.0.to_string())
            .arg("--home")
            .arg(self.home.path())
            .arg("--config")
            .arg(self.home.config())
            .arg("--home-id")
            .arg(self.home_id.to_string())
            .arg("--fence")
            .arg(fence)
            .current_dir("/")
            // The service manager hears from the coordinator alone.
            .env_remove(crate::service::NOTIFY_SOCKET)
            // The open file carries the session's lock.
            .stdin(Stdio::from(lock))
            .stdout(Stdio::null())
            .stderr(Stdio::from(log))
            .kill_on_drop(false)
            .spawn()
            .map_err(|error| format!("the session's worker cannot be started: {error}"))?;
        tokio::spawn(async move {
            let ended = child.wait().await;
            tracing::debug!(%session, ?ended, "a session worker ended");
        });
        Ok(())
    }
}

/// Ends containers by what their keepers wrote down.
pub(crate) struct Containers {
    pub(crate) clock: Arc<dyn Clock>,
}

#[async_trait]
impl Undertaker for Containers {
    async fn end(&self, folder: &Path) -> Result<StopEvidence, String> {
        let folder = folder.to_owned();
        let ended = tokio::task::spawn_blocking(move || end_container(&folder, PATIENCE)).await;
        let evidence = ended.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
        Ok(stop_evidence(&evidence, self.clock.as_ref()))
    }
}

/// The same, as long as the records lie in the home that was opened.
pub(crate) struct ContainersAtHome {
    pub(crate) containers: Containers,
    pub(crate) home: Home,
    pub(crate) home_id: HomeId,
}

#[async_trait]
impl Undertaker for ContainersAtHome {
    async fn end(&self, folder: &Path) -> Result<StopEvidence, String> {
        self.home.is_still(self.home_id).map_err(|error| error.to_string())?;
        self.containers.end(folder).await
    }
}

/// What the ledger and the journal keep of a container's end.
pub(crate) fn stop_evidence(evidence: &Evidence, clock: &dyn Clock) -> StopEvidence {
    let means = evidence.container.as_ref().map(|container| container.means);
    let proof = match &evidence.proof {
        Proof::NeverStarted => return StopEvidence::NeverStarted,
        Proof::Witnessed(exit) => match exit.container.means {
            Means::PidNamespace => {
                "the keeper saw the end of the container's first process, which the kernel lets go last"
            }
            Means::Cgroup => {
                "the kernel told the keeper that the container's cgroup is empty, and it has no child left"
            }
            Means::Subreaper => "the keeper, to which every orphan of the container comes, has no child left",
        },
        Proof::CgroupEmpty => "the kernel says that the container's cgroup is empty",
        Proof::Stated { reason } => &format!("somebody who has the home stated it: {reason}"),
        Proof::EarlierBoot => "the container belonged to an earlier boot of this machine",
        Proof::InitGone => "the container's first process is gone, which the kernel lets go last",
    };
    let means = means.map_or("none", Means::as_str).to_owned();
    StopEvidence::ContainerEmpty { means, at: clock.now(), proof: proof.to_owned() }
}
