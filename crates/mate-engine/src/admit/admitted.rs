//! What was decided of a call.

use super::{
    CurrentTurn, Receipt,
    asking::Leave,
    twins::{TwinGuard, TwinKey},
};
use crate::spill::Slot;
use mate_model::{GrantId, Micros, OperationId, operation::Permit, records::Operation, words::EffectClass};
use serde_json::Value;

/// The leave to send one call, once.
#[derive(Debug)]
pub struct Go {
    pub(super) permit: Permit,
    pub(super) class: EffectClass,
    /// The grant that it was judged under.
    pub(super) grant: GrantId,
    pub(super) turn: CurrentTurn,
    pub(super) twin: Option<TwinGuard>,
    pub(super) settles: Vec<Operation>,
    pub(super) call: TwinKey,
    pub(super) round: i64,
    pub(super) intended_at: Micros,
    pub(super) key: OperationId,
    /// What decided at the first read, as it is recorded.
    pub(super) decision: Value,
    /// Room for the outcome, should the journal not take it.
    pub(super) slot: Slot,
    /// By which leave it goes out.
    pub(super) leave: Leave,
    /// The W3C trace id of the call, 32 hexadecimal digits.
    pub trace: String,
}

impl Go {
    /// The operation that may be sent.
    #[must_use]
    pub const fn operation(&self) -> OperationId {
        self.permit.operation()
    }

    /// The upstream's own name of the tool.
    #[must_use]
    pub fn tool(&self) -> &str {
        &self.call.tool
    }

    /// In which turn.
    #[must_use]
    pub const fn turn(&self) -> CurrentTurn {
        self.turn
    }

    /// The operation whose id is the call's idempotency key: its own, or that of the one that it repeats.
    #[must_use]
    pub const fn idempotency_key(&self) -> OperationId {
        self.key
    }
}

/// What was decided.
#[derive(Debug)]
pub enum Admitted {
    /// The intent is durable and the authority still stands.
    Go(Box<Go>),
    /// Not to be sent; the words are for the agent.
    Refused(String),
    /// Not to be sent: the words tell the agent what became of an equal call.
    Told {
        /// The words.
        text: String,
        /// To be handed over with them.
        receipt: Receipt,
    },
    /// Not to be sent: an equal call has succeeded, and its result had not reached the runtime.
    Stored {
        /// That call.
        operation: OperationId,
        /// Its result as the upstream gave it: the `result` member, byte for byte.
        result: String,
        /// To be handed over with it.
        receipt: Receipt,
    },
    /// Not to be sent: the upstream has asked a question about an equal call, and waits for its answer.
    Asked {
        /// That call.
        operation: OperationId,
        /// The question as the upstream put it: the `result` member, byte for byte.
        result: String,
    },
}

impl Admitted {
    /// A refusal that tells news.
    pub(super) fn with(self, receipt: Receipt) -> Self {
        match self {
            Self::Refused(text) => Self::Told { text, receipt },
            other @ (Self::Go(_) | Self::Told { .. } | Self::Stored { .. } | Self::Asked { .. }) => other,
        }
    }
}
