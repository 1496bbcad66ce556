//! Whether a call needs a person's leave, and by which leave it goes out.

use crate::{
    EngineError,
    admit::{Admission, CurrentTurn, standing::Allowed},
};
use mate_model::{
    ApprovalId,
    words::{ApprovalMode, DenyReason},
};

/// By which leave a call goes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::admit) enum Leave {
    /// The grant is the leave.
    Grant,
    /// A person's, for the tool until the task ends.
    Permission(ApprovalId),
    /// A person's, for this call alone.
    Approval(ApprovalId),
}

impl Admission {
    /// The leave that a call has without anybody being asked; none: a person is to be asked.
    pub(in crate::admit) async fn leave(
        &self,
        turn: CurrentTurn,
        allowed: &Allowed<'_>,
        tool: &str,
    ) -> Result<Option<Leave>, EngineError> {
        match allowed.approve {
            ApprovalMode::Never => Ok(Some(Leave::Grant)),
            ApprovalMode::Always => Ok(None),
            ApprovalMode::Once => {
                let connection = allowed.connection.id;
                let tool = self.clean(tool);
                let given = self.engine.ledger.permission(turn.task, connection, &tool).await?;
                Ok(given.map(|permission| Leave::Permission(permission.id)))
            }
        }
    }

    /// Whether leave was given for one call alone, when its grant asked for each.
    async fn is_for_one_call(&self, leave: Leave) -> Result<bool, EngineError> {
        let Leave::Approval(id) = leave else { return Ok(false) };
        let given = self.engine.ledger.approval(id).await?;
        Ok(given.is_some_and(|given| given.mode == ApprovalMode::Always))
    }

    /// Whether the leave by which a call goes out still stands: grants, and what people gave, may have changed.
    pub(in crate::admit) async fn still_has_leave(
        &self,
        turn: CurrentTurn,
        allowed: &Allowed<'_>,
        tool: &str,
        leave: Leave,
    ) -> Result<Result<(), (DenyReason, String)>, EngineError> {
        let why = match (allowed.approve, leave) {
            (ApprovalMode::Never, _) | (ApprovalMode::Always, Leave::Approval(_)) => return Ok(Ok(())),
            (ApprovalMode::Always, Leave::Grant | Leave::Permission(_)) => {
                "the grant wants a person's leave for each call now"
            }
            (ApprovalMode::Once, Leave::Grant | Leave::Permission(_) | Leave::Approval(_)) => {
                if self.leave(turn, allowed, tool).await?.is_some() || self.is_for_one_call(leave).await? {
                    return Ok(Ok(()));
                }
                "the leave for this tool was taken back"
            }
        };
        Ok(Err((DenyReason::NotGranted, why.to_owned())))
    }
}
