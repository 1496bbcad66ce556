//! A task that the caller may see.

use crate::{Engine, EngineError, Principal};
use mate_model::{TaskId, records::Task, words::Role};

impl Engine {
    /// A task, for a caller with at least this role in its project.
    ///
    /// # Errors
    /// [`EngineError::NotFound`] when it does not exist, or not for this caller.
    pub async fn task_for(&self, who: &Principal, id: TaskId, role: Role) -> Result<Task, EngineError> {
        let task = self.ledger.task(id).await?.ok_or(EngineError::NotFound)?;
        self.demand(who, task.project, role).await?;
        Ok(task)
    }
}
