//! Runtimes: agent programs, and how to launch them.

use super::{Ledger, LedgerError};
use crate::{
    Row, Statement, StoreError, decode,
    page::Page,
    params::{json, one_more, params},
};
use mate_model::{Micros, RuntimeId, records::Runtime};

const ADD: &str =
    "INSERT INTO runtimes (id, name, registration, created_at, removed_at, quiet_seconds, deadline_seconds)
    VALUES ($1, $2, $3, $4, $5, $6, $7)";
const BY_ID: &str = "SELECT id, name, registration, created_at, removed_at, quiet_seconds, deadline_seconds FROM runtimes WHERE id = $1";
const BY_NAME: &str =
    "SELECT id, name, registration, created_at, removed_at, quiet_seconds, deadline_seconds FROM runtimes
    WHERE name = $1 AND removed_at IS NULL";
const LIST: &str =
    "SELECT id, name, registration, created_at, removed_at, quiet_seconds, deadline_seconds FROM runtimes
    WHERE removed_at IS NULL AND id > $1 ORDER BY id LIMIT $2";
const REMOVE: &str = "UPDATE runtimes SET removed_at = $2 WHERE id = $1 AND removed_at IS NULL";

fn decode(row: &Row) -> Result<Runtime, StoreError> {
    Ok(Runtime {
        id: row.parse("id")?,
        name: row.text("name")?.to_owned(),
        registration: decode::json(row, "registration")?,
        quiet_seconds: decode::opt_seconds(row, "quiet_seconds")?,
        deadline_seconds: decode::opt_seconds(row, "deadline_seconds")?,
        created_at: decode::micros(row, "created_at")?,
        removed_at: decode::opt_micros(row, "removed_at")?,
    })
}

impl Ledger {
    /// Adds a runtime.
    ///
    /// # Errors
    /// [`LedgerError::Taken`] when the name is used, and the store's.
    pub async fn add_runtime(&self, runtime: &Runtime) -> Result<(), LedgerError> {
        let values = params![
            runtime.id,
            runtime.name.as_str(),
            json(&runtime.registration)?,
            runtime.created_at,
            runtime.removed_at,
            runtime.quiet_seconds.map(i64::from),
            runtime.deadline_seconds.map(i64::from),
        ];
        let added = self.write(vec![Statement::one(ADD, values)]).await;
        added.map_err(|refused| refused.adding("runtime", "runtime"))
    }

    /// The runtime with this id, removed or not.
    ///
    /// # Errors
    /// The store's, and [`StoreError::Corrupt`].
    pub async fn runtime(&self, id: RuntimeId) -> Result<Option<Runtime>, StoreError> {
        decode::first(&self.db.fetch(BY_ID, params![id]).await?, decode)
    }

    /// The runtime with this name that is not removed.
    ///
    /// # Errors
    /// The store's, and [`StoreError::Corrupt`].
    pub async fn runtime_by_name(&self, name: &str) -> Result<Option<Runtime>, StoreError> {
        decode::first(&self.db.fetch(BY_NAME, params![name]).await?, decode)
    }

    /// Runtimes by age, without the removed ones.
    ///
    /// # Errors
    /// The store's.
    pub async fn runtimes(
        &self,
        after: Option<RuntimeId>,
        limit: u32,
    ) -> Result<Page<Runtime, RuntimeId>, StoreError> {
        let after = after.map_or_else(String::new, |id| id.to_string());
        let rows = self.db.fetch(LIST, params![after, one_more(limit)]).await?;
        Page::read(&rows, limit, decode, |row| row.parse("id"))
    }

    /// Removes a runtime: its name is free, its sessions keep knowing it.
    ///
    /// # Errors
    /// [`LedgerError::NotFound`] when there is none, and the store's.
    pub async fn remove_runtime(&self, id: RuntimeId, at: Micros) -> Result<(), LedgerError> {
        let removed = self.write(vec![Statement::one(REMOVE, params![id, at])]).await;
        removed.map_err(|refused| refused.changing("runtime"))
    }
}
