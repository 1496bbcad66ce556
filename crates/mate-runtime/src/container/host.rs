//! The worker's side of a container.

use super::{Launch, Living, Process, RecordError, SignalKind, SpawnError};
use crate::confine::Confinement;
use std::{io, path::PathBuf, time::Duration};

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
use linux::Keeper;
#[cfg(not(target_os = "linux"))]
mod unsupported;
#[cfg(not(target_os = "linux"))]
use unsupported::Keeper;

use super::{Breach, ContainerRecord, EndError, Evidence};
use mate_model::containment::{Limits, MeansChoice};

/// How long the keeper may take for one answer.
const ANSWER: Duration = Duration::from_secs(30);
/// How long the keeper may take to end the container by itself. It cannot where the session has frozen it.
const GRACE: Duration = Duration::from_secs(4);
/// How long the end of a container may take; a big process needs time to be torn down.
const END: Duration = Duration::from_secs(20);

/// What a container needs.
#[derive(Clone, Debug)]
pub struct ContainerSpec {
    /// The binary that offers the hidden subcommand `keeper`.
    pub exe: PathBuf,
    /// The session's folder, which takes the records of the container.
    pub folder: PathBuf,
    /// What its processes must not see.
    pub confinement: Confinement,
    /// How its processes are to be held together.
    pub means: MeansChoice,
    /// What they may use.
    pub limits: Limits,
}

impl ContainerSpec {
    /// A container by the strongest means that the machine offers, without limits, in which nothing is hidden.
    #[must_use]
    pub fn new(exe: PathBuf, folder: PathBuf) -> Self {
        Self {
            exe,
            folder,
            confinement: Confinement::off(),
            means: MeansChoice::Auto,
            limits: Limits::default(),
        }
    }
}

/// Why there is no container.
#[derive(Debug, thiserror::Error)]
pub enum ContainerError {
    /// The session's earlier container is not proved empty.
    #[error("the session's earlier container: {0}")]
    Earlier(#[from] Living),
    /// The keeper cannot be started or spoken to.
    #[error("the session's keeper cannot be started: {0}")]
    Keeper(#[from] io::Error),
    /// The keeper says why.
    #[error("{0}")]
    NotContained(String),
    /// The keeper does not answer.
    #[error("the session's keeper did not answer in time")]
    Silent,
    /// The records cannot be used.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// This system has no such means.
    #[error("this system offers no means to contain processes; Agent Mate needs Linux for sessions")]
    Unsupported,
}

/// A container of processes. When it is dropped, or its worker dies, everything in it ends.
#[derive(Debug)]
pub struct Container {
    keeper: Keeper,
    record: ContainerRecord,
    folder: PathBuf,
}

impl Container {
    /// Makes an empty container and puts it on record.
    ///
    /// # Errors
    /// When an earlier container of the session may still live, or the system refuses.
    pub async fn start(spec: &ContainerSpec) -> Result<Self, ContainerError> {
        super::prove_empty(&spec.folder)?;
        let mut refused = Vec::new();
        for means in spec.means.candidates() {
            match Keeper::start(spec, *means, ANSWER).await {
                Ok((keeper, record)) => return Ok(Self { keeper, record, folder: spec.folder.clone() }),
                Err(ContainerError::NotContained(why)) => refused.push(format!("{means}: {why}")),
                Err(error) => return Err(error),
            }
        }
        Err(ContainerError::NotContained(refused.join("; ")))
    }

    /// The limits that were reached so far.
    #[must_use]
    pub fn breaches(&self) -> Vec<Breach> {
        self.keeper.breaches()
    }

    /// What is on record of it: means, process 1, namespace.
    #[must_use]
    pub const fn record(&self) -> &ContainerRecord {
        &self.record
    }

    /// Starts a program in the container.
    ///
    /// # Errors
    /// When the program cannot be started; the text names the cause.
    pub async fn spawn(&self, launch: Launch) -> Result<Process, SpawnError> {
        self.keeper.spawn(launch, ANSWER).await
    }

    /// Sends a signal to the process `id` and its process group. One that ended is left alone.
    ///
    /// # Errors
    /// When the container has ended.
    pub async fn signal(&self, id: u64, signal: SignalKind) -> Result<(), SpawnError> {
        self.keeper.signal(id, signal).await
    }

    /// Kills every process in the container; the container itself stays.
    ///
    /// # Errors
    /// When the container has ended.
    pub async fn kill_all(&self) -> Result<(), SpawnError> {
        self.keeper.kill_all().await
    }

    /// How many processes live in it.
    ///
    /// # Errors
    /// When the container has ended.
    pub async fn count(&self) -> Result<usize, SpawnError> {
        self.keeper.count(ANSWER).await
    }

    /// Whether the process with this number, as seen by the worker, lives in the container.
    #[must_use]
    pub fn contains(&self, pid: i32) -> bool {
        super::is_inside(&self.record.init, pid)
    }

    /// Waits until the container has ended, for whatever reason.
    pub async fn ended(&self) {
        self.keeper.ended().await;
    }

    /// Ends everything in the container and proves it.
    ///
    /// # Errors
    /// When something still lives 20 s after it was killed from outside.
    pub async fn kill(&self) -> Result<Evidence, EndError> {
        self.keeper.close();
        // When the keeper itself is stuck, all is ended from outside below.
        let _ = tokio::time::timeout(GRACE, self.keeper.ended()).await;
        let folder = self.folder.clone();
        tokio::task::spawn_blocking(move || super::end_container(&folder, END))
            .await
            .unwrap_or_else(|error| Err(EndError::Refused(io::Error::other(error))))
    }
}
