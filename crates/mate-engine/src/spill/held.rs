//! What is held of an outcome, and its seal.

use super::file::ROOM;
use crate::admit::Ended;
use mate_guard::{Key, Vault, vault::Place};
use mate_model::{Entropy, Micros, OperationId, SessionId, operation::Outcome};
use mate_store::OperationFacts;
use serde::{Deserialize, Serialize};

/// What a seal adds, at the most, in bytes.
const SEAL: usize = 128;
/// The longest words that are held when all of them do not fit, in characters.
const CUT: usize = 200;

/// An outcome that the journal does not have yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Held {
    pub(crate) operation: OperationId,
    pub(crate) outcome: Outcome,
    sent_at: Option<Micros>,
    answered_at: Option<Micros>,
    duration_us: Option<i64>,
    result_size: Option<i64>,
    result_type: Option<String>,
}

impl Held {
    pub(crate) fn new(operation: OperationId, ended: &Ended) -> Self {
        let facts = ended.facts.clone();
        Self {
            operation,
            outcome: ended.outcome.clone(),
            sent_at: facts.sent_at,
            answered_at: facts.answered_at,
            duration_us: facts.duration_us,
            result_size: facts.result_size,
            result_type: facts.result_type,
        }
    }

    pub(crate) fn ended(&self) -> Ended {
        let facts = OperationFacts {
            sent_at: self.sent_at,
            answered_at: self.answered_at,
            duration_us: self.duration_us,
            result_size: self.result_size,
            result_type: self.result_type.clone(),
        };
        Ended::new(self.outcome.clone(), facts, None)
    }

    /// With shorter words.
    fn cut(&self) -> Self {
        let cut = |text: &String| text.chars().take(CUT).collect::<String>();
        let outcome = match &self.outcome {
            Outcome::Result { error } => Outcome::Result { error: error.as_ref().map(cut) },
            Outcome::Error { detail } => Outcome::Error { detail: cut(detail) },
            Outcome::NotSent { detail } => Outcome::NotSent { detail: cut(detail) },
            Outcome::Lost { detail } => Outcome::Lost { detail: cut(detail) },
        };
        Self { outcome, result_type: self.result_type.as_ref().map(cut), ..self.clone() }
    }
}

/// Seals and opens what one session's slots hold. The seal is the checksum as well: what was torn does not open.
#[derive(Debug)]
pub(super) struct Seal {
    vault: Vault,
    session: String,
}

impl Seal {
    pub(super) fn new(key: &Key, session: SessionId) -> Self {
        let session = session.to_string();
        Self { vault: Vault::new(&key.derive("held outcomes", session.as_bytes())), session }
    }

    /// The bytes for a slot.
    pub(super) fn close(&self, slot: usize, held: &Held, entropy: &dyn Entropy) -> Result<Vec<u8>, String> {
        let mut clear = serde_json::to_vec(held).map_err(|error| error.to_string())?;
        if clear.len() > ROOM - SEAL {
            clear = serde_json::to_vec(&held.cut()).map_err(|error| error.to_string())?;
        }
        self.vault.seal(self.place(&slot.to_string()), &clear, entropy).map_err(|error| error.to_string())
    }

    /// What the bytes of a slot hold; the error is for people.
    pub(super) fn open(&self, slot: usize, sealed: &[u8]) -> Result<Held, String> {
        let clear =
            self.vault.open(self.place(&slot.to_string()), sealed).map_err(|error| error.to_string())?;
        serde_json::from_slice(clear.expose()).map_err(|error| error.to_string())
    }

    fn place<'a>(&'a self, slot: &'a str) -> Place<'a> {
        Place { table: "held_outcomes", id: &self.session, column: slot }
    }
}
