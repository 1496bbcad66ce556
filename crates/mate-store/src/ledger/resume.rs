//! Going on: a task is continued at most once, by a new one, and those that want to go on by themselves are found.

use super::{
    Continued, Ledger, LedgerError,
    task_row::{decode, task_columns},
};
use crate::{
    Statement, StoreError,
    page::Page,
    params::{one_more, params},
};
use mate_model::{ProjectId, TaskId, event::Draft, records::Task};

/// Together with the project's log, which writers pass one by one, the condition makes of two continuations one.
const TAKE: &str = "UPDATE tasks SET resume_due = 0
    WHERE id = $1 AND project = $2 AND state IN ('failed', 'stopped', 'unknown') AND resume_due >= $3
        AND NOT EXISTS (SELECT 1 FROM tasks c WHERE c.continues = $1 AND c.state <> 'rejected')";
const HOLD: &str = "UPDATE tasks SET resume_due = 0 WHERE id = $1 AND resume_due = 1";
const DUE: &str =
    concat!("SELECT ", task_columns!(), " FROM tasks WHERE resume_due = 1 AND id > $1 ORDER BY id LIMIT $2");

/// The compare-and-set on the task that is continued.
pub(super) fn take(continued: Continued, project: ProjectId) -> Statement {
    Statement::one(TAKE, params![continued.task, project, i64::from(continued.by_itself)])
}

impl Ledger {
    /// Tasks that their policy wants to go on by themselves, after `after`. Does not grow with history.
    ///
    /// # Errors
    /// The store's.
    pub async fn resumes_due(
        &self,
        after: Option<TaskId>,
        limit: u32,
    ) -> Result<Page<Task, TaskId>, StoreError> {
        let after = after.map_or_else(String::new, |id| id.to_string());
        let rows = self.db.fetch(DUE, params![after, one_more(limit)]).await?;
        Page::read(&rows, limit, decode, |row| row.parse("id"))
    }

    /// Notes that a task which is due does not go on by itself; somebody may still resume it.
    ///
    /// # Errors
    /// [`LedgerError::Conflict`] when it is not due (any more), and the store's.
    pub async fn hold(&self, task: &Task, draft: Draft) -> Result<(), LedgerError> {
        let held = self.commit(task.project, &[draft], &[Statement::one(HOLD, params![task.id])]).await;
        held.map(|_| ()).map_err(|refused| refused.moving("task"))
    }
}
