//! What is started in a container, and what its owner holds of it.

use serde::{Deserialize, Serialize};
use std::{fmt, path::PathBuf};
use tokio::{net::unix::pipe, sync::watch};

/// A program to start. Its surroundings are exactly what is named here; nothing is inherited.
#[derive(Clone, Serialize, Deserialize)]
pub struct Launch {
    /// The program and its arguments. The program is searched in the `PATH` of `env` unless it has a slash.
    pub argv: Vec<String>,
    /// The whole environment.
    pub env: Vec<(String, String)>,
    /// The working directory; must exist.
    pub cwd: PathBuf,
}

impl fmt::Debug for Launch {
    /// The environment may hold secrets, so only its names are shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.env.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Launch")
            .field("argv", &self.argv)
            .field("env", &names)
            .field("cwd", &self.cwd)
            .finish()
    }
}

/// How a process of the container ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// It returned this code.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
    /// It ended with its container; how is not known.
    Container,
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => write!(f, "signal {signal}"),
            Self::Container => f.write_str("ended with its container"),
        }
    }
}

/// The signals that are sent to a process and its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SignalKind {
    /// Please end.
    Term,
    /// End.
    Kill,
}

/// Why a program was not started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpawnError {
    /// The system refused; the text names the cause.
    #[error("{0}")]
    Refused(String),
    /// The container has ended, so nothing can be started in it.
    #[error("the session's container has ended; open the session anew")]
    Ended,
    /// The keeper did not answer in time.
    #[error("the session's keeper did not answer; end the session")]
    Silent,
}

/// A running program of a container, with its three pipes.
#[derive(Debug)]
pub struct Process {
    /// Names it within its container; never reused.
    pub id: u64,
    /// Its number inside the container's PID namespace.
    pub pid: i32,
    /// What it reads. Dropping it is the end of its input.
    pub stdin: pipe::Sender,
    /// What it writes.
    pub stdout: pipe::Receiver,
    /// What it complains.
    pub stderr: pipe::Receiver,
    /// Becomes `Some` when it ended. Its children may live on, and hold its pipes open.
    pub exited: watch::Receiver<Option<Exit>>,
}

impl Process {
    /// Waits until the process ended.
    pub async fn wait(&mut self) -> Exit {
        wait_for_exit(&mut self.exited).await
    }
}

/// Waits until `exited` holds the end of a process.
pub(crate) async fn wait_for_exit(exited: &mut watch::Receiver<Option<Exit>>) -> Exit {
    match exited.wait_for(Option::is_some).await {
        Ok(exit) => exit.unwrap_or(Exit::Container),
        Err(_) => Exit::Container,
    }
}
