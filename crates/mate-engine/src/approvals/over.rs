//! Approvals that are of no more use: their task ended.

use crate::Engine;
use mate_model::{
    TaskId,
    approval::ApprovalCommand,
    event::{Draft, EventType},
    records::Approval,
};
use mate_store::LedgerError;
use serde_json::{Value, json};

/// An event that tells of an approval, with the exact request that it is about.
pub(crate) fn told(kind: EventType, approval: &Approval, at: mate_model::Micros, more: &Value) -> Draft {
    let mut data = json!({
        "approval": approval.id,
        "kind": approval.kind(),
        "connection": approval.connection_name,
        "tool": approval.tool,
        "digest": approval.digest,
    });
    if let (Some(data), Some(more)) = (data.as_object_mut(), more.as_object()) {
        data.extend(more.clone());
    }
    Draft { kind, task: Some(approval.task), turn: Some(approval.turn), at, data }
}

impl Engine {
    /// Withdraws what waits for an answer, or for its use, in a task that ends. Done again, it changes nothing.
    pub(crate) async fn withdraw_approvals(&self, task: TaskId) -> Result<(), LedgerError> {
        let mut after = None;
        loop {
            let page = self.ledger.waiting_approvals(task, after).await?;
            for corrupt in &page.corrupt {
                tracing::error!(%corrupt, "an approval cannot be read, and stays as it is");
            }
            for approval in &page.items {
                self.withdraw_approval(approval, "the turn is over").await?;
            }
            match page.next {
                Some(next) => after = Some(next),
                None => return Ok(()),
            }
        }
    }

    /// Withdraws one, as it was read. One that moved meanwhile is left to whoever moved it.
    pub(crate) async fn withdraw_approval(&self, approval: &Approval, why: &str) -> Result<(), LedgerError> {
        let now = self.clock.now();
        let Ok(transition) = approval.state.decide(ApprovalCommand::Withdraw, now) else { return Ok(()) };
        let draft = told(EventType::ApprovalWithdrawn, approval, now, &json!({ "detail": why }));
        match self.ledger.apply_approval(approval, &transition, None, false, draft).await {
            Ok(()) | Err(LedgerError::Conflict(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
