//! Connections: configured links to upstream MCP servers, with their sealed secrets.

use super::{Ledger, LedgerError};
use crate::{
    Row, Statement, StoreError, decode,
    page::Page,
    params::{json, one_more, params},
};
use mate_model::{ConnectionId, Micros, ProjectId, records::Connection};

const ADD: &str = "INSERT INTO connections (id, name, reach, settings, sealed, created_at, removed_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7)";
const BY_ID: &str =
    "SELECT id, name, reach, settings, sealed, created_at, removed_at FROM connections WHERE id = $1";
const BY_NAME: &str = "SELECT id, name, reach, settings, sealed, created_at, removed_at FROM connections
    WHERE name = $1 AND removed_at IS NULL";
const LIST: &str = "SELECT id, name, reach, settings, sealed, created_at, removed_at FROM connections
    WHERE removed_at IS NULL AND id > $1 ORDER BY id LIMIT $2";
const CHANGE: &str = "UPDATE connections SET sealed = $2, settings = $3
    WHERE id = $1 AND removed_at IS NULL AND sealed IS NOT DISTINCT FROM $4 AND settings = $5";
const NO_TOKENS: &str = "DELETE FROM authorizations WHERE connection = $1";
const REMOVE: &str =
    "UPDATE connections SET removed_at = $2, sealed = NULL WHERE id = $1 AND removed_at IS NULL";

/// So many former secrets of a connection are remembered, sealed, to hide them only.
const FORMER: i64 = 8;
const REMEMBER: &str = "INSERT INTO former_secrets (connection, number, sealed)
    VALUES ($1, COALESCE((SELECT MAX(number) FROM former_secrets WHERE connection = $1), 0) + 1, $2)";
const REMEMBER_LAST: &str = "INSERT INTO former_secrets (connection, number, sealed)
    SELECT c.id, COALESCE((SELECT MAX(f.number) FROM former_secrets f WHERE f.connection = $1), 0) + 1, c.sealed
    FROM connections c WHERE c.id = $1 AND c.removed_at IS NULL AND c.sealed IS NOT NULL";
const FORGET: &str = "DELETE FROM former_secrets WHERE connection = $1
    AND number <= (SELECT MAX(f.number) FROM former_secrets f WHERE f.connection = $1) - $2";
const REMEMBERED: &str = "SELECT sealed FROM former_secrets WHERE connection = $1 ORDER BY number";
const EVER_GRANTED: &str = "SELECT DISTINCT connection FROM grants WHERE project = $1
    ORDER BY connection DESC LIMIT $2";

fn decode(row: &Row) -> Result<Connection, StoreError> {
    Ok(Connection {
        id: row.parse("id")?,
        name: row.text("name")?.to_owned(),
        reach: decode::json(row, "reach")?,
        settings: decode::json(row, "settings")?,
        sealed: row.opt_blob("sealed")?.map(<[u8]>::to_vec),
        created_at: decode::micros(row, "created_at")?,
        removed_at: decode::opt_micros(row, "removed_at")?,
    })
}

impl Ledger {
    /// Adds a connection.
    ///
    /// # Errors
    /// [`LedgerError::Taken`] when the name is used, and the store's.
    pub async fn add_connection(&self, connection: &Connection) -> Result<(), LedgerError> {
        let values = params![
            connection.id,
            connection.name.as_str(),
            json(&connection.reach)?,
            json(&connection.settings)?,
            connection.sealed.clone(),
            connection.created_at,
            connection.removed_at,
        ];
        let added = self.authorise(vec![Statement::one(ADD, values)]).await;
        added.map_err(|refused| refused.adding("connection", "connection"))
    }

    /// The connection with this id, removed or not.
    ///
    /// # Errors
    /// The store's, and [`StoreError::Corrupt`].
    pub async fn connection(&self, id: ConnectionId) -> Result<Option<Connection>, StoreError> {
        decode::first(&self.db.fetch(BY_ID, params![id]).await?, decode)
    }

    /// The connection with this name that is not removed.
    ///
    /// # Errors
    /// The store's, and [`StoreError::Corrupt`].
    pub async fn connection_by_name(&self, name: &str) -> Result<Option<Connection>, StoreError> {
        decode::first(&self.db.fetch(BY_NAME, params![name]).await?, decode)
    }

    /// Connections by age, without the removed ones.
    ///
    /// # Errors
    /// The store's.
    pub async fn connections(
        &self,
        after: Option<ConnectionId>,
        limit: u32,
    ) -> Result<Page<Connection, ConnectionId>, StoreError> {
        let after = after.map_or_else(String::new, |id| id.to_string());
        let rows = self.db.fetch(LIST, params![after, one_more(limit)]).await?;
        Page::read(&rows, limit, decode, |row| row.parse("id"))
    }

    /// Replaces a connection's sealed secrets and its settings, if they are still those of `before`.
    ///
    /// # Errors
    /// [`LedgerError::NotFound`] when there is none, or somebody else was faster; and the store's.
    pub async fn change_connection(
        &self,
        connection: &Connection,
        before: &Connection,
    ) -> Result<(), LedgerError> {
        let values = params![
            connection.id,
            connection.sealed.clone(),
            json(&connection.settings)?,
            before.sealed.clone(),
            json(&before.settings)?,
        ];
        let mut script = vec![Statement::one(CHANGE, values)];
        if let Some(former) = before.sealed.clone().filter(|_| before.sealed != connection.sealed) {
            script.push(Statement::one(REMEMBER, params![connection.id, former]));
            script.push(Statement::any(FORGET, params![connection.id, FORMER]));
        }
        let changed = self.authorise(script).await;
        changed.map_err(|refused| refused.changing("connection"))
    }

    /// Removes a connection and its secrets: its name is free, its operations keep knowing it.
    ///
    /// # Errors
    /// [`LedgerError::NotFound`] when there is none, and the store's.
    pub async fn remove_connection(&self, id: ConnectionId, at: Micros) -> Result<(), LedgerError> {
        let script = vec![
            Statement::any(REMEMBER_LAST, params![id]),
            Statement::any(FORGET, params![id, FORMER]),
            Statement::one(REMOVE, params![id, at]),
            Statement::any(NO_TOKENS, params![id]),
        ];
        let removed = self.authorise(script).await;
        removed.map_err(|refused| refused.changing("connection"))
    }

    /// What a connection's secrets were before, sealed, oldest first: good for nothing but to be hidden.
    ///
    /// # Errors
    /// The store's, and [`StoreError::Corrupt`].
    pub async fn former_secrets(&self, id: ConnectionId) -> Result<Vec<Vec<u8>>, StoreError> {
        let rows = self.db.fetch(REMEMBERED, params![id]).await?;
        rows.iter().map(|row| Ok(row.blob("sealed")?.to_vec())).collect()
    }

    /// The connections of which something is or was granted to a project, the newest first, removed ones too.
    ///
    /// # Errors
    /// The store's, and [`StoreError::Corrupt`].
    pub async fn ever_granted(
        &self,
        project: ProjectId,
        limit: u32,
    ) -> Result<Vec<ConnectionId>, StoreError> {
        let rows = self.db.fetch(EVER_GRANTED, params![project, i64::from(limit)]).await?;
        rows.iter().map(|row| row.parse("connection")).collect()
    }
}
