//! What the worker wants of the keeper, and its outer process of the inner one.

use super::cgroup::Leaf;
use crate::confine::Confined;
use mate_model::containment::{Limits, Means};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// For the outer process.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Plan {
    /// With this and nothing else.
    pub(super) means: Means,
    pub(super) limits: Limits,
}

/// For the inner process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct InnerPlan {
    pub(super) hold: HoldPlan,
    /// How many processes there may be, where the kernel may not be counting.
    pub(super) processes: Option<u64>,
    /// The kernel counts them, if the leaf can be entered.
    pub(super) kernel_counts: bool,
}

/// How the inner process holds what it starts.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum HoldPlan {
    /// It is process 1 of a namespace, and in a leaf with all the rest if there is one.
    Namespace { leaf: Option<Leaf> },
    /// Programs are started in a leaf; orphans come to it as well.
    Leaf { leaf: Leaf, own: PathBuf, witness: Witness },
    /// Orphans come to it.
    Orphans { witness: Witness },
}

/// Where the inner process writes the evidence when the outer one cannot.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Witness {
    pub(super) folder: PathBuf,
    pub(super) outer: i32,
}

/// The inner process's first and only words to the outer one.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Answer {
    Ready { own_proc: bool, in_leaf: bool, confined: Confined },
    Failed { why: String },
}
