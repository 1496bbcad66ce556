//! What a person says when resolving: bounded, and without secrets before it is written.

use crate::{Engine, EngineError};
use mate_guard::Redactor;
use mate_model::{ConnectionId, ProjectId};

/// The longest reason, in bytes.
const MAX_REASON: usize = 4096;
/// The largest proof, in bytes.
const MAX_PROOF: usize = 64 * 1024;

/// A person's word on something uncertain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    /// Why it is so: what was looked at, and what it said.
    pub reason: String,
    /// What was looked at, to be kept: an excerpt of the other side's log, say.
    pub proof: Option<String>,
}

impl Ask {
    /// Refuses what cannot be kept.
    ///
    /// # Errors
    /// [`EngineError::Invalid`], with the field's name.
    pub(super) fn check(&self) -> Result<(), EngineError> {
        if self.reason.trim().is_empty() {
            return Err(EngineError::invalid(
                "reason",
                "say how you know: what you looked at, and what it says",
            ));
        }
        if self.reason.len() > MAX_REASON || self.reason.contains('\0') {
            return Err(EngineError::invalid("reason", "longer than 4 KiB, or holds a NUL character"));
        }
        match &self.proof {
            Some(proof) if proof.trim().is_empty() => {
                Err(EngineError::invalid("proof", "is empty: leave it out, or give what you looked at"))
            }
            Some(proof) if proof.len() > MAX_PROOF || proof.contains('\0') => Err(EngineError::invalid(
                "proof",
                "longer than 64 KiB, or holds a NUL character: cut out the lines that matter",
            )),
            Some(_) | None => Ok(()),
        }
    }

    /// The same without secrets.
    pub(super) fn redacted(&self, redactor: &Redactor) -> Self {
        let clean = |text: &String| redactor.redact(text).into_owned();
        Self { reason: clean(&self.reason), proof: self.proof.as_ref().map(clean) }
    }
}

impl Engine {
    /// Knows the secrets of a project, and those of `connection`.
    pub(crate) async fn redactor_of(
        &self,
        project: ProjectId,
        connection: Option<ConnectionId>,
    ) -> Result<Redactor, EngineError> {
        let secrets = self.project_secrets(project, connection).await?;
        Redactor::new(secrets).map_err(|error| EngineError::Internal(error.to_string()))
    }
}
