//! Tasks: reading them, and moving them on.

use super::{
    IdempotencyRecord, Ledger, LedgerError,
    attention::{self, MAX_SUBJECTS},
    error::Refused,
    idempotency,
    task_row::{self, decode, task_columns},
};
use crate::{
    StoreError, decode as read,
    page::Page,
    params::{one_more, params},
};
use mate_model::{
    ProjectId, SessionId, TaskId, Transition,
    event::Draft,
    records::Task,
    task::{TaskState, TaskStateWord},
};

const BY_ID: &str = concat!("SELECT ", task_columns!(), " FROM tasks WHERE id = $1");
const LIST: &str = concat!(
    "SELECT ",
    task_columns!(),
    " FROM tasks WHERE project = $1 AND id < $2 ORDER BY id DESC LIMIT $3"
);
const LIST_IN_STATE: &str = concat!(
    "SELECT ",
    task_columns!(),
    " FROM tasks WHERE project = $1 AND state = $2 AND id < $3 ORDER BY id DESC LIMIT $4"
);
const UNSETTLED: &str = concat!(
    "SELECT ",
    task_columns!(),
    " FROM tasks WHERE project = $1 AND state IN ('running', 'stop_requested', 'unknown') AND id < $2
        ORDER BY id DESC LIMIT $3"
);
const OF_SESSION: &str = concat!(
    "SELECT ",
    task_columns!(),
    " FROM tasks WHERE session = $1 AND number < $2 ORDER BY number DESC LIMIT $3"
);
const NEXT: &str = concat!(
    "SELECT ",
    task_columns!(),
    " FROM tasks WHERE session = $1 AND state = 'accepted' ORDER BY number LIMIT 1"
);
const RUNNING: &str = concat!(
    "SELECT ",
    task_columns!(),
    " FROM tasks WHERE session = $1 AND state IN ('running', 'stop_requested')"
);

const UNKNOWN: &str = "SELECT id FROM tasks WHERE session = $1 AND state = 'unknown' ORDER BY id LIMIT 1000";

const TO_BE_SETTLED: &str = "SELECT t.id FROM tasks t WHERE t.state = 'unknown' AND t.id > $1
        AND NOT EXISTS (SELECT 1 FROM attention a
            WHERE a.project = t.project AND a.task = t.id AND a.closed_at IS NULL
                AND NOT EXISTS (SELECT 1 FROM resolutions r WHERE r.operation = a.subject))
    ORDER BY t.id LIMIT $2";

impl Ledger {
    /// The tasks of a session of which something is uncertain, oldest first; at most 1,000.
    ///
    /// # Errors
    /// The store's.
    pub async fn unknown_tasks(&self, session: SessionId) -> Result<Vec<TaskId>, StoreError> {
        let rows = self.db.fetch(UNKNOWN, params![session]).await?;
        rows.iter().map(|row| row.parse("id")).collect()
    }

    /// Unknown tasks, after `after`, of which nothing is uncertain any more; at most `limit`.
    ///
    /// # Errors
    /// The store's.
    pub async fn to_be_settled(&self, after: Option<TaskId>, limit: u32) -> Result<Vec<TaskId>, StoreError> {
        let after = after.map_or_else(String::new, |id| id.to_string());
        let rows = self.db.fetch(TO_BE_SETTLED, params![after, i64::from(limit)]).await?;
        rows.iter().map(|row| row.parse("id")).collect()
    }

    /// The task with this id.
    ///
    /// # Errors
    /// The store's, and [`StoreError::Corrupt`].
    pub async fn task(&self, id: TaskId) -> Result<Option<Task>, StoreError> {
        read::first(&self.db.fetch(BY_ID, params![id]).await?, decode)
    }

    /// A project's tasks, newest first, those older than `before`; in one state, if that is given.
    ///
    /// # Errors
    /// The store's.
    pub async fn tasks(
        &self,
        project: ProjectId,
        state: Option<TaskStateWord>,
        before: Option<TaskId>,
        limit: u32,
    ) -> Result<Page<Task, TaskId>, StoreError> {
        // Sorts after every id.
        let before = before.map_or_else(|| "~".to_owned(), |id| id.to_string());
        let rows = match state {
            Some(state) => {
                self.db.fetch(LIST_IN_STATE, params![project, state, before, one_more(limit)]).await?
            }
            None => self.db.fetch(LIST, params![project, before, one_more(limit)]).await?,
        };
        Page::read(&rows, limit, decode, |row| row.parse("id"))
    }

    /// A project's tasks that run or are uncertain, newest first, those older than `before`.
    ///
    /// # Errors
    /// The store's.
    pub async fn unsettled_tasks(
        &self,
        project: ProjectId,
        before: Option<TaskId>,
        limit: u32,
    ) -> Result<Page<Task, TaskId>, StoreError> {
        let before = before.map_or_else(|| "~".to_owned(), |id| id.to_string());
        let rows = self.db.fetch(UNSETTLED, params![project, before, one_more(limit)]).await?;
        Page::read(&rows, limit, decode, |row| row.parse("id"))
    }

    /// A session's tasks, the latest first, those with a number below `before`.
    ///
    /// # Errors
    /// The store's.
    pub async fn tasks_of_session(
        &self,
        session: SessionId,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Page<Task, i64>, StoreError> {
        let values = params![session, before.unwrap_or(i64::MAX), one_more(limit)];
        let rows = self.db.fetch(OF_SESSION, values).await?;
        Page::read(&rows, limit, decode, |row| row.int("number"))
    }

    /// The accepted task that comes next in a session.
    ///
    /// # Errors
    /// The store's, and [`StoreError::Corrupt`].
    pub async fn next_accepted(&self, session: SessionId) -> Result<Option<Task>, StoreError> {
        read::first(&self.db.fetch(NEXT, params![session]).await?, decode)
    }

    /// The task that a session runs, asked to stop or not. There is at most one.
    ///
    /// # Errors
    /// The store's, and [`StoreError::Corrupt`].
    pub async fn running(&self, session: SessionId) -> Result<Option<Task>, StoreError> {
        read::first(&self.db.fetch(RUNNING, params![session]).await?, decode)
    }

    /// Applies a move of a task with its event.
    ///
    /// `attention` names what a person must settle (for a move to `unknown`); those rows are written first, in
    /// scripts of their own when they are many, so that no unknown task is without them. A move to a final state
    /// closes what is open. Answers the number of the event.
    ///
    /// # Errors
    /// [`LedgerError::Conflict`] when its state is no longer the one that the move starts from,
    /// [`LedgerError::TooMany`] above [`MAX_SUBJECTS`], and the store's.
    pub async fn apply_task(
        &self,
        task: &Task,
        transition: &Transition<TaskState>,
        draft: Draft,
        attention: &[String],
        key: Option<&IdempotencyRecord>,
    ) -> Result<i64, LedgerError> {
        if attention.len() > MAX_SUBJECTS {
            return Err(LedgerError::TooMany { got: attention.len(), most: MAX_SUBJECTS });
        }
        let mut statements = Vec::new();
        statements.extend(key.map(idempotency::insert));
        statements.push(task_row::apply(task.id, transition, task.is_interrupted_by(transition))?);
        if attention.len() <= attention::IN_ONE_SCRIPT {
            statements.extend(attention::open_all(task, attention, transition.at()));
        } else {
            self.open_attention(task, attention, transition.at()).await?;
        }
        if transition.to().word().is_final() {
            statements.push(attention::close_all(task.id, transition.at()));
        }
        let moved = self.commit(task.project, &[draft], &statements).await;
        moved.map_err(|refused| match (refused, key) {
            (Refused::Unique, Some(_)) => LedgerError::KeyUsed,
            // Without a key, the only unique key that a move can meet is one running task per session.
            (refused, _) => refused.moving("task"),
        })
    }
}
