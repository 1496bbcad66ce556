//! Approving and rejecting a proposed task.

use crate::{Engine, EngineError, Principal, Verb};
use mate_model::{
    TaskId,
    event::{Draft, EventType},
    records::Task,
    task::TaskCommand,
};
use mate_store::LedgerError;
use serde_json::{Value, json};

const TRIES: u32 = 20;
/// The longest reason, in bytes.
const MAX_REASON: usize = 4096;

impl Engine {
    /// Approves a proposed task. Approved already: the same answer again.
    ///
    /// # Errors
    /// Why it is refused.
    pub async fn approve(&self, who: &Principal, id: TaskId) -> Result<Task, EngineError> {
        let task = self.task_for(who, id, Verb::TaskApprove).await?;
        if self.ledger.project(task.project).await?.is_none_or(|project| project.archived_at.is_some()) {
            return Err(EngineError::refused(
                "project_archived",
                "the project is archived: it takes no new work",
            ));
        }
        self.must_be_another(who, &task).await?;
        let command = TaskCommand::Approve { by: who.account };
        self.move_task(
            who,
            Verb::TaskApprove,
            id,
            command,
            EventType::TaskApproved,
            json!({ "by": who.account }),
        )
        .await
    }

    /// Rejects a proposed task, or withdraws the approval of one that has not started.
    ///
    /// # Errors
    /// Why it is refused.
    pub async fn reject(&self, who: &Principal, id: TaskId, reason: &str) -> Result<Task, EngineError> {
        if reason.len() > MAX_REASON || reason.contains('\0') {
            return Err(EngineError::invalid("reason", "longer than 4 KiB, or holds a NUL character"));
        }
        let command = TaskCommand::Reject { by: who.account, reason: reason.to_owned() };
        let data = json!({ "by": who.account, "reason": reason });
        self.move_task(who, Verb::TaskReject, id, command, EventType::TaskRejected, data).await
    }

    /// Decides and writes one move, again while others move the task at the same moment.
    pub(super) async fn move_task(
        &self,
        who: &Principal,
        verb: Verb,
        id: TaskId,
        command: TaskCommand,
        kind: EventType,
        data: Value,
    ) -> Result<Task, EngineError> {
        for _ in 0..TRIES {
            let task = self.task_for(who, id, verb).await?;
            let now = match &command {
                TaskCommand::Stop { .. } | TaskCommand::Reject { .. } => self.cautious_time().await?,
                TaskCommand::Approve { .. }
                | TaskCommand::Claim { .. }
                | TaskCommand::Conclude { .. }
                | TaskCommand::Settle => self.writing_time().await?,
            };
            let transition = match task.state.decide(command.clone(), now) {
                Ok(transition) => transition,
                Err(mate_model::Refusal::Already { .. }) => return Ok(task),
                Err(refusal) => return Err(refusal.into()),
            };
            mate_fault::point_async!("request.observed");
            let turn = task.state.run().map(|run| run.turn);
            let draft = Draft { kind, task: Some(id), turn, at: now, data: data.clone() };
            match self.ledger.apply_task(&task, &transition, draft, &[], None).await {
                Ok(_) => {
                    mate_fault::point_async!("request.committed");
                    return Ok(task.moved(transition.into_to()));
                }
                Err(LedgerError::Conflict(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(EngineError::Unavailable("the task keeps moving: try again".to_owned()))
    }
}
