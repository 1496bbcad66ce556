//! A round of a call that takes several: the upstream answers with a question, and a further call carries the answer. For
//! a call that has become a task of its upstream, which asks by its record, `tasks/update` carries it.
//!
//! The rounds belong to one operation, which is in flight from the first intent to the last answer. The first
//! round's intent is the operation's; each further one has its own, and only that yields the permission to send it.

use crate::words::words;
use crate::{
    Micros, OperationId,
    operation::Permit,
    transition::{Refusal, Transition},
};

words!(/// The word of a round's state.
RoundStateWord, "a round's state" {
    /// Its intent is durable: from here it may have been sent.
    InFlight = "in_flight",
    /// The upstream has answered with a question, and waits for a further round.
    InputRequired = "input_required",
    /// A further round was intended.
    Continued = "continued",
    /// The operation has its outcome.
    Over = "over",
});

/// A round's state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RoundState {
    /// Its intent is durable.
    InFlight,
    /// The upstream waits for an answer that names this question.
    InputRequired {
        /// A digest of what the upstream wants to see again with the answer, in hexadecimal.
        question: String,
    },
    /// A further round was intended.
    Continued,
    /// The operation has its outcome.
    Over,
}

/// What can happen to a round.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RoundCommand {
    /// The upstream answers with a question.
    Ask {
        /// A digest of what the upstream wants to see again.
        question: String,
    },
    /// The next round is intended: the answer to this one's question.
    Continue,
    /// The operation has its outcome.
    End,
}

impl RoundState {
    /// The state's word.
    #[must_use]
    pub const fn word(&self) -> RoundStateWord {
        match self {
            Self::InFlight => RoundStateWord::InFlight,
            Self::InputRequired { .. } => RoundStateWord::InputRequired,
            Self::Continued => RoundStateWord::Continued,
            Self::Over => RoundStateWord::Over,
        }
    }

    /// The one place that knows which moves a round can make.
    ///
    /// # Errors
    /// A [`Refusal`] that says why the command does not apply; the state stays.
    pub fn decide(&self, command: RoundCommand, now: Micros) -> Result<Transition<Self>, Refusal> {
        use RoundCommand as C;
        let to = match (self, command) {
            (Self::InFlight, C::Ask { question }) => Self::InputRequired { question },
            (Self::InputRequired { .. }, C::Continue) => Self::Continued,
            (Self::InFlight | Self::InputRequired { .. }, C::End) => Self::Over,
            (Self::InputRequired { .. }, C::Ask { .. }) => {
                return Err(Refusal::Already { state: "input_required" });
            }
            (Self::InFlight, C::Continue) => {
                return Err(Refusal::NotNow { command: "continue it", state: "in_flight" });
            }
            (Self::Continued, C::Ask { .. } | C::Continue | C::End) => {
                return Err(Refusal::Final { state: "continued" });
            }
            (Self::Over, C::Ask { .. } | C::Continue | C::End) => {
                return Err(Refusal::Final { state: "over" });
            }
        };
        Ok(Transition::new(self.clone(), to, now))
    }
}

impl Transition<RoundState> {
    /// The permission to send the next round, once this move and the next round are durable.
    ///
    /// A store calls this after its commit, and nobody before.
    #[must_use]
    pub fn committed_round(&self, operation: OperationId) -> Option<Permit> {
        matches!(self.to(), RoundState::Continued).then(|| Permit::of(operation))
    }
}
