//! A person settles an operation whose outcome is unknown.

use super::{Ask, Resolved, busy};
use crate::{Engine, EngineError, Principal, Verb};
use mate_model::{
    OperationId,
    operation::{Evidence, Verdict},
    resolution::Finding,
    words::EvidenceKind,
};

impl Engine {
    /// Settles an unknown operation on a person's word. One that is settled already keeps its state: the same verdict
    /// gets the first answer, and acknowledges evidence to the contrary if there is any; another one is recorded as such.
    ///
    /// # Errors
    /// [`EngineError::NotFound`] when it does not exist, or not for this caller; why it is refused.
    pub async fn resolve_operation(
        &self,
        who: &Principal,
        id: OperationId,
        verdict: Verdict,
        ask: &Ask,
        permit_repeat: bool,
    ) -> Result<Resolved, EngineError> {
        let session = self.session_of(who, id.session, Verb::OperationResolve).await?;
        let standing = self.ledger.resolution(id).await?;
        let row = match self.stores.journal_reader(id.session).await {
            Ok(reader) => Some((reader.operation(id).await?, reader)),
            // What stands in the ledger can be spoken of without the journal.
            Err(error) if standing.is_none() => return Err(error),
            Err(_) => None,
        };
        let connection = match &row {
            Some((Some(operation), _)) => operation.connection,
            Some((None, _)) if standing.is_none() => return Err(EngineError::NotFound),
            Some((None, _)) | None => None,
        };
        ask.check()?;
        let known = standing.as_ref().map(|standing| &standing.finding);
        if permit_repeat && known.is_some_and(|known| known.verdict == verdict && !known.permit_repeat) {
            return Err(EngineError::refused(
                "already_resolved",
                "it was resolved without leave to repeat, and that cannot be added later",
            ));
        }
        self.ledger.observe_time(self.clock.now()).await?;
        let ask = ask.redacted(&self.redactor_of(session.project, connection).await?);
        let evidence = Evidence { kind: EvidenceKind::Person, by: Some(who.account), detail: ask.reason };
        let finding = Finding { verdict, evidence, proof: ask.proof, permit_repeat };
        match (row, standing) {
            (Some((_, reader)), _) => self.take_evidence(&reader, id, &finding).await,
            (None, Some(standing)) => self.weigh(standing, &finding).await?.ok_or_else(busy),
            (None, None) => Err(EngineError::NotFound),
        }
    }
}
