//! Why the ledger did not do what it was asked.

use crate::{ConstraintKind, StoreError};
use mate_model::Micros;

/// A refusal or failure of the ledger. Nothing was written, unless the store says that it may have been.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LedgerError {
    /// It is not there, or no longer.
    #[error("there is no such {0}")]
    NotFound(&'static str),
    /// Its name is used.
    #[error("a {0} of this name exists already: choose another name")]
    Taken(&'static str),
    /// Somebody else was first.
    #[error("the {0} has changed meanwhile: read it again and decide again")]
    Conflict(&'static str),
    /// The request's idempotency key was claimed before.
    #[error("the request's key was used before: answer from its record")]
    KeyUsed,
    /// Nobody would be left to administer accounts.
    #[error("no other administrator with a token in force would be left: make one first")]
    LastAdministrator,
    /// An administrator would have no unlimited token left that does not end.
    #[error(
        "this is the administrator's last unlimited token that does not end: make another such first with `agent-mate token add`"
    )]
    LastToken,
    /// The project takes no new work.
    #[error("the project is archived: it takes no new work")]
    Archived,
    /// The session takes no new work.
    #[error("the session is closed: use another one")]
    SessionClosed,
    /// The clock stands before what the ledger has seen.
    #[error(
        "this machine's clock is {} s behind what the ledger has seen: set it right; until then nothing new is taken, \
         and what runs can be stopped, denied and revoked",
        (highest.0 - now.0) / 1_000_000
    )]
    ClockBehind {
        /// The time that was observed.
        now: Micros,
        /// The highest time that the ledger has seen.
        highest: Micros,
    },
    /// Too many others write to the same project.
    #[error("the project's log is written by too many at once; nothing was written: try again in a moment")]
    Contended,
    /// More subjects than one call takes.
    #[error("{got} items, at most {most} in one call: split the call")]
    TooMany {
        /// How many were given.
        got: usize,
        /// How many are taken.
        most: usize,
    },
    /// The store's own error.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl LedgerError {
    /// True when the write may have been committed although an error is reported.
    #[must_use]
    pub const fn maybe_committed(&self) -> bool {
        matches!(self, Self::Store(error) if error.maybe_committed())
    }
}

/// What a script with guards ran into, before a verb gives it a meaning.
#[derive(Debug)]
pub(super) enum Refused {
    /// The caller's statement with this index did not change what it had to.
    Guard(usize),
    /// A unique key was there already.
    Unique,
    /// What the script names is not there.
    Missing,
    /// Anything else.
    Other(LedgerError),
}

impl Refused {
    /// Reads a store's error; `before` statements of the script were not the caller's.
    pub(super) fn read(error: StoreError, before: usize) -> Self {
        if let StoreError::Guard { statement, .. } = error
            && statement >= before
        {
            Self::Guard(statement - before)
        } else if error.is_constraint(ConstraintKind::Unique) {
            Self::Unique
        } else if error.is_constraint(ConstraintKind::ForeignKey) {
            Self::Missing
        } else {
            Self::Other(error.into())
        }
    }

    /// For a verb that has one meaning for each of the three.
    pub(super) fn mean(self, guard: LedgerError, unique: LedgerError, missing: LedgerError) -> LedgerError {
        match self {
            Self::Guard(_) => guard,
            Self::Unique => unique,
            Self::Missing => missing,
            Self::Other(error) => error,
        }
    }

    /// For a verb that adds a named thing.
    pub(super) fn adding(self, noun: &'static str, names: &'static str) -> LedgerError {
        self.mean(LedgerError::Conflict(noun), LedgerError::Taken(noun), LedgerError::NotFound(names))
    }

    /// For a verb that changes something which must be there.
    pub(super) fn changing(self, noun: &'static str) -> LedgerError {
        self.mean(LedgerError::NotFound(noun), LedgerError::Conflict(noun), LedgerError::NotFound(noun))
    }

    /// For a verb that moves a state.
    pub(super) fn moving(self, noun: &'static str) -> LedgerError {
        self.mean(LedgerError::Conflict(noun), LedgerError::Conflict(noun), LedgerError::NotFound(noun))
    }
}
