//! A further round that is made again: its answer was let out before, and is not sent twice. Whoever makes it again is
//! given what became of the call.

use super::{
    Admission, Admitted, CurrentTurn, deny::next_step, replay::Passage, request::Request, standing::Allowed,
    twins::TwinKey,
};
use crate::EngineError;
use mate_model::{
    Micros, OperationId,
    operation::OperationStateWord,
    words::{DenyReason, EffectClass},
};

impl Admission {
    /// Joins the round in flight, or gives the result of one that is over.
    pub(super) async fn round_again(
        &self,
        request: &Request<'_>,
        (turn, requested_at): (CurrentTurn, Micros),
        (allowed, class): (&Allowed<'_>, EffectClass),
        key: &TwinKey,
        operation: OperationId,
    ) -> Result<Admitted, EngineError> {
        let (reason, why, receipt) = match self.guard_replay(request, turn, class, key).await? {
            Passage::Stored { operation, result, receipt } => {
                self.redeliver(request, turn, operation).await?;
                return Ok(Admitted::Stored { operation, result, receipt });
            }
            Passage::Asked { operation, result } => {
                return self.ask_again(request, turn, requested_at, (operation, result)).await;
            }
            Passage::Told { why, receipt } => (DenyReason::HasHappened, why, receipt),
            Passage::Refused(reason, why) => (reason, why, super::Receipt::plain()),
            Passage::Free(_) => {
                let (reason, why) = self.came_to(operation).await?;
                (reason, why, super::Receipt::plain())
            }
        };
        let why = format!("the answer to this question was sent before ({operation}): {why}");
        // On record as what it is, a round that was not let out again.
        drop(self.deny(request, turn, requested_at, Some(allowed), reason, &why).await?);
        let text = format!("{why}. Nothing was sent now. {}", next_step(reason));
        Ok(Admitted::Told { text, receipt })
    }

    /// What became of an operation whose outcome the runtime has heard, or that left nothing to give.
    async fn came_to(&self, operation: OperationId) -> Result<(DenyReason, String), EngineError> {
        let row = self.engine.operation_of(&self.reader, operation).await?.ok_or(EngineError::NotFound)?;
        let (word, how) = (row.state.word(), super::detail(&row.state));
        Ok(match word {
            OperationStateWord::InFlight => {
                (DenyReason::MayHaveHappened, "the call is still in flight".to_owned())
            }
            OperationStateWord::Unknown | OperationStateWord::Abandoned => {
                (DenyReason::MayHaveHappened, format!("the call may have happened, it is {word} ({how})"))
            }
            OperationStateWord::Requested
            | OperationStateWord::Denied
            | OperationStateWord::AwaitingApproval
            | OperationStateWord::Expired
            | OperationStateWord::Withdrawn
            | OperationStateWord::Succeeded
            | OperationStateWord::Failed
            | OperationStateWord::NotSent => {
                (DenyReason::HasHappened, format!("the call has {word} ({how})"))
            }
        })
    }

    /// Gives the question of an equal call to whoever has waited for it, judged as things stand now.
    pub(super) async fn ask_again(
        &self,
        request: &Request<'_>,
        turn: CurrentTurn,
        requested_at: Micros,
        (operation, result): (OperationId, String),
    ) -> Result<Admitted, EngineError> {
        let standing = match self.look(turn).await? {
            Ok(standing) => standing,
            Err((reason, why)) => return self.deny(request, turn, requested_at, None, reason, &why).await,
        };
        let Some(connection) = request.connection else { return Err(EngineError::NotFound) };
        match self.judge(&standing, request, connection) {
            Ok(_) => Ok(Admitted::Asked { operation, result }),
            Err(barred) => self.deny_barred(request, turn, requested_at, barred).await,
        }
    }
}
