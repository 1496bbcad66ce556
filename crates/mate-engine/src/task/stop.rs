//! Asking a task to stop. A stop is a wish until it is proved.

use crate::{Engine, EngineError, Principal};
use mate_model::{
    TaskId,
    event::EventType,
    records::Task,
    task::{TaskCommand, TaskStateWord},
    words::Role,
};
use serde_json::json;

impl Engine {
    /// Asks a task to stop; `kill`: by SIGKILL at once. Asked already: the same answer again.
    ///
    /// # Errors
    /// Why it is refused: it has ended, say.
    pub async fn stop(&self, who: &Principal, id: TaskId, kill: bool) -> Result<Task, EngineError> {
        let task = self.task_for(who, id, Role::Operator).await?;
        let kind = match task.state.word() {
            TaskStateWord::Accepted => EventType::TaskStopped,
            TaskStateWord::StopRequested if kill => EventType::TaskKillRequested,
            TaskStateWord::Proposed
            | TaskStateWord::Running
            | TaskStateWord::StopRequested
            | TaskStateWord::Completed
            | TaskStateWord::Failed
            | TaskStateWord::Stopped
            | TaskStateWord::Rejected
            | TaskStateWord::Unknown => EventType::TaskStopRequested,
        };
        let data = json!({ "by": who.account, "kill": kill });
        self.move_task(who, id, TaskCommand::Stop { by: who.account, kill }, kind, data).await
    }
}
