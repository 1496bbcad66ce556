//! A turn: one prompt to the runtime until it stops. Its state lives in the journal.

use crate::words::words;
use crate::{
    Micros,
    task::{End, StopEvidence},
    transition::{Refusal, Transition},
    words::{FailReason, ReportStatus, StopReason, UnknownReason},
};
use serde::{Deserialize, Serialize};

words!(/// The word of a turn's state.
TurnStateWord, "a turn state" {
    /// The runtime is being made ready; no prompt was sent.
    Starting = "starting",
    /// The prompt's intent is durable: from here it may have been sent.
    Prompted = "prompted",
    /// The runtime's turn is over; calls are still in flight.
    Settling = "settling",
    /// Over.
    Ended = "ended",
});

/// How the runtime's turn was over.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum TurnEnd {
    /// The runtime answered the prompt.
    Answered {
        /// With this reason.
        reason: StopReason,
        /// There was no message, no tool call and no usage at all.
        empty: bool,
    },
    /// The runtime answered the prompt with an error, or with a stop reason that is not known here.
    Errored {
        /// What it said; redacted.
        detail: String,
    },
    /// The process went away, or its stream ended, without an answer.
    Lost {
        /// A tool of the runtime's own was at work.
        own_activity: bool,
        /// What was seen: exit code, signal, error text; redacted.
        detail: String,
    },
    /// No prompt was sent: the runtime could not be made ready.
    NotStarted {
        /// Why, in words.
        detail: String,
    },
    /// No prompt was sent: the runtime does not have the conversation that the task continues.
    ContextLost {
        /// Why, and what to do, in words.
        detail: String,
    },
    /// No prompt was sent: a stop came first.
    StoppedFirst,
}

/// A turn's state; each owns its data.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TurnState {
    /// The runtime is being made ready.
    Starting,
    /// The prompt's intent is durable.
    Prompted {
        /// Since when.
        at: Micros,
    },
    /// The runtime's turn is over; calls are still in flight.
    Settling {
        /// How it was over.
        end: TurnEnd,
        /// Since when.
        at: Micros,
    },
    /// Over; nothing of it is in flight.
    Ended {
        /// How it was over.
        end: TurnEnd,
        /// Since when.
        at: Micros,
    },
}

/// What can happen to a turn.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TurnCommand {
    /// The prompt is about to be sent.
    Prompt,
    /// The runtime's turn is over.
    Finish {
        /// How.
        end: TurnEnd,
        /// Operations without an outcome at that moment.
        in_flight: u64,
    },
    /// The last operation in flight has an outcome.
    Close {
        /// Operations without an outcome; must be none.
        in_flight: u64,
    },
}

impl TurnState {
    /// The state's word.
    #[must_use]
    pub const fn word(&self) -> TurnStateWord {
        match self {
            Self::Starting => TurnStateWord::Starting,
            Self::Prompted { .. } => TurnStateWord::Prompted,
            Self::Settling { .. } => TurnStateWord::Settling,
            Self::Ended { .. } => TurnStateWord::Ended,
        }
    }

    /// The one place that knows which moves a turn can make.
    ///
    /// # Errors
    /// A [`Refusal`] that says why the command does not apply; the state stays.
    pub fn decide(&self, command: TurnCommand, now: Micros) -> Result<Transition<Self>, Refusal> {
        let to = match (self, command) {
            (Self::Starting, TurnCommand::Prompt) => Self::Prompted { at: now },
            (Self::Starting, TurnCommand::Finish { end, .. }) => match end {
                TurnEnd::NotStarted { .. } | TurnEnd::ContextLost { .. } | TurnEnd::StoppedFirst => {
                    Self::Ended { end, at: now }
                }
                TurnEnd::Answered { .. } | TurnEnd::Errored { .. } | TurnEnd::Lost { .. } => {
                    return Err(Refusal::NoEvidence);
                }
            },
            (Self::Prompted { .. }, TurnCommand::Finish { end, in_flight }) => match end {
                TurnEnd::Answered { .. } | TurnEnd::Errored { .. } | TurnEnd::Lost { .. }
                    if in_flight > 0 =>
                {
                    Self::Settling { end, at: now }
                }
                TurnEnd::Answered { .. } | TurnEnd::Errored { .. } | TurnEnd::Lost { .. } => {
                    Self::Ended { end, at: now }
                }
                TurnEnd::NotStarted { .. } | TurnEnd::ContextLost { .. } | TurnEnd::StoppedFirst => {
                    return Err(Refusal::NoEvidence);
                }
            },
            (Self::Settling { end, .. }, TurnCommand::Close { in_flight: 0 }) => {
                Self::Ended { end: end.clone(), at: now }
            }
            (Self::Prompted { .. }, TurnCommand::Prompt) => {
                return Err(Refusal::Already { state: "prompted" });
            }
            (Self::Settling { .. }, TurnCommand::Prompt | TurnCommand::Finish { .. }) => {
                return Err(Refusal::Already { state: "settling" });
            }
            (Self::Starting | Self::Prompted { .. } | Self::Settling { .. }, TurnCommand::Close { .. }) => {
                return Err(Refusal::NotNow { command: "close the turn", state: self.word().as_str() });
            }
            (
                Self::Ended { .. },
                TurnCommand::Prompt | TurnCommand::Finish { .. } | TurnCommand::Close { .. },
            ) => {
                return Err(Refusal::Final { state: "ended" });
            }
        };
        Ok(Transition::new(self.clone(), to, now))
    }
}

impl Transition<TurnState> {
    /// The permission to send the prompt, once this move is durable. Only the move to `prompted` has one.
    #[must_use]
    pub fn committed_prompt(&self) -> Option<PromptPermit> {
        matches!((self.from(), self.to()), (TurnState::Starting, TurnState::Prompted { .. }))
            .then_some(PromptPermit(()))
    }
}

/// The permission to send one prompt, once. Made from the committed move to `prompted`.
#[derive(Debug)]
#[must_use = "the prompt's intent is durable: send it, or the turn is lost"]
pub struct PromptPermit(());

/// What a task's end is read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts<'a> {
    /// How the turn was over.
    pub end: &'a TurnEnd,
    /// The agent's own report, if it made one.
    pub report: Option<ReportStatus>,
    /// Operations of the turn whose outcome is unknown.
    pub unknown_operations: u64,
    /// Whether a stop was asked for.
    pub stop_requested: bool,
    /// What proves that every process is gone; needed for `stopped`.
    pub evidence: Option<StopEvidence>,
}

/// How a task ends, read from its turn's end (CONTRACT: a turn's end is read from the stop reason).
///
/// # Errors
/// [`Refusal::NoEvidence`] when the end would be `stopped` and the evidence is missing.
pub fn conclusion(facts: Facts<'_>) -> Result<(End, Option<UnknownReason>), Refusal> {
    let failed = |reason, detail: &str| End::Failed { reason, detail: detail.to_owned() };
    let stopped = |evidence: Option<StopEvidence>| {
        evidence.map(|evidence| End::Stopped { evidence }).ok_or(Refusal::NoEvidence)
    };
    let operations = (facts.unknown_operations > 0).then_some(UnknownReason::Operations);
    Ok(match facts.end {
        TurnEnd::Answered { reason: StopReason::EndTurn, empty: true } => (
            failed(
                FailReason::EmptyTurn,
                "the runtime ended its turn without a message, a tool call or usage",
            ),
            operations,
        ),
        TurnEnd::Answered { reason: StopReason::EndTurn, empty: false } => {
            (End::Completed { report: facts.report }, operations)
        }
        TurnEnd::Answered { reason: StopReason::MaxTokens, .. } => {
            (failed(FailReason::LimitReached, "the model's token limit was reached"), operations)
        }
        TurnEnd::Answered { reason: StopReason::MaxTurnRequests, .. } => (
            failed(FailReason::LimitReached, "the limit of model requests in one turn was reached"),
            operations,
        ),
        TurnEnd::Answered { reason: StopReason::Refusal, .. } => {
            (failed(FailReason::Refused, "the model refused"), operations)
        }
        TurnEnd::Answered { reason: StopReason::Cancelled, .. } if facts.stop_requested => {
            (stopped(facts.evidence)?, operations)
        }
        TurnEnd::Answered { reason: StopReason::Cancelled, .. } => (
            failed(
                FailReason::CancelledByRuntime,
                "the runtime says that it was cancelled; nobody asked for it",
            ),
            operations,
        ),
        // A runtime may well answer a cancel with an error, or die of it.
        TurnEnd::Lost { .. } | TurnEnd::Errored { .. } if facts.stop_requested => {
            (stopped(facts.evidence)?, operations)
        }
        TurnEnd::Lost { own_activity, detail } => {
            let own = own_activity.then_some(UnknownReason::OwnActivity);
            (failed(FailReason::RuntimeLost, detail), operations.or(own))
        }
        TurnEnd::Errored { detail } => (failed(FailReason::RuntimeError, detail), operations),
        TurnEnd::NotStarted { detail } => (failed(FailReason::StartFailed, detail), None),
        TurnEnd::ContextLost { detail } => (failed(FailReason::ContextLost, detail), None),
        TurnEnd::StoppedFirst => {
            // Without a container there was nothing to end.
            let evidence = facts.evidence.unwrap_or(StopEvidence::NeverStarted);
            (End::Stopped { evidence }, None)
        }
    })
}
