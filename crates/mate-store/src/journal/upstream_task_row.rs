//! What upstreams call the tasks as which they carry calls out, as rows.

use super::{JournalReader, operation_row::number};
use crate::{Row, Statement, StoreError, Value, decode as read, params::params};
use mate_model::{Micros, OperationId};

const NOTE: &str = "INSERT INTO upstream_tasks (session, number, sealed, digest, shown, known_at)
    VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING";
const ONE: &str = "SELECT number, sealed, digest, shown, known_at FROM upstream_tasks
    WHERE session = $1 AND number = $2";
const NAMED: &str = "SELECT number FROM upstream_tasks WHERE session = $1 AND digest = $2";
const OF_UNKNOWN: &str = "SELECT o.number FROM operations o
    JOIN upstream_tasks t ON t.session = o.session AND t.number = o.number
    WHERE o.session = $1 AND o.state = 'unknown' AND o.number >= $2 AND o.number <= $3 ORDER BY o.number";

/// An upstream's name for one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpstreamTask {
    /// The id as the upstream gave it, sealed.
    pub sealed: Vec<u8>,
    /// By which the id is known again, without telling it; no two operations of a session have the same.
    pub digest: Vec<u8>,
    /// What is shown of the id: never all.
    pub shown: String,
    /// When it was known.
    pub known_at: Micros,
}

/// Writes an id down; the first one of an operation stands, and the first operation with it.
pub(super) fn note(session: &Value, place: i64, task: &UpstreamTask) -> Statement {
    let values = params![
        session.clone(),
        place,
        task.sealed.clone(),
        task.digest.clone(),
        task.shown.as_str(),
        task.known_at
    ];
    Statement::any(NOTE, values)
}

fn decode(row: &Row) -> Result<UpstreamTask, StoreError> {
    Ok(UpstreamTask {
        sealed: row.blob("sealed")?.to_vec(),
        digest: row.blob("digest")?.to_vec(),
        shown: row.text("shown")?.to_owned(),
        known_at: read::micros(row, "known_at")?,
    })
}

impl JournalReader {
    /// What the upstream calls the task as which it carries an operation out; none when it is not known to be one.
    ///
    /// # Errors
    /// The store's, [`StoreError::Corrupt`], and [`StoreError::Misuse`] for an operation of another session.
    pub async fn upstream_task(&self, id: OperationId) -> Result<Option<UpstreamTask>, StoreError> {
        let values = params![self.key.clone(), number(self.session, id)?];
        read::first(&self.db.fetch(ONE, values).await?, decode)
    }

    /// The operation whose upstream's task has an id of this digest.
    ///
    /// # Errors
    /// The store's.
    pub async fn upstream_task_named(&self, digest: &[u8]) -> Result<Option<OperationId>, StoreError> {
        let values = params![self.key.clone(), digest.to_vec()];
        let session = self.session;
        let of = |row: &Row| Ok(OperationId { session, number: row.number("number")? });
        read::first(&self.db.fetch(NAMED, values).await?, of)
    }

    /// The unknown operations from `first` to `last` whose upstream's task is known.
    ///
    /// # Errors
    /// The store's, and [`StoreError::Misuse`] for operations of another session.
    pub async fn unknown_with_upstream_task(
        &self,
        first: OperationId,
        last: OperationId,
    ) -> Result<Vec<OperationId>, StoreError> {
        let (first, last) = (number(self.session, first)?, number(self.session, last)?);
        let rows = self.db.fetch(OF_UNKNOWN, params![self.key.clone(), first, last]).await?;
        let session = self.session;
        rows.iter().map(|row| Ok(OperationId { session, number: row.number("number")? })).collect()
    }
}
