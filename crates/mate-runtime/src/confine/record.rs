//! How a session was confined, as recorded.

use mate_model::confinement::ConfinementMeans;
use serde::{Deserialize, Serialize};

/// How a container's processes are confined.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confined {
    /// By what.
    pub means: ConfinementMeans,
    /// Whether each program is also kept from the memory, environment and abstract sockets of every other, of this
    /// session too, and from signalling them.
    pub apart: bool,
    /// Why a stronger means was not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_stronger: Option<String>,
}

impl Confined {
    /// Switched off.
    #[must_use]
    pub const fn not() -> Self {
        Self { means: ConfinementMeans::None, apart: false, not_stronger: None }
    }
}
