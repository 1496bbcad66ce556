//! The port: five calls that both engines answer alike.
//!
//! # The SQL that may be written
//!
//! * Types BIGINT, TEXT, BYTEA/BLOB; times are microseconds UTC; JSON is TEXT; no `now()`.
//! * Parameters `$1`, `$2`, ... each number used at least once, none missing.
//! * No `RETURNING`: a script answers counts; ids and times are made by the caller.
//! * `count(*)` is BIGINT on both; write `CAST(sum(x) AS BIGINT)`. No arithmetic on a bare parameter:
//!   `CAST($1 AS BIGINT) + 1`.
//! * Order by text only on columns that the migration declares with byte order (`COLLATE "C"` on PostgreSQL).
//! * No deferred constraints.
//!
//! # What makes a guard sound
//!
//! On SQLite a script is alone. On PostgreSQL it runs READ COMMITTED beside others, so a guard must be a *write*
//! to the row that it judges (`UPDATE projects SET version = version WHERE id = $1 AND version = $2`, expecting
//! one row): the write locks the row until the commit. A condition on another table's row inside
//! `WHERE EXISTS (...)` locks nothing and guards nothing.

use crate::{Doorbell, Row, Schema, SchemaState, StoreError, Value};
use async_trait::async_trait;

/// The most rows that one fetch brings; ask page by page.
pub const MAX_ROWS: usize = 10_000;

/// The most statements in one script.
pub const MAX_SCRIPT: usize = 1_000;

/// Which engine is behind the port. For messages and tests; no statement depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// A SQLite file on this machine.
    Sqlite,
    /// A PostgreSQL server.
    Postgres,
}

/// How many rows a statement of a script must change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// Any number, none included.
    Any,
    /// Exactly this many; otherwise the whole script is rolled back.
    Exactly(u64),
}

/// One write with its parameters and the number of rows it must change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// The SQL text, with `$1`-style parameters.
    pub sql: &'static str,
    /// The parameters, in order of their numbers.
    pub params: Vec<Value>,
    /// The guard.
    pub expect: Expect,
}

impl Statement {
    /// A write that may change any number of rows.
    #[must_use]
    pub const fn any(sql: &'static str, params: Vec<Value>) -> Self {
        Self { sql, params, expect: Expect::Any }
    }

    /// A write that must change exactly one row.
    #[must_use]
    pub const fn one(sql: &'static str, params: Vec<Value>) -> Self {
        Self::exactly(1, sql, params)
    }

    /// A write that must change exactly `rows` rows.
    #[must_use]
    pub const fn exactly(rows: u64, sql: &'static str, params: Vec<Value>) -> Self {
        Self { sql, params, expect: Expect::Exactly(rows) }
    }

    /// The guard's verdict on the number of rows that this statement, the `index`th of its script, changed.
    pub(crate) const fn judge(&self, index: usize, changed: u64) -> Result<u64, StoreError> {
        match self.expect {
            Expect::Exactly(expected) if expected != changed => {
                Err(StoreError::Guard { statement: index, expected, changed })
            }
            Expect::Any | Expect::Exactly(_) => Ok(changed),
        }
    }
}

/// A store. Every call is bounded in time; a call that is dropped may or may not have taken place.
#[async_trait]
pub trait Database: Send + Sync + std::fmt::Debug {
    /// Which engine this is.
    fn engine(&self) -> Engine;

    /// Runs one write; durable when this returns. Answers the number of rows changed.
    ///
    /// # Errors
    /// Any [`StoreError`]; nothing was written unless it says that it may have been.
    async fn execute(&self, statement: Statement) -> Result<u64, StoreError>;

    /// Reads rows, at most [`MAX_ROWS`], in a snapshot that holds every write acknowledged before the call.
    ///
    /// # Errors
    /// [`StoreError::TooManyRows`], [`StoreError::Corrupt`] for a column of a type that no row of ours has,
    /// [`StoreError::Misuse`] for a statement that would write, and the engine's failures.
    async fn fetch(&self, sql: &'static str, params: Vec<Value>) -> Result<Vec<Row>, StoreError>;

    /// As [`Database::fetch`], for a read on a hot path that finds a few rows through an index: a hand-over to another
    /// thread would cost more than the read. An engine may answer on the caller's thread, within a bounded effort.
    ///
    /// # Errors
    /// As [`Database::fetch`].
    async fn glance(&self, sql: &'static str, params: Vec<Value>) -> Result<Vec<Row>, StoreError> {
        self.fetch(sql, params).await
    }

    /// Runs all the statements or none; durable when this returns. Answers the rows that each changed.
    ///
    /// # Errors
    /// [`StoreError::Guard`] when a statement changed another number of rows than expected, and the others.
    /// Nothing was written unless the error says that it may have been ([`StoreError::maybe_committed`]).
    async fn script(&self, statements: Vec<Statement>) -> Result<Vec<u64>, StoreError>;

    /// Brings the schema up to date, one transaction for each migration. Safe when many open at once.
    ///
    /// # Errors
    /// [`StoreError::SchemaTooNew`], [`StoreError::SchemaChanged`], and what the engine reports of a migration
    /// (which is then not applied).
    async fn migrate(&self, schema: &Schema) -> Result<SchemaState, StoreError>;

    /// Hears the bell of `channel` from now on. A hint only: a ring can be lost.
    ///
    /// # Errors
    /// [`StoreError::Misuse`] when `channel` is not 1 to 63 of `a-z`, `0-9` and `_`.
    async fn listen(&self, channel: &str) -> Result<Doorbell, StoreError>;

    /// Rings the bell of `channel`. On SQLite only this process hears it.
    ///
    /// # Errors
    /// As [`Database::listen`], and when the server cannot be reached.
    async fn ring(&self, channel: &str) -> Result<(), StoreError>;
}

/// What both drivers ask of a script before they start it.
pub(crate) fn check_script(statements: &[Statement]) -> Result<(), StoreError> {
    if statements.len() > MAX_SCRIPT {
        return Err(StoreError::Misuse(format!("a script of more than {MAX_SCRIPT} statements")));
    }
    statements.iter().try_for_each(|statement| crate::value::check_params(&statement.params))
}

/// The answer to an `execute`, from that of a script of one statement.
pub(crate) fn only_count(counts: &[u64]) -> Result<u64, StoreError> {
    counts.first().copied().ok_or_else(|| StoreError::Other("a script of one answered nothing".to_owned()))
}
