//! What a session's processes must not see.

use mate_model::confinement::{ConfinementMode, WantedMeans};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What is to be hidden from a session, and by which means. All paths are absolute.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    /// Whether it must be.
    pub mode: ConfinementMode,
    /// By which means.
    pub means: WantedMeans,
    /// Folders and files that must not be seen; what is not there is passed over.
    pub hide: Vec<PathBuf>,
    /// Below those: what the session needs all the same, such as its own socket.
    pub keep: Vec<PathBuf>,
    /// Sockets through which other services act for whoever asks, and which this session may use.
    pub show: Vec<PathBuf>,
}

impl Confinement {
    /// No confinement.
    #[must_use]
    pub fn off() -> Self {
        Self { mode: ConfinementMode::Off, ..Self::default() }
    }

    /// Hides these with whatever means there is.
    #[must_use]
    pub fn hiding(hide: Vec<PathBuf>) -> Self {
        Self { hide, ..Self::default() }
    }
}
