//! Attention: what needs a person, because nobody knows how it ended.

use super::{Ledger, LedgerError};
use crate::{
    Row, Statement, StoreError, decode,
    page::Page,
    params::{one_more, params},
};
use mate_model::{
    Micros, ProjectId, TaskId,
    records::{Attention, Task},
};

/// The most subjects that one task can have at once.
pub const MAX_SUBJECTS: usize = 20_000;

/// How many are written with the state; more come before it, in scripts of this size.
pub(super) const IN_ONE_SCRIPT: usize = 900;

const OPEN: &str = "INSERT INTO attention (task, subject, project, opened_at, closed_at)
    VALUES ($1, $2, $3, $4, NULL) ON CONFLICT (task, subject) DO NOTHING";
const CLOSE: &str =
    "UPDATE attention SET closed_at = $3 WHERE task = $1 AND subject = $2 AND closed_at IS NULL";
const CLOSE_ALL: &str = "UPDATE attention SET closed_at = $2 WHERE task = $1 AND closed_at IS NULL";
const LIST: &str = "SELECT task, subject, project, opened_at, closed_at FROM attention
    WHERE project = $1 AND closed_at IS NULL AND (task > $2 OR (task = $2 AND subject > $3))
    ORDER BY task, subject LIMIT $4";
const OF_TASK: &str = "SELECT task, subject, project, opened_at, closed_at FROM attention
    WHERE task = $1 AND closed_at IS NULL AND subject > $2 ORDER BY subject LIMIT $3";
const COUNT: &str = "SELECT count(*) AS open FROM attention WHERE task = $1 AND closed_at IS NULL";

fn decode(row: &Row) -> Result<Attention, StoreError> {
    Ok(Attention {
        task: row.parse("task")?,
        subject: row.text("subject")?.to_owned(),
        opened_at: decode::micros(row, "opened_at")?,
        closed_at: decode::opt_micros(row, "closed_at")?,
    })
}

/// The inserts for `subjects`; one that is there already stays as it is.
pub(super) fn open_all(task: &Task, subjects: &[String], at: Micros) -> impl Iterator<Item = Statement> {
    let (id, project) = (task.id, task.project);
    subjects.iter().map(move |subject| Statement::any(OPEN, params![id, subject.as_str(), project, at]))
}

/// Closes whatever is open of a task.
pub(super) fn close_all(task: TaskId, at: Micros) -> Statement {
    Statement::any(CLOSE_ALL, params![task, at])
}

impl Ledger {
    /// Opens attention for `subjects` of a task, in as many scripts as they need; done again, it changes nothing.
    ///
    /// # Errors
    /// The store's; part of them may then be open already.
    pub async fn open_attention(
        &self,
        task: &Task,
        subjects: &[String],
        at: Micros,
    ) -> Result<(), LedgerError> {
        for chunk in subjects.chunks(IN_ONE_SCRIPT) {
            let opened = self.write(open_all(task, chunk, at).collect()).await;
            opened.map_err(|refused| refused.adding("attention", "task"))?;
        }
        Ok(())
    }

    /// Closes what is open of a task about `subject`; false when nothing was.
    ///
    /// # Errors
    /// The store's.
    pub async fn close_attention(&self, task: TaskId, subject: &str, at: Micros) -> Result<bool, StoreError> {
        let closed = self.db.execute(Statement::any(CLOSE, params![task, subject, at])).await?;
        self.ring().await;
        Ok(closed > 0)
    }

    /// What is open in a project, by task and subject, after `after`.
    ///
    /// # Errors
    /// The store's.
    pub async fn attention(
        &self,
        project: ProjectId,
        after: Option<(TaskId, String)>,
        limit: u32,
    ) -> Result<Page<Attention, (TaskId, String)>, StoreError> {
        let (task, subject) =
            after.map_or_else(Default::default, |(task, subject)| (task.to_string(), subject));
        let rows = self.db.fetch(LIST, params![project, task, subject, one_more(limit)]).await?;
        Page::read(&rows, limit, decode, |row| Ok((row.parse("task")?, row.text("subject")?.to_owned())))
    }

    /// What is open of a task, by subject, after `after`.
    ///
    /// # Errors
    /// The store's.
    pub async fn attention_of(
        &self,
        task: TaskId,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Page<Attention, String>, StoreError> {
        let rows = self.db.fetch(OF_TASK, params![task, after.unwrap_or(""), one_more(limit)]).await?;
        Page::read(&rows, limit, decode, |row| row.text("subject").map(str::to_owned))
    }

    /// How much is open of a task.
    ///
    /// # Errors
    /// The store's.
    pub async fn open_count(&self, task: TaskId) -> Result<i64, StoreError> {
        let rows = self.db.fetch(COUNT, params![task]).await?;
        rows.first().map_or(Ok(0), |row| row.int("open"))
    }
}
