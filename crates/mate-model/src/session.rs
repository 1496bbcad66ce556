//! A session: one conversation with one runtime. Who hosts it lives in the ledger.

use crate::words::words;
use crate::{
    Micros,
    transition::{Epoch, Refusal, Transition},
};

words!(/// The word of a session's state.
SessionStateWord, "a session state" {
    /// No worker hosts it.
    Idle = "idle",
    /// A worker was started for it, with the recorded epoch.
    Hosted = "hosted",
    /// It takes no further tasks.
    Closed = "closed",
});

/// A session's state; each owns its data. The epoch never goes back.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SessionState {
    /// No worker hosts it.
    Idle {
        /// The last epoch that was recorded; 0 when there was none.
        epoch: Epoch,
    },
    /// A worker was started, or is about to be.
    Hosted {
        /// Its epoch.
        epoch: Epoch,
        /// Since when.
        since: Micros,
    },
    /// It takes no further tasks.
    Closed {
        /// The last epoch that was recorded.
        epoch: Epoch,
        /// Since when.
        at: Micros,
    },
}

/// What can happen to a session.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SessionCommand {
    /// The next epoch is recorded, before a worker is started with it.
    Host,
    /// The worker with this epoch has ended, and its container is empty.
    Release {
        /// Its epoch.
        epoch: Epoch,
    },
    /// A member closes it.
    Close,
}

impl SessionState {
    /// The state's word.
    #[must_use]
    pub const fn word(&self) -> SessionStateWord {
        match self {
            Self::Idle { .. } => SessionStateWord::Idle,
            Self::Hosted { .. } => SessionStateWord::Hosted,
            Self::Closed { .. } => SessionStateWord::Closed,
        }
    }

    /// The highest epoch that was recorded.
    #[must_use]
    pub const fn epoch(&self) -> Epoch {
        match self {
            Self::Idle { epoch } | Self::Hosted { epoch, .. } | Self::Closed { epoch, .. } => *epoch,
        }
    }

    /// The one place that knows which moves a session can make.
    ///
    /// # Errors
    /// A [`Refusal`] that says why the command does not apply; the state stays.
    pub fn decide(&self, command: SessionCommand, now: Micros) -> Result<Transition<Self>, Refusal> {
        let to = match (self, command) {
            // Over a hosted one too: the kernel's lock, not this record, says whether its worker lives.
            (Self::Idle { epoch } | Self::Hosted { epoch, .. }, SessionCommand::Host) => {
                Self::Hosted { epoch: Epoch(epoch.0.saturating_add(1)), since: now }
            }
            (Self::Hosted { epoch, .. }, SessionCommand::Release { epoch: writer }) if writer == *epoch => {
                Self::Idle { epoch: *epoch }
            }
            (
                Self::Hosted { epoch, .. } | Self::Idle { epoch },
                SessionCommand::Release { epoch: writer },
            ) => {
                return Err(Refusal::Stale { writer, current: *epoch });
            }
            (Self::Idle { epoch }, SessionCommand::Close) => Self::Closed { epoch: *epoch, at: now },
            (Self::Hosted { .. }, SessionCommand::Close) => {
                return Err(Refusal::NotNow { command: "close it", state: "hosted" });
            }
            (
                Self::Closed { .. },
                SessionCommand::Host | SessionCommand::Release { .. } | SessionCommand::Close,
            ) => {
                return Err(Refusal::Final { state: "closed" });
            }
        };
        Ok(Transition::new(self.clone(), to, now))
    }
}
