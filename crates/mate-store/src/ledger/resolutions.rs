//! Resolutions: the evidence that settled operations whose outcome was unknown.

use super::{
    Ledger, LedgerError, attention,
    error::Refused,
    resolution_row::{self, columns, decode},
    verifications,
};
use crate::{
    Statement, StoreError, decode as read,
    page::Page,
    params::{one_more, params},
};
use mate_model::{
    Micros, OperationId, SessionId, TaskId,
    event::Draft,
    operation::Verdict,
    records::Task,
    resolution::{Contradiction, Resolution},
};

const ONE: &str = concat!("SELECT ", columns!(), " FROM resolutions WHERE operation = $1");
const OF_TASK: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM resolutions WHERE task = $1 AND number >= $2 AND number <= $3 ORDER BY number"
);
const UNAPPLIED: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM resolutions WHERE session = $1 AND applied_at IS NULL AND number > $2 ORDER BY number LIMIT $3"
);
const UNAPPLIED_OF_TASK: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM resolutions WHERE session = $1 AND applied_at IS NULL AND task = $2 AND verdict = $3 AND number > $4",
    " ORDER BY number LIMIT $5"
);
const APPLIED: &str = "UPDATE resolutions SET applied_at = $2 WHERE operation = $1 AND applied_at IS NULL";
const REPEAT_BY: &str = "SELECT repeat_by FROM resolutions WHERE operation = $1 AND permit_repeat = 1";
const TAKE_LEAVE: &str = "UPDATE resolutions SET repeat_by = $2
    WHERE operation = $1 AND permit_repeat = 1 AND COALESCE(repeat_by, '') = $3";
const UNSETTLED: &str = "SELECT count(*) AS items,
        COALESCE(SUM(CASE WHEN a.subject = t.turn THEN 1 ELSE 0 END), 0) AS own
    FROM attention a JOIN tasks t ON t.id = a.task
    WHERE a.project = $1 AND a.task = $2 AND a.closed_at IS NULL
        AND NOT EXISTS (SELECT 1 FROM resolutions r WHERE r.operation = a.subject)";

/// What of a task is still uncertain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unsettled {
    /// How many operations.
    pub operations: u64,
    /// Whether the runtime's own last act, or what a lost journal held, is.
    pub own: bool,
}

impl Unsettled {
    /// Whether nothing is.
    #[must_use]
    pub const fn is_nothing(self) -> bool {
        self.operations == 0 && !self.own
    }
}

impl Ledger {
    /// Writes a resolution with its event, closes the attention that the operation had, and ends
    /// the looks whether it happened; false when the operation
    /// has one already.
    ///
    /// # Errors
    /// [`LedgerError::NotFound`] when its task does not exist, and the store's.
    pub async fn add_resolution(&self, resolution: &Resolution, draft: Draft) -> Result<bool, LedgerError> {
        let statements = [
            resolution_row::add(resolution)?,
            attention::close(resolution.task, &resolution.operation.to_string(), resolution.at),
            verifications::end(resolution.operation),
        ];
        match self.commit(resolution.project, &[draft], &statements).await {
            Ok(_) => Ok(true),
            Err(Refused::Unique) => Ok(false),
            Err(refused) => Err(refused.adding("resolution", "task")),
        }
    }

    /// Puts evidence to the contrary beside a resolution, as it was read, with its event. One that nobody has
    /// acknowledged opens the operation's attention again; one that somebody has closes it.
    ///
    /// # Errors
    /// [`LedgerError::Conflict`] when another came meanwhile, and the store's.
    pub async fn contradict(
        &self,
        resolution: &Resolution,
        contradiction: &Contradiction,
        draft: Draft,
    ) -> Result<(), LedgerError> {
        let subject = resolution.operation.to_string();
        let attention = if contradiction.acknowledgement.is_some() {
            attention::close(resolution.task, &subject, draft.at)
        } else {
            attention::open_again(resolution.project, resolution.task, &subject, draft.at)
        };
        let statements = [resolution_row::contradict(resolution, contradiction)?, attention];
        let written = self.commit(resolution.project, &[draft], &statements).await;
        written.map(|_| ()).map_err(|refused| refused.moving("resolution"))
    }

    /// The resolution of an operation.
    ///
    /// # Errors
    /// The store's, and [`StoreError::Corrupt`].
    pub async fn resolution(&self, operation: OperationId) -> Result<Option<Resolution>, StoreError> {
        read::first(&self.db.fetch(ONE, params![operation]).await?, decode)
    }

    /// The resolutions of a task's operations with numbers from `first` to `last`, in request order.
    ///
    /// # Errors
    /// The store's, and [`StoreError::Corrupt`].
    pub async fn resolutions(
        &self,
        task: TaskId,
        first: u64,
        last: u64,
    ) -> Result<Vec<Resolution>, StoreError> {
        let place = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let rows = self.db.fetch(OF_TASK, params![task, place(first), place(last)]).await?;
        rows.iter().map(decode).collect()
    }

    /// Resolutions that a session's journal does not have yet, after number `after`, in request order.
    ///
    /// # Errors
    /// The store's.
    pub async fn unapplied_resolutions(
        &self,
        session: SessionId,
        after: i64,
        limit: u32,
    ) -> Result<Page<Resolution, i64>, StoreError> {
        let rows = self.db.fetch(UNAPPLIED, params![session, after, one_more(limit)]).await?;
        Page::read(&rows, limit, decode, |row| row.int("number"))
    }

    /// Those of one task and verdict.
    ///
    /// # Errors
    /// The store's.
    pub async fn unapplied_verdicts(
        &self,
        task: &Task,
        verdict: Verdict,
        after: i64,
        limit: u32,
    ) -> Result<Page<Resolution, i64>, StoreError> {
        let values = params![task.session, task.id, verdict, after, one_more(limit)];
        let rows = self.db.fetch(UNAPPLIED_OF_TASK, values).await?;
        Page::read(&rows, limit, decode, |row| row.int("number"))
    }

    /// Remembers that the journal has a resolution and its task was looked at; done already, it changes nothing.
    ///
    /// # Errors
    /// The store's.
    pub async fn resolution_applied(&self, operation: OperationId, at: Micros) -> Result<(), StoreError> {
        self.db.execute(Statement::any(APPLIED, params![operation, at])).await.map(|_| ())
    }

    /// Whether the leave to repeat an operation was given, and which operation took it: none within when nobody did.
    ///
    /// # Errors
    /// The store's, and [`StoreError::Corrupt`].
    pub async fn leave_to_repeat(
        &self,
        operation: OperationId,
    ) -> Result<Option<Option<OperationId>>, StoreError> {
        read::first(&self.db.fetch(REPEAT_BY, params![operation.to_string()]).await?, |row| {
            row.opt_parse("repeat_by")
        })
    }

    /// Takes the leave to repeat an operation for `by`, from nobody or from `from`; false when another was first. It is
    /// taken before the intent: a crash between the two leaves it taken.
    ///
    /// # Errors
    /// The store's.
    pub async fn take_leave_to_repeat(
        &self,
        operation: OperationId,
        by: OperationId,
        from: Option<OperationId>,
    ) -> Result<bool, StoreError> {
        let from = from.map_or_else(String::new, |id| id.to_string());
        let values = params![operation.to_string(), by.to_string(), from];
        Ok(self.db.execute(Statement::any(TAKE_LEAVE, values)).await? == 1)
    }

    /// What of a task is uncertain and not resolved. Contradictions are not: they change no state.
    ///
    /// # Errors
    /// The store's.
    pub async fn unsettled(&self, task: &Task) -> Result<Unsettled, StoreError> {
        let rows = self.db.fetch(UNSETTLED, params![task.project, task.id]).await?;
        let Some(row) = rows.first() else { return Ok(Unsettled::default()) };
        let (items, own): (u64, u64) = (row.number("items")?, row.number("own")?);
        Ok(Unsettled { operations: items.saturating_sub(own), own: own > 0 })
    }
}
