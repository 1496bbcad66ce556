//! Looks whether unknown operations have happened: how often one was taken, and when the next is due.

use super::{Ledger, LedgerError, error::Refused};
use crate::{
    Row, Statement, StoreError, decode,
    page::Page,
    params::{one_more, params},
};
use mate_model::{
    Micros, OperationId, SessionId, TaskId,
    event::Draft,
    records::{Session, Task},
};

/// How many are written in one script.
const IN_ONE_SCRIPT: usize = 900;

const OPEN: &str = "INSERT INTO verifications (operation, session, project, task, tries, due_at)
    VALUES ($1, $2, $3, $4, 0, $5) ON CONFLICT (operation) DO NOTHING";
const ONE: &str = "SELECT operation, task, tries, due_at FROM verifications WHERE operation = $1";
const DUE: &str = "SELECT operation, task, tries, due_at FROM verifications
    WHERE session = $1 AND due_at <= $2 AND (due_at > $3 OR (due_at = $3 AND operation > $4))
    ORDER BY due_at, operation LIMIT $5";
const TAKE: &str = "UPDATE verifications SET tries = tries + 1, due_at = $3
    WHERE operation = $1 AND tries = $2 AND due_at IS NOT NULL";
const SAY: &str = "UPDATE verifications SET said = $2 WHERE operation = $1";
const SAID: &str = "SELECT operation, said FROM verifications WHERE operation = $1";
const AGAIN: &str = "UPDATE verifications SET due_at = $3 WHERE operation = $1 AND tries = $2";
const ASK: &str = "UPDATE verifications SET due_at = $2 WHERE operation = $1
    AND NOT EXISTS (SELECT 1 FROM resolutions r WHERE r.operation = $1)";
const END: &str = "UPDATE verifications SET due_at = NULL WHERE operation = $1 AND due_at IS NOT NULL";

/// Where the looks for one operation stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verification {
    /// Which operation.
    pub operation: OperationId,
    /// Whose it is.
    pub task: TaskId,
    /// How often a look was admitted.
    pub tries: i64,
    /// When the next one is to be taken, if there is one.
    pub due_at: Option<Micros>,
}

/// A place in a list of due looks. Rows that cannot be read have one as well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DuePlace {
    due_at: i64,
    operation: String,
}

fn decode(row: &Row) -> Result<Verification, StoreError> {
    Ok(Verification {
        operation: row.parse("operation")?,
        task: row.parse("task")?,
        tries: row.int("tries")?,
        due_at: decode::opt_micros(row, "due_at")?,
    })
}

/// No further look is taken for an operation.
pub(super) fn end(operation: OperationId) -> Statement {
    Statement::any(END, params![operation])
}

/// Keeps what a look came to, if its event says so.
fn say(look: &Verification, draft: &Draft) -> Option<Statement> {
    let said = draft.data["detail"].as_str()?;
    Some(Statement::any(SAY, params![look.operation, said]))
}

impl Ledger {
    /// Wants a look for each of a task's operations, at `at`; one that had one before stays as it is.
    ///
    /// # Errors
    /// The store's; part of them may then be wanted already.
    pub async fn open_verifications(
        &self,
        task: &Task,
        operations: &[OperationId],
        at: Micros,
    ) -> Result<(), LedgerError> {
        for chunk in operations.chunks(IN_ONE_SCRIPT) {
            let statement = |id: &OperationId| {
                Statement::any(OPEN, params![*id, task.session, task.project, task.id, at])
            };
            let opened = self.write(chunk.iter().map(statement).collect()).await;
            opened.map_err(|refused| refused.adding("verification", "task"))?;
        }
        Ok(())
    }

    /// How the looks for an operation stand; none when no recipe looks for it.
    ///
    /// # Errors
    /// The store's, and [`StoreError::Corrupt`].
    pub async fn verification(&self, operation: OperationId) -> Result<Option<Verification>, StoreError> {
        decode::first(&self.db.fetch(ONE, params![operation]).await?, decode)
    }

    /// The looks of a session that are due by `now`, the longest due first, after a place in this list.
    ///
    /// # Errors
    /// The store's.
    pub async fn verifications_due(
        &self,
        session: SessionId,
        now: Micros,
        after: Option<&DuePlace>,
        limit: u32,
    ) -> Result<Page<Verification, DuePlace>, StoreError> {
        let (due_at, operation) =
            after.map_or((i64::MIN, ""), |after| (after.due_at, after.operation.as_str()));
        let values = params![session, now, due_at, operation, one_more(limit)];
        let rows = self.db.fetch(DUE, values).await?;
        Page::read(&rows, limit, decode, |row| {
            Ok(DuePlace { due_at: row.int("due_at")?, operation: row.text("operation")?.to_owned() })
        })
    }

    /// Takes a look as it was read, before anything is asked: it counts, and the next is due at `next`. False when
    /// somebody else took it, or none is wanted any more.
    ///
    /// # Errors
    /// The store's.
    pub async fn take_look(
        &self,
        session: &Session,
        look: &Verification,
        next: Option<Micros>,
        draft: Draft,
    ) -> Result<bool, LedgerError> {
        let take = Statement::one(TAKE, params![look.operation, look.tries, next]);
        let statements: Vec<Statement> = [Some(take), say(look, &draft)].into_iter().flatten().collect();
        match self.commit(session.project, &[draft], &statements).await {
            Ok(_) => Ok(true),
            Err(Refused::Guard(_)) => Ok(false),
            Err(refused) => Err(refused.moving("verification")),
        }
    }

    /// Writes what a look came to, and, if `next` says so, another time for the next one.
    ///
    /// # Errors
    /// The store's.
    pub async fn note_look(
        &self,
        session: &Session,
        look: &Verification,
        next: Option<Option<Micros>>,
        draft: Draft,
    ) -> Result<(), LedgerError> {
        let again = |next| Statement::any(AGAIN, params![look.operation, look.tries, next]);
        let statements: Vec<Statement> = next.map(again).into_iter().chain(say(look, &draft)).collect();
        let written = self.commit(session.project, &[draft], &statements).await;
        written.map(|_| ()).map_err(|refused| refused.moving("verification"))
    }

    /// Wants a look at `at`, with the event that says who asked; false when the operation is settled, or no recipe
    /// looks for it.
    ///
    /// # Errors
    /// The store's.
    pub async fn ask_look(
        &self,
        session: &Session,
        operation: OperationId,
        at: Micros,
        draft: Draft,
    ) -> Result<bool, LedgerError> {
        let statement = Statement::one(ASK, params![operation, at]);
        match self.commit(session.project, &[draft], &[statement]).await {
            Ok(_) => Ok(true),
            Err(Refused::Guard(_)) => Ok(false),
            Err(refused) => Err(refused.moving("verification")),
        }
    }

    /// What the last look for an operation came to, in words; none when there was none.
    ///
    /// # Errors
    /// The store's, and [`StoreError::Corrupt`].
    pub async fn last_look(&self, operation: OperationId) -> Result<Option<String>, StoreError> {
        let rows = self.db.fetch(SAID, params![operation]).await?;
        Ok(decode::first(&rows, |row| row.opt_text("said").map(|said| said.map(str::to_owned)))?.flatten())
    }

    /// Takes no further look for an operation.
    ///
    /// # Errors
    /// The store's.
    pub async fn end_looks(&self, operation: OperationId) -> Result<(), StoreError> {
        self.db.execute(end(operation)).await.map(|_| ())
    }
}
