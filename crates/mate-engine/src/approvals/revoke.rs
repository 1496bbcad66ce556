//! Taking leave back.

use super::{ApprovalView, told};
use crate::{Engine, EngineError, Principal, Verb};
use mate_model::{
    ApprovalId,
    approval::{ApprovalCommand, ApprovalState},
    event::EventType,
};
use mate_store::LedgerError;
use serde_json::json;

impl Engine {
    /// Takes leave back: an answer that was not used yet, and the permission for the rest of the task that came of it.
    /// What was let out under it is not undone. Taken back already: the same answer again.
    ///
    /// # Errors
    /// [`EngineError::NotFound`] when it does not exist, or not for this caller; that there is nothing to take back.
    pub async fn revoke_approval(
        &self,
        who: &Principal,
        id: ApprovalId,
    ) -> Result<ApprovalView, EngineError> {
        let approval = self.approval_for(who, id, Verb::ApprovalRevoke).await?;
        let permission = self.ledger.permission_of(id).await?;
        let revoked_before = permission.as_ref().is_some_and(|permission| permission.revoked_at.is_some());
        let mut revoked = revoked_before;
        let now = self.cautious_time().await?;
        let data = json!({ "by": who.account, "token": who.token });
        if let Some(permission) = permission.filter(|permission| permission.revoked_at.is_none()) {
            let draft = told(EventType::ApprovalRevoked, &approval, now, &data);
            revoked |= self.ledger.revoke_permission(&approval, &permission, now, draft).await?;
        }
        if matches!(approval.state, ApprovalState::Allowed { .. }) {
            let transition = approval.state.decide(ApprovalCommand::Withdraw, now)?;
            let why = json!({ "by": who.account, "token": who.token, "detail": "leave was taken back before it was used" });
            let draft = told(EventType::ApprovalRevoked, &approval, now, &why);
            match self.ledger.apply_approval(&approval, &transition, None, false, draft).await {
                Ok(()) => revoked = true,
                // It was used, or it ended, at this moment.
                Err(LedgerError::Conflict(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        if !revoked {
            let word = approval.state.word();
            let why =
                format!("it is {word}, and no permission in force came of it: there is nothing to take back");
            return Err(EngineError::refused("nothing_to_revoke", why));
        }
        self.approval(who, id).await
    }
}
