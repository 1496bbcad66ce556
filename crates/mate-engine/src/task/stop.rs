//! Asking a task to stop. A stop is a wish until it is proved.

use crate::{Engine, EngineError, Principal, Verb};
use mate_model::{
    TaskId,
    event::{Draft, EventType},
    records::Task,
    task::{TaskCommand, TaskState, TaskStateWord},
};
use mate_store::LedgerError;
use serde_json::json;

impl Engine {
    /// Asks a task to stop; `kill`: by SIGKILL at once. Asked already: the same answer again.
    ///
    /// # Errors
    /// Why it is refused: it has ended, say.
    pub async fn stop(&self, who: &Principal, id: TaskId, kill: bool) -> Result<Task, EngineError> {
        let verb = if kill { Verb::TaskKill } else { Verb::TaskStop };
        let task = self.task_for(who, id, verb).await?;
        let kind = match task.state.word() {
            TaskStateWord::Accepted => EventType::TaskStopped,
            TaskStateWord::StopRequested if kill => EventType::TaskKillRequested,
            TaskStateWord::Proposed => {
                let why =
                    "it is only proposed, so nothing of it runs: reject it with `agent-mate task reject`";
                return Err(EngineError::refused("not_now", why));
            }
            TaskStateWord::Unknown => {
                let why =
                    "it has ended already and waits for evidence: `agent-mate task report` says of what";
                return Err(EngineError::refused("not_now", why));
            }
            TaskStateWord::Running
            | TaskStateWord::StopRequested
            | TaskStateWord::Completed
            | TaskStateWord::Failed
            | TaskStateWord::Stopped
            | TaskStateWord::Rejected => EventType::TaskStopRequested,
        };
        let data = json!({ "by": who.account, "kill": kill });
        self.move_task(who, verb, id, TaskCommand::Stop { by: Some(who.account), kill }, kind, data).await
    }

    /// Asks a running task whose deadline has passed to stop. One that is not running, or is asked already, stays as it
    /// is; so does one that somebody moves at this moment, until this is called again.
    ///
    /// # Errors
    /// The ledger's.
    pub async fn stop_overdue(&self, id: TaskId) -> Result<(), EngineError> {
        let task = self.ledger.task(id).await?.ok_or(EngineError::NotFound)?;
        if !matches!(task.state, TaskState::Running { .. }) {
            return Ok(());
        }
        let now = self.clock.now();
        let transition = task.state.decide(TaskCommand::Stop { by: None, kill: false }, now)?;
        let data = json!({ "by": null, "kill": false, "deadline_seconds": task.policy.deadline_seconds });
        let turn = task.state.run().map(|run| run.turn);
        let draft = Draft { kind: EventType::TaskStopRequested, task: Some(id), turn, at: now, data };
        match self.ledger.apply_task(&task, &transition, draft, &[], None).await {
            Ok(_) | Err(LedgerError::Conflict(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
