//! Attention: what needs a person, because nobody knows how it ended.

use super::{Ledger, LedgerError, error::Refused};
use crate::{
    Row, Statement, StoreError, decode,
    page::Page,
    params::{one_more, params},
};
use mate_model::{
    Micros, ProjectId, TaskId,
    event::Draft,
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
const OPEN_AGAIN: &str = "INSERT INTO attention (task, subject, project, opened_at, closed_at)
    VALUES ($1, $2, $3, $4, NULL)
    ON CONFLICT (task, subject) DO UPDATE SET opened_at = excluded.opened_at, closed_at = NULL";
const CLOSE_ALL: &str = "UPDATE attention SET closed_at = $2 WHERE task = $1 AND closed_at IS NULL
    AND NOT EXISTS (SELECT 1 FROM resolutions r
        WHERE r.operation = attention.subject AND r.contradiction_open = 1)";
const LIST: &str = "SELECT task, subject, project, opened_at, closed_at FROM attention
    WHERE project = $1 AND closed_at IS NULL AND (task > $2 OR (task = $2 AND subject > $3))
    ORDER BY task, subject LIMIT $4";
const OF_TASK: &str = "SELECT task, subject, project, opened_at, closed_at FROM attention
    WHERE task = $1 AND closed_at IS NULL AND subject > $2 ORDER BY subject LIMIT $3";
const OWN: &str = "SELECT a.task, a.subject FROM attention a JOIN tasks t ON t.id = a.task
    WHERE a.task = $1 AND a.closed_at IS NULL AND a.subject = t.turn";
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

/// Closes what is open of a task about a subject, if it is.
pub(super) fn close(task: TaskId, subject: &str, at: Micros) -> Statement {
    Statement::any(CLOSE, params![task, subject, at])
}

/// Opens attention about a subject, whether or not it was closed before.
pub(super) fn open_again(project: ProjectId, task: TaskId, subject: &str, at: Micros) -> Statement {
    Statement::one(OPEN_AGAIN, params![task, subject, project, at])
}

/// Closes whatever is open of a task, but for evidence to the contrary that nobody has taken note of.
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

    /// Closes what is open of a task about `subject`, with the event that says why; false when nothing was open.
    ///
    /// # Errors
    /// The store's.
    pub async fn close_attention(
        &self,
        task: &Task,
        subject: &str,
        draft: Draft,
    ) -> Result<bool, LedgerError> {
        let statement = Statement::one(CLOSE, params![task.id, subject, draft.at]);
        match self.commit(task.project, &[draft], &[statement]).await {
            Ok(_) => Ok(true),
            Err(Refused::Guard(_)) => Ok(false),
            Err(refused) => Err(refused.moving("attention")),
        }
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

    /// The subject of a task that is no operation's, while it is open: its turn.
    ///
    /// # Errors
    /// The store's.
    pub async fn own_attention(&self, task: TaskId) -> Result<Option<String>, StoreError> {
        let rows = self.db.fetch(OWN, params![task]).await?;
        decode::first(&rows, |row| row.text("subject").map(str::to_owned))
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
