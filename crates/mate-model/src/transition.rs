//! A decision's result: a legal move that only the model can make, or a refusal.

use crate::Micros;
use serde::{Deserialize, Serialize};

/// A number that grows each time a session's lock is taken; a writer with a lower one is stale.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Epoch(pub i64);

/// A move of one machine from a state to a state, decided at a moment.
///
/// The fields are private and there is no public constructor: a store that writes states takes
/// transitions, and transitions come from `decide` alone.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a transition changes nothing until a store applies it"]
pub struct Transition<S> {
    from: S,
    to: S,
    at: Micros,
}

impl<S> Transition<S> {
    pub(crate) const fn new(from: S, to: S, at: Micros) -> Self {
        Self { from, to, at }
    }

    /// The state that the store must still hold.
    pub const fn from(&self) -> &S {
        &self.from
    }

    /// The state to write.
    pub const fn to(&self) -> &S {
        &self.to
    }

    /// When it was decided.
    pub const fn at(&self) -> Micros {
        self.at
    }

    /// The new state, once the store has it.
    pub fn into_to(self) -> S {
        self.to
    }
}

/// Why a command does not apply to a state. Nothing changes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The state is final.
    #[error("it is {state} already, and that is final")]
    Final {
        /// The final state's word.
        state: &'static str,
    },
    /// The command was carried out before: a duplicate.
    #[error("it is {state} already")]
    Already {
        /// The present state's word.
        state: &'static str,
    },
    /// The command does not apply in this state.
    #[error("cannot {command} while it is {state}")]
    NotNow {
        /// What was asked.
        command: &'static str,
        /// The present state's word.
        state: &'static str,
    },
    /// The writer's epoch, or turn, is not the one in force.
    #[error("the writer's epoch {writer:?} is behind {current:?}: another worker holds the session")]
    Stale {
        /// The epoch of who asks.
        writer: Epoch,
        /// The epoch in force.
        current: Epoch,
    },
    /// Evidence is missing for what would be claimed.
    #[error("there is no evidence for it")]
    NoEvidence,
}
