//! Evidence that a session's worker comes by itself: answers that come late, and repeats that succeed.

use super::{Admission, Ended};
use crate::{EngineError, Resolved, resolve::Known};
use mate_model::{
    OperationId,
    operation::{Evidence, OperationState, Verdict},
    records::Operation,
    resolution::Finding,
    words::EvidenceKind,
};
use std::time::Duration;

/// How often a late answer looks whether the operation was given up, and how long it waits in between.
const LOOKS: u32 = 600;
const PAUSE: Duration = Duration::from_millis(50);

impl Admission {
    /// Takes in an answer that came after its call had been given up as unknown: evidence like any other.
    ///
    /// # Errors
    /// The stores', that it is no evidence, or that the operation is not unknown.
    pub async fn late(&self, operation: OperationId, ended: Ended) -> Result<Resolved, EngineError> {
        let (verdict, evidence) = ended.outcome.late()?;
        let row = self.until_settled(operation).await?;
        let kept = match verdict {
            Verdict::Succeeded => self.keep(operation, row.class, ended.result.as_deref())?,
            Verdict::Failed | Verdict::Abandoned => None,
        };
        let finding = Finding { verdict, evidence, proof: None, permit_repeat: false };
        let _alone = self.resolving.lock().await;
        let resolved = self.engine.take_evidence(&self.reader, operation, &finding).await?;
        let known = Known { operation, facts: ended.facts, kept };
        self.engine.apply_resolutions(&self.journal, Some(known)).await?;
        Ok(resolved)
    }

    /// An answer may be here while it is still being written down that none came.
    async fn until_settled(&self, id: OperationId) -> Result<Operation, EngineError> {
        for _ in 0..LOOKS {
            let row = self.reader.operation(id).await?.ok_or(EngineError::NotFound)?;
            if row.state != OperationState::InFlight {
                return Ok(row);
            }
            tokio::time::sleep(PAUSE).await;
        }
        Err(EngineError::Unavailable("the call's outcome could not be written".to_owned()))
    }

    /// The uncertain operations that went out under the key of one that has succeeded have succeeded with it. When this
    /// cannot be written now, whoever looks after the session finds it in the journal.
    pub(super) async fn settles_too(&self, id: OperationId, settles: &[Operation]) {
        for operation in settles {
            let Some(reader) = self.journals().find(|journal| journal.session() == operation.id.session)
            else {
                continue;
            };
            let finding = repeat_succeeded(id);
            if let Err(error) = self.engine.take_evidence(reader, operation.id, &finding).await {
                tracing::warn!(operation = %operation.id, %error, "the success of its repeat could not be written");
            }
        }
        if !settles.is_empty()
            && let Err(error) = self.apply_resolutions().await
        {
            tracing::warn!(%error, "the success of a repeat could not be copied; it is tried again");
        }
    }
}

/// What the success of a repeat under the same key says of the operation that was repeated.
pub(crate) fn repeat_succeeded(repeat: OperationId) -> Finding {
    let detail = format!("{repeat}, under the same idempotency key, has succeeded");
    let evidence = Evidence::of(EvidenceKind::Repeat, detail);
    Finding { verdict: Verdict::Succeeded, evidence, proof: None, permit_repeat: false }
}
