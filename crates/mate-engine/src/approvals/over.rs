//! Approvals that are of no more use: their task ended.

use crate::{Engine, EngineError};
use mate_model::{
    ApprovalId, Micros, TaskId,
    approval::{ApprovalCommand, ApprovalStateWord},
    event::{Draft, EventType},
    records::Approval,
};
use mate_store::LedgerError;
use serde::Serialize;
use serde_json::{Value, json};

/// An event that tells of an approval, with the exact request that it is about.
pub(crate) fn told(kind: EventType, approval: &Approval, at: Micros, more: &Value) -> Draft {
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

/// The most that are told with a task.
const MOST_TOLD: u32 = 50;

/// A request that ended without an answer, or without its use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OverView {
    /// Its id.
    pub id: ApprovalId,
    /// `expired` or `withdrawn`.
    pub state: ApprovalStateWord,
    /// The connection's name; empty for a tool of the runtime's own.
    pub connection_name: String,
    /// The tool. Untrusted text.
    pub tool: String,
    /// When it ended.
    pub over_at: Option<Micros>,
    /// Why, in words.
    pub over_why: Option<String>,
}

impl Engine {
    /// What a task asked for and nobody gave leave to, or nobody used.
    pub(crate) async fn approvals_over(&self, task: TaskId) -> Result<Vec<OverView>, EngineError> {
        let page = self.ledger.approvals_over(task, MOST_TOLD).await?;
        let one = |row: Approval| {
            let (over_at, over_why) = row.over.map_or((None, None), |over| (Some(over.at), Some(over.why)));
            let (state, connection_name) = (row.state.word(), row.connection_name);
            OverView { id: row.id, state, connection_name, tool: row.tool, over_at, over_why }
        };
        Ok(page.items.into_iter().map(one).collect())
    }

    /// Withdraws what waits for an answer, or for its use, in a task that ends, and says why it is of no more use. Done again, it changes nothing.
    pub(crate) async fn withdraw_approvals(&self, task: TaskId, why: &str) -> Result<(), LedgerError> {
        let mut after = None;
        loop {
            let page = self.ledger.waiting_approvals(task, after).await?;
            for corrupt in &page.corrupt {
                tracing::error!(%corrupt, "an approval cannot be read, and stays as it is");
            }
            for approval in &page.items {
                self.withdraw_approval(approval, why).await?;
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
