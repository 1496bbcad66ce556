//! The words of confinement: what a session's processes must not see is not there for them.

use crate::words::words;
use serde::{Deserialize, Serialize};

words!(/// Whether sessions run without confinement where there is none.
#[derive(Default)]
ConfinementMode, "a mode of confinement" {
    /// A session that cannot be confined does not start.
    #[default]
    Required = "required",
    /// Sessions are not confined.
    Off = "off",
});

words!(/// Which means of confinement is to be used.
#[derive(Default)]
WantedMeans, "a means of confinement to choose" {
    /// The strongest that the machine offers.
    #[default]
    Auto = "auto",
    /// A mount namespace or none.
    MountNamespace = "mount_namespace",
    /// Landlock or none.
    Landlock = "landlock",
});

words!(/// What keeps a session's processes from what is hidden.
ConfinementMeans, "a means of confinement" {
    /// A mount namespace in which it is not there.
    MountNamespace = "mount_namespace",
    /// The kernel refuses to open it.
    Landlock = "landlock",
    /// Nothing: it was switched off.
    None = "none",
});

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
