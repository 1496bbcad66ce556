//! Why a journal did not take a write.

use crate::StoreError;
use mate_model::Epoch;

/// A refusal or failure of a journal. Nothing was written, unless the store says that it may have been.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JournalError {
    /// A writer with a higher epoch has taken over.
    #[error(
        "this writer's epoch {ours:?} is behind {current:?}: another worker holds the session; end this one"
    )]
    Stale {
        /// The epoch of who asks.
        ours: Epoch,
        /// The epoch in force.
        current: Epoch,
    },
    /// A row was not in the state that a move starts from, or was there already.
    #[error(
        "the journal is not as the writer thought ({0}): nothing was written; read it again and decide again"
    )]
    Conflict(StoreError),
    /// More changes than one write takes.
    #[error("{got} changes, at most {most} in one write: split the write")]
    TooMany {
        /// How many were given.
        got: usize,
        /// How many are taken.
        most: usize,
    },
    /// The writer has ended.
    #[error("the journal's writer has ended")]
    Closed,
    /// The store's own error.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl JournalError {
    /// True when the write may have been committed although an error is reported.
    #[must_use]
    pub const fn maybe_committed(&self) -> bool {
        matches!(self, Self::Store(error) if error.maybe_committed())
    }
}
