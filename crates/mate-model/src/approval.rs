//! An approval: a person's answer to one exact request, used once. A call's has the operation's id.

use crate::words::words;
use crate::{
    AccountId, Micros,
    transition::{Refusal, Transition},
};

words!(/// The word of an approval's state.
ApprovalStateWord, "an approval state" {
    /// Nobody has answered.
    Open = "open",
    /// A person gave leave; it was not used yet.
    Allowed = "allowed",
    /// A person said no.
    Denied = "denied",
    /// Nobody answered in time.
    Expired = "expired",
    /// The turn ended, or a crash came, before it was used.
    Withdrawn = "withdrawn",
    /// The leave was used by the one request that it was for.
    Used = "used",
});

words!(/// What an approval is for.
ApprovalKind, "a kind of approval" {
    /// A call through the bridge.
    Call = "call",
    /// A tool of the runtime's own, which asks by itself.
    OwnTool = "own_tool",
});

words!(/// A person's answer.
Decision, "a decision" {
    /// Leave is given.
    Allow = "allow",
    /// Leave is refused.
    Deny = "deny",
});

/// An approval's state; each owns its data.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ApprovalState {
    /// Nobody has answered.
    Open {
        /// When the wait ends.
        expires: Micros,
    },
    /// A person gave leave.
    Allowed {
        /// Who.
        by: AccountId,
        /// When.
        at: Micros,
        /// When the leave ends, used or not.
        expires: Micros,
    },
    /// A person said no.
    Denied {
        /// Who.
        by: AccountId,
        /// When.
        at: Micros,
        /// Why.
        reason: String,
    },
    /// Nobody answered in time.
    Expired,
    /// Nobody is there to use it.
    Withdrawn,
    /// Used.
    Used {
        /// Who had given leave.
        by: AccountId,
        /// When it was used.
        at: Micros,
    },
}

/// What can happen to an approval.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ApprovalCommand {
    /// A person gives leave.
    Allow {
        /// Who.
        by: AccountId,
    },
    /// A person says no.
    Deny {
        /// Who.
        by: AccountId,
        /// Why.
        reason: String,
    },
    /// Time is over.
    Expire,
    /// Nobody is there to use it.
    Withdraw,
    /// The request that it was for is admitted.
    Use,
}

impl ApprovalState {
    /// The state's word.
    #[must_use]
    pub const fn word(&self) -> ApprovalStateWord {
        match self {
            Self::Open { .. } => ApprovalStateWord::Open,
            Self::Allowed { .. } => ApprovalStateWord::Allowed,
            Self::Denied { .. } => ApprovalStateWord::Denied,
            Self::Expired => ApprovalStateWord::Expired,
            Self::Withdrawn => ApprovalStateWord::Withdrawn,
            Self::Used { .. } => ApprovalStateWord::Used,
        }
    }

    /// The one place that knows which moves an approval can make.
    ///
    /// # Errors
    /// A [`Refusal`] that says why the command does not apply; the state stays.
    pub fn decide(&self, command: ApprovalCommand, now: Micros) -> Result<Transition<Self>, Refusal> {
        use ApprovalCommand as C;
        let to = match (self, command) {
            (Self::Open { expires } | Self::Allowed { expires, .. }, C::Expire) if now >= *expires => {
                Self::Expired
            }
            (Self::Open { expires }, C::Allow { .. }) if now >= *expires => {
                return Err(Refusal::NotNow { command: "allow it", state: "expired" });
            }
            (Self::Open { expires }, C::Allow { by }) => Self::Allowed { by, at: now, expires: *expires },
            (Self::Open { .. }, C::Deny { by, reason }) => Self::Denied { by, at: now, reason },
            (Self::Open { .. } | Self::Allowed { .. }, C::Withdraw) => Self::Withdrawn,
            (Self::Allowed { expires, .. }, C::Use) if now >= *expires => {
                return Err(Refusal::NotNow { command: "use it", state: "expired" });
            }
            (Self::Allowed { by, .. }, C::Use) => Self::Used { by: *by, at: now },
            (Self::Allowed { .. }, C::Allow { .. }) => return Err(Refusal::Already { state: "allowed" }),
            (Self::Allowed { .. }, C::Deny { .. }) => {
                return Err(Refusal::NotNow { command: "deny it", state: "allowed" });
            }
            (Self::Open { .. }, C::Use) => return Err(Refusal::NotNow { command: "use it", state: "open" }),
            (Self::Open { .. }, C::Expire) => {
                return Err(Refusal::NotNow { command: "let it expire", state: "open" });
            }
            (Self::Allowed { .. }, C::Expire) => {
                return Err(Refusal::NotNow { command: "let it expire", state: "allowed" });
            }
            (
                state @ (Self::Denied { .. } | Self::Expired | Self::Withdrawn | Self::Used { .. }),
                C::Allow { .. } | C::Deny { .. } | C::Expire | C::Withdraw | C::Use,
            ) => return Err(Refusal::Final { state: state.word().as_str() }),
        };
        Ok(Transition::new(self.clone(), to, now))
    }
}
