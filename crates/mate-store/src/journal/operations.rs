//! Reading operations.

use super::{
    JournalReader,
    operation_row::{decode, number},
};
use crate::{
    StoreError, decode as read,
    page::Page,
    params::{one_more, params},
};
use mate_model::{OperationId, TaskId, operation::OperationStateWord, records::Operation};

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT number, session, task, turn, connection, connection_name, tool, class, grant_id, decision, \
             runtime_call, trace, digest, shape, state, deny_reason, detail, expires_at, evidence, requested_at, \
             admitted_at, sent_at, answered_at, recorded_at, duration_us, result_size, result_type, repeats, \
             repeat_permitted \
             FROM operations ",
            $rest
        )
    };
}

pub(super) const ONE: &str = select!("WHERE session = $1 AND number = $2");
const ALL: &str = select!("WHERE session = $1 AND number > $2 ORDER BY number LIMIT $3");
const IN_STATE: &str = select!("WHERE session = $1 AND number > $2 AND state = $3 ORDER BY number LIMIT $4");
const OF_TASK: &str = select!("WHERE session = $1 AND task = $2 AND number > $3 ORDER BY number LIMIT $4");
const OF_TASK_IN_STATE: &str =
    select!("WHERE session = $1 AND task = $2 AND number > $3 AND state = $4 ORDER BY number LIMIT $5");
const BEFORE: &str =
    select!("WHERE session = $1 AND task = $2 AND number < $3 ORDER BY number DESC LIMIT $4");
const LATEST: &str = select!("WHERE session = $1 AND task = $2 ORDER BY number DESC LIMIT $3");
const OPEN: &str = select!(
    "WHERE session = $1 AND number > $2 AND state IN ('awaiting_approval', 'in_flight') ORDER BY number LIMIT $3"
);
const UNKNOWN: &str =
    select!("WHERE session = $1 AND number > $2 AND state = 'unknown' ORDER BY number LIMIT $3");
pub(super) const REPEAT: &str = select!(
    "WHERE session = $1 AND repeats = $2 AND state NOT IN ('denied', 'expired', 'withdrawn', 'not_sent') ORDER BY number DESC LIMIT 1"
);
const COUNT_UNKNOWN: &str =
    "SELECT count(*) AS unknown FROM operations WHERE session = $1 AND state = 'unknown'
    AND turn = $2";
const COUNT_OPEN: &str = "SELECT count(*) AS open FROM operations
    WHERE session = $1 AND state IN ('awaiting_approval', 'in_flight')";

/// A short digest of which call it is: connection, tool and arguments. The connection counts by its name, so that one
/// that was removed and added again does not forget what may have happened there.
#[must_use]
pub fn call_key(connection: &str, tool: &str, digest: &str) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new();
    for part in [connection, tool, digest] {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    let mut key = [0; 16];
    hasher.finalize_xof().fill(&mut key);
    key
}

impl JournalReader {
    /// The operation with this id.
    ///
    /// # Errors
    /// The store's, [`StoreError::Corrupt`], and [`StoreError::Misuse`] for an operation of another session.
    pub async fn operation(&self, id: OperationId) -> Result<Option<Operation>, StoreError> {
        let values = params![self.key.clone(), number(self.session, id)?];
        read::first(&self.db.fetch(ONE, values).await?, decode)
    }

    /// Operations in request order, after number `after`; of one task and in one state, where those are given.
    ///
    /// # Errors
    /// The store's.
    pub async fn operations(
        &self,
        task: Option<TaskId>,
        state: Option<OperationStateWord>,
        after: i64,
        limit: u32,
    ) -> Result<Page<Operation, i64>, StoreError> {
        let (key, most) = (self.key.clone(), one_more(limit));
        let rows = match (task, state) {
            (None, None) => self.db.fetch(ALL, params![key, after, most]).await?,
            (None, Some(OperationStateWord::Unknown)) => {
                self.db.fetch(UNKNOWN, params![key, after, most]).await?
            }
            (None, Some(state)) => self.db.fetch(IN_STATE, params![key, after, state, most]).await?,
            (Some(task), None) => self.db.fetch(OF_TASK, params![key, task, after, most]).await?,
            (Some(task), Some(state)) => {
                self.db.fetch(OF_TASK_IN_STATE, params![key, task, after, state, most]).await?
            }
        };
        Page::read(&rows, limit, decode, |row| row.int("number"))
    }

    /// The last operations of a task, the latest first; rows that cannot be read are left out.
    ///
    /// # Errors
    /// The store's.
    pub async fn latest_operations(&self, task: TaskId, limit: u32) -> Result<Vec<Operation>, StoreError> {
        let rows = self.db.fetch(LATEST, params![self.key.clone(), task, i64::from(limit)]).await?;
        Ok(rows.iter().filter_map(|row| decode(row).ok()).collect())
    }

    /// The operations of a task before number `before`, in request order, the last `limit` of them. `next` is the number
    /// that still earlier ones come before, if there are any.
    ///
    /// # Errors
    /// The store's.
    pub async fn operations_before(
        &self,
        task: TaskId,
        before: i64,
        limit: u32,
    ) -> Result<Page<Operation, i64>, StoreError> {
        let values = params![self.key.clone(), task, before, one_more(limit)];
        let rows = self.db.fetch(BEFORE, values).await?;
        let mut page = Page::read(&rows, limit, decode, |row| row.int("number"))?;
        page.items.reverse();
        Ok(page)
    }

    /// Operations that wait for leave or are in flight, after number `after`. Does not grow with history.
    ///
    /// # Errors
    /// The store's.
    pub async fn open_operations(&self, after: i64, limit: u32) -> Result<Page<Operation, i64>, StoreError> {
        let rows = self.db.fetch(OPEN, params![self.key.clone(), after, one_more(limit)]).await?;
        Page::read(&rows, limit, decode, |row| row.int("number"))
    }

    /// How many operations wait for leave or are in flight.
    ///
    /// # Errors
    /// The store's.
    pub async fn open_count(&self) -> Result<u64, StoreError> {
        let rows = self.db.glance(COUNT_OPEN, params![self.key.clone()]).await?;
        rows.first().map_or(Ok(0), |row| row.number("open"))
    }

    /// How many operations of a turn are unknown.
    ///
    /// # Errors
    /// The store's.
    pub async fn unknown_count(&self, turn: mate_model::TurnId) -> Result<u64, StoreError> {
        let rows = self.db.fetch(COUNT_UNKNOWN, params![self.key.clone(), turn]).await?;
        rows.first().map_or(Ok(0), |row| row.number("unknown"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Database, JOURNAL_SCHEMA, SqliteDatabase, SqliteOptions, Value};

    /// Without its numbers the planner walks through the whole session: slow, and slower with each operation.
    #[tokio::test]
    async fn g11_what_is_asked_of_operations_does_not_walk_through_history() {
        let folder = tempfile::tempdir().unwrap();
        let db =
            SqliteDatabase::open(&folder.path().join("journal.db"), SqliteOptions::JOURNAL).await.unwrap();
        db.migrate(&JOURNAL_SCHEMA).await.unwrap();
        for (sql, index) in [
            (OPEN, "INDEX operations_open (session=? AND number>?)"),
            (COUNT_OPEN, "INDEX operations_open (session=?)"),
            (UNKNOWN, "INDEX operations_unknown (session=? AND number>?)"),
            (COUNT_UNKNOWN, "INDEX operations_unknown (session=?)"),
            (OF_TASK, "INDEX operations_of_task (session=? AND task=? AND number>?)"),
            (ONE, "INTEGER PRIMARY KEY (rowid=?)"),
        ] {
            let explain: &'static str = Box::leak(format!("EXPLAIN QUERY PLAN {sql}").into_boxed_str());
            let values = (1..=5).filter(|n| sql.contains(&format!("${n}"))).map(|_| Value::Null).collect();
            let plan = db.fetch(explain, values).await.unwrap();
            let steps: Vec<_> = plan.iter().map(|row| row.text("detail").unwrap()).collect();
            assert!(steps.iter().any(|step| step.ends_with(index)), "{sql}\n{steps:?}");
        }
    }
}
