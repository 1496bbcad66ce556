//! A task that the caller may see.

use crate::{Engine, EngineError, Principal, Verb};
use mate_model::{TaskId, records::Task};

impl Engine {
    /// A task, for a caller who may do with it what the verb says.
    ///
    /// # Errors
    /// [`EngineError::NotFound`] when it does not exist, or not for this caller.
    pub async fn task_for(&self, who: &Principal, id: TaskId, verb: Verb) -> Result<Task, EngineError> {
        let Some(task) = self.ledger.task(id).await? else { return self.nothing(who).await };
        self.demand(who, task.project, verb).await?;
        Ok(task)
    }
}
