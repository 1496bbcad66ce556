//! The settings file, `config.toml`. Every setting has a default; an unknown one is an error that names its line.

use mate_model::{
    confinement::{ConfinementMode, WantedMeans},
    containment::MeansChoice,
};
use serde::{Deserialize, Serialize};
use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

/// What can be set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Where the stores are.
    pub store: StoreSettings,
    /// The coordinator.
    pub serve: ServeSettings,
    /// Sessions.
    pub session: SessionSettings,
    /// What sessions must not see.
    pub confinement: ConfinementSettings,
    /// How long people are waited for.
    pub approval: ApprovalSettings,
    /// The grace periods of the stop ladder.
    pub stop: StopSettings,
    /// How the processes of sessions are held together.
    pub containment: ContainmentSettings,
}

/// What a coordinator hands to its sessions as it has read it: what the settings say by then must not free a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FenceSettings {
    /// What sessions must not see.
    pub confinement: ConfinementSettings,
    /// How their processes are held together.
    pub containment: ContainmentSettings,
}

impl std::str::FromStr for FenceSettings {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }
}

/// `[containment]`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ContainmentSettings {
    /// With the strongest means that the machine offers, or with this one or none.
    pub means: MeansChoice,
}

impl Default for ContainmentSettings {
    fn default() -> Self {
        Self { means: MeansChoice::Auto }
    }
}

/// `[store]`
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StoreSettings {
    /// A `postgres://` address; absent: SQLite files in the home.
    pub database: Option<String>,
}

/// `[serve]`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServeSettings {
    /// Address and port to listen on.
    pub listen: String,
    /// How many requests an account may make in a second, on average.
    pub requests_per_second: u32,
    /// How many requests an account may make at once.
    pub request_burst: u32,
    /// How many requests without a valid token may come from an address in a second, on average.
    pub failures_per_second: u32,
    /// How many of them may come at once.
    pub failure_burst: u32,
}

impl Default for ServeSettings {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:7717".to_owned(),
            requests_per_second: 200,
            request_burst: 1000,
            failures_per_second: 10,
            failure_burst: 300,
        }
    }
}

/// `[session]`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SessionSettings {
    /// How long a worker without a task keeps its runtime.
    pub idle_seconds: u64,
    /// How long calls may stay in flight after the runtime's turn is over.
    pub settle_seconds: u64,
    /// How long the runtime may take to be ready for a prompt.
    pub start_seconds: u64,
    /// How long the first prompt waits for the runtime to list the bridge's tools.
    pub list_seconds: u64,
    /// How long one call may take.
    pub call_seconds: u64,
    /// How long the worker waits for a journal that cannot be written or read; then it ends, and recovery takes over.
    pub journal_seconds: u64,
}

impl Default for SessionSettings {
    fn default() -> Self {
        Self {
            idle_seconds: 120,
            settle_seconds: 60,
            start_seconds: 120,
            list_seconds: 15,
            call_seconds: 600,
            journal_seconds: 600,
        }
    }
}

/// `[confinement]`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ConfinementSettings {
    /// Whether sessions start where they cannot be confined.
    pub mode: ConfinementMode,
    /// By which means they are confined.
    pub means: WantedMeans,
    /// Folders and files to hide besides Agent Mate's own; absolute.
    pub hide: Vec<PathBuf>,
    /// Sockets of other services that are hidden by default and that sessions may use; absolute.
    pub show: Vec<PathBuf>,
}

/// `[approval]`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ApprovalSettings {
    /// How long a call waits for an answer before the runtime is told to call again: below its MCP client's own limit.
    pub caller_seconds: u64,
    /// How long a request waits for an answer, and an answer for its use.
    pub expire_seconds: u64,
}

impl Default for ApprovalSettings {
    fn default() -> Self {
        Self { caller_seconds: 45, expire_seconds: 3600 }
    }
}

/// `[stop]`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StopSettings {
    /// From `session/cancel` to closing the runtime's input.
    pub cancel_seconds: u64,
    /// From closing the input to SIGTERM.
    pub close_seconds: u64,
    /// From SIGTERM to SIGKILL of the container.
    pub term_seconds: u64,
}

impl Default for StopSettings {
    fn default() -> Self {
        Self { cancel_seconds: 5, close_seconds: 2, term_seconds: 2 }
    }
}

impl SessionSettings {
    /// [`Self::idle_seconds`] as a duration.
    #[must_use]
    pub const fn idle(&self) -> Duration {
        Duration::from_secs(self.idle_seconds)
    }

    /// [`Self::journal_seconds`] as a duration.
    #[must_use]
    pub const fn journal(&self) -> Duration {
        Duration::from_secs(self.journal_seconds)
    }

    /// [`Self::settle_seconds`] as a duration.
    #[must_use]
    pub const fn settle(&self) -> Duration {
        Duration::from_secs(self.settle_seconds)
    }
}

/// A settings file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BadSettings {
    /// It cannot be read.
    #[error("cannot read {path}: {error}")]
    Unreadable {
        /// The file.
        path: String,
        /// Why.
        error: io::Error,
    },
    /// It says something that is not understood.
    #[error("{path}: {error}")]
    Wrong {
        /// The file.
        path: String,
        /// Where and what, with the line.
        error: Box<toml::de::Error>,
    },
}

impl Settings {
    /// What sessions are handed.
    #[must_use]
    pub fn fence(&self) -> FenceSettings {
        FenceSettings { confinement: self.confinement.clone(), containment: self.containment.clone() }
    }

    /// Reads a settings file; a missing one gives the defaults.
    ///
    /// # Errors
    /// [`BadSettings`], with the file and the line.
    pub fn read(path: &Path) -> Result<Self, BadSettings> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(BadSettings::Unreadable { path: path.display().to_string(), error }),
        };
        toml::from_str(&text)
            .map_err(|error| BadSettings::Wrong { path: path.display().to_string(), error: Box::new(error) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_setting_is_an_error_that_names_file_and_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("config.toml");
        fs::write(&path, "[session]\nidle_seconds = 5\nidel = 3\n").expect("written");
        let error = Settings::read(&path).expect_err("refused").to_string();
        assert!(
            error.contains("config.toml") && error.contains("line 3") && error.contains("idel"),
            "{error}"
        );
    }

    #[test]
    fn a_missing_file_gives_the_defaults() {
        let settings = Settings::read(Path::new("/nonexistent/config.toml")).expect("defaults");
        assert_eq!(settings, Settings::default());
    }
}
