//! An operation: one outside action through the bridge. Its state lives in the journal.

use crate::words::words;
use crate::{
    AccountId, Micros, OperationId,
    resolution::settles,
    transition::{Refusal, Transition},
    words::{DenyReason, EffectClass, EvidenceKind},
};
use serde::{Deserialize, Serialize};

words!(/// The word of an operation's state.
OperationStateWord, "an operation state" {
    /// Asked for; judged next. Never stored: the first row has what was judged.
    Requested = "requested",
    /// Refused before its intent.
    Denied = "denied",
    /// Waits for a person's leave.
    AwaitingApproval = "awaiting_approval",
    /// The leave was not given in time.
    Expired = "expired",
    /// The turn ended, or a crash came, before the leave was used.
    Withdrawn = "withdrawn",
    /// The intent is durable: from here the call may have been sent.
    InFlight = "in_flight",
    /// The upstream's own result says that it succeeded, or other evidence does.
    Succeeded = "succeeded",
    /// The upstream's own error, or other evidence, says that it failed.
    Failed = "failed",
    /// Proved never to have been sent.
    NotSent = "not_sent",
    /// It may have happened.
    Unknown = "unknown",
    /// Nobody will find out; a person said so.
    Abandoned = "abandoned",
});

impl OperationStateWord {
    /// Whether no move leads out of it.
    #[must_use]
    pub const fn is_final(self) -> bool {
        match self {
            Self::Denied
            | Self::Expired
            | Self::Withdrawn
            | Self::Succeeded
            | Self::Failed
            | Self::NotSent
            | Self::Abandoned => true,
            Self::Requested | Self::AwaitingApproval | Self::InFlight | Self::Unknown => false,
        }
    }
}

/// What proves an outcome.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// Of which kind it is.
    pub kind: EvidenceKind,
    /// Who gave it, where a person did.
    pub by: Option<AccountId>,
    /// In words; redacted.
    pub detail: String,
}

impl Evidence {
    /// Evidence of a kind that needs no person.
    #[must_use]
    pub fn of(kind: EvidenceKind, detail: impl Into<String>) -> Self {
        Self { kind, by: None, detail: detail.into() }
    }
}

/// An operation's state; each owns its data.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum OperationState {
    /// Asked for.
    Requested,
    /// Refused before its intent.
    Denied {
        /// Why, as a word.
        reason: DenyReason,
        /// Why, in words.
        detail: String,
    },
    /// Waits for a person's leave.
    AwaitingApproval {
        /// When the wait ends.
        expires: Micros,
    },
    /// The leave was not given in time.
    Expired,
    /// The turn ended before the leave was used.
    Withdrawn,
    /// The intent is durable.
    InFlight,
    /// It succeeded.
    Succeeded {
        /// What proves it.
        evidence: Evidence,
    },
    /// It failed.
    Failed {
        /// What proves it.
        evidence: Evidence,
    },
    /// It was never sent.
    NotSent {
        /// What proves it.
        evidence: Evidence,
    },
    /// It may have happened.
    Unknown {
        /// What was seen last, in words; redacted.
        detail: String,
    },
    /// Nobody will find out.
    Abandoned {
        /// Who said so, and why.
        evidence: Evidence,
    },
}

/// What became of a call after its intent.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Outcome {
    /// The upstream answered with a result.
    Result {
        /// The words of a result that says `isError`, redacted and bounded; none: it does not say so.
        error: Option<String>,
    },
    /// The upstream answered with a JSON-RPC error.
    Error {
        /// Its code and message; redacted.
        detail: String,
    },
    /// No byte was sent.
    NotSent {
        /// Why; redacted.
        detail: String,
    },
    /// It was sent, or may have been, and no answer came.
    Lost {
        /// What was seen; redacted.
        detail: String,
    },
}

/// What can happen to an operation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum OperationCommand {
    /// It is refused.
    Deny {
        /// Why, as a word.
        reason: DenyReason,
        /// Why, in words.
        detail: String,
    },
    /// It waits for a person's leave.
    Await {
        /// Until when.
        expires: Micros,
    },
    /// The leave was not given in time.
    Expire,
    /// Nobody is there to use the leave.
    Withdraw,
    /// It is admitted: the intent.
    Admit,
    /// The call ended.
    Settle(Outcome),
    /// Evidence that settles an uncertainty.
    Resolve {
        /// Succeeded, failed or abandoned.
        verdict: Verdict,
        /// What proves it.
        evidence: Evidence,
    },
}

words!(/// What evidence says of an uncertain operation.
Verdict, "a verdict" {
    /// It happened.
    Succeeded = "succeeded",
    /// It did not happen, or not with success.
    Failed = "failed",
    /// Nobody will find out.
    Abandoned = "abandoned",
});

impl Verdict {
    /// The state that an operation has by it.
    #[must_use]
    pub const fn state(self) -> OperationStateWord {
        match self {
            Self::Succeeded => OperationStateWord::Succeeded,
            Self::Failed => OperationStateWord::Failed,
            Self::Abandoned => OperationStateWord::Abandoned,
        }
    }
}

impl OperationState {
    /// What proves its outcome, once it has one that is proved.
    #[must_use]
    pub const fn evidence(&self) -> Option<&Evidence> {
        match self {
            Self::Succeeded { evidence }
            | Self::Failed { evidence }
            | Self::NotSent { evidence }
            | Self::Abandoned { evidence } => Some(evidence),
            Self::Requested
            | Self::Denied { .. }
            | Self::AwaitingApproval { .. }
            | Self::Expired
            | Self::Withdrawn
            | Self::InFlight
            | Self::Unknown { .. } => None,
        }
    }

    /// The state's word.
    #[must_use]
    pub const fn word(&self) -> OperationStateWord {
        match self {
            Self::Requested => OperationStateWord::Requested,
            Self::Denied { .. } => OperationStateWord::Denied,
            Self::AwaitingApproval { .. } => OperationStateWord::AwaitingApproval,
            Self::Expired => OperationStateWord::Expired,
            Self::Withdrawn => OperationStateWord::Withdrawn,
            Self::InFlight => OperationStateWord::InFlight,
            Self::Succeeded { .. } => OperationStateWord::Succeeded,
            Self::Failed { .. } => OperationStateWord::Failed,
            Self::NotSent { .. } => OperationStateWord::NotSent,
            Self::Unknown { .. } => OperationStateWord::Unknown,
            Self::Abandoned { .. } => OperationStateWord::Abandoned,
        }
    }

    /// The one place that knows which moves an operation can make.
    ///
    /// `class` decides what a lost call is: a failure for a read, else an uncertainty.
    ///
    /// # Errors
    /// A [`Refusal`] that says why the command does not apply; the state stays.
    pub fn decide(
        &self,
        class: EffectClass,
        command: OperationCommand,
        now: Micros,
    ) -> Result<Transition<Self>, Refusal> {
        use OperationCommand as C;
        let to = match (self, command) {
            (Self::Requested | Self::AwaitingApproval { .. }, C::Deny { reason, detail }) => {
                Self::Denied { reason, detail }
            }
            (Self::Requested | Self::AwaitingApproval { .. }, C::Admit) => Self::InFlight,
            (Self::Requested, C::Await { expires }) => Self::AwaitingApproval { expires },
            (Self::AwaitingApproval { .. }, C::Expire) => Self::Expired,
            (Self::AwaitingApproval { .. }, C::Withdraw) => Self::Withdrawn,
            (Self::InFlight, C::Settle(outcome)) => settle(class, outcome),
            (Self::Unknown { .. }, C::Resolve { verdict, evidence }) => {
                settles(verdict, &evidence)?;
                resolve(verdict, evidence)
            }
            (Self::AwaitingApproval { .. }, C::Await { .. }) => {
                return Err(Refusal::Already { state: "awaiting_approval" });
            }
            (Self::InFlight, C::Admit) => return Err(Refusal::Already { state: "in_flight" }),
            (
                state @ (Self::Requested
                | Self::AwaitingApproval { .. }
                | Self::InFlight
                | Self::Unknown { .. }),
                command @ (C::Deny { .. }
                | C::Await { .. }
                | C::Expire
                | C::Withdraw
                | C::Admit
                | C::Settle(_)
                | C::Resolve { .. }),
            ) => return Err(Refusal::NotNow { command: command.verb(), state: state.word().as_str() }),
            (
                state @ (Self::Denied { .. }
                | Self::Expired
                | Self::Withdrawn
                | Self::Succeeded { .. }
                | Self::Failed { .. }
                | Self::NotSent { .. }
                | Self::Abandoned { .. }),
                _,
            ) => return Err(Refusal::Final { state: state.word().as_str() }),
        };
        Ok(Transition::new(self.clone(), to, now))
    }
}

impl OperationCommand {
    const fn verb(&self) -> &'static str {
        match self {
            Self::Deny { .. } => "deny it",
            Self::Await { .. } => "ask for leave",
            Self::Expire => "let it expire",
            Self::Withdraw => "withdraw it",
            Self::Admit => "send it",
            Self::Settle(_) => "settle it",
            Self::Resolve { .. } => "resolve it",
        }
    }
}

fn settle(class: EffectClass, outcome: Outcome) -> OperationState {
    match outcome {
        Outcome::Result { error: None } => OperationState::Succeeded {
            evidence: Evidence::of(EvidenceKind::Answer, "the upstream's result"),
        },
        Outcome::Result { error: Some(said) } => OperationState::Failed {
            evidence: Evidence::of(
                EvidenceKind::Answer,
                with_words("the upstream's result says isError", &said),
            ),
        },
        Outcome::Error { detail } => {
            OperationState::Failed { evidence: Evidence::of(EvidenceKind::Answer, detail) }
        }
        Outcome::NotSent { detail } => {
            OperationState::NotSent { evidence: Evidence::of(EvidenceKind::NeverSent, detail) }
        }
        Outcome::Lost { detail } => match class {
            EffectClass::Read => OperationState::Failed {
                evidence: Evidence::of(EvidenceKind::ReadOnly, format!("interrupted: {detail}")),
            },
            EffectClass::Idempotent | EffectClass::Effect => OperationState::Unknown { detail },
        },
    }
}

impl Outcome {
    /// What an outcome that comes late says of an operation that was given up as unknown.
    ///
    /// # Errors
    /// [`Refusal::NoEvidence`]: what was uncertain stays so, unless the upstream itself has answered.
    pub fn late(self) -> Result<(Verdict, Evidence), Refusal> {
        let late = |detail: String| Evidence::of(EvidenceKind::LateAnswer, detail);
        match self {
            Self::Result { error: None } => {
                Ok((Verdict::Succeeded, late("the upstream's result, late".to_owned())))
            }
            Self::Result { error: Some(said) } => {
                Ok((Verdict::Failed, late(with_words("the upstream's result, late, says isError", &said))))
            }
            Self::Error { detail } => Ok((Verdict::Failed, late(detail))),
            Self::NotSent { .. } | Self::Lost { .. } => Err(Refusal::NoEvidence),
        }
    }
}

/// What was seen, and what an upstream says of it.
fn with_words(seen: &str, said: &str) -> String {
    if said.is_empty() { seen.to_owned() } else { format!("{seen}: {said}") }
}

fn resolve(verdict: Verdict, evidence: Evidence) -> OperationState {
    match verdict {
        Verdict::Succeeded => OperationState::Succeeded { evidence },
        Verdict::Failed => OperationState::Failed { evidence },
        Verdict::Abandoned => OperationState::Abandoned { evidence },
    }
}

impl Transition<OperationState> {
    /// The permission to send the call, once this move is durable. Only the move to `in_flight` has one.
    ///
    /// A store calls this after its commit, and nobody before.
    #[must_use]
    pub fn committed_intent(&self, operation: OperationId) -> Option<Permit> {
        matches!(self.to(), OperationState::InFlight).then_some(Permit { operation })
    }
}

/// The permission to send one call, once. Made from the committed intent; cannot be copied.
#[derive(Debug)]
#[must_use = "the intent is durable: send the call or settle it as not sent"]
pub struct Permit {
    operation: OperationId,
}

impl Permit {
    pub(crate) const fn of(operation: OperationId) -> Self {
        Self { operation }
    }

    /// The operation that may be sent.
    #[must_use]
    pub const fn operation(&self) -> OperationId {
        self.operation
    }
}
