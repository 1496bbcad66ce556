//! Connections: configured links to upstream MCP servers, with their sealed secrets.

use super::{Ledger, LedgerError};
use crate::{
    Row, Statement, StoreError, decode,
    page::Page,
    params::{json, one_more, params},
};
use mate_model::{ConnectionId, Micros, records::Connection};

const ADD: &str = "INSERT INTO connections (id, name, reach, settings, sealed, created_at, removed_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7)";
const BY_ID: &str =
    "SELECT id, name, reach, settings, sealed, created_at, removed_at FROM connections WHERE id = $1";
const BY_NAME: &str = "SELECT id, name, reach, settings, sealed, created_at, removed_at FROM connections
    WHERE name = $1 AND removed_at IS NULL";
const LIST: &str = "SELECT id, name, reach, settings, sealed, created_at, removed_at FROM connections
    WHERE removed_at IS NULL AND id > $1 ORDER BY id LIMIT $2";
const RESEAL: &str = "UPDATE connections SET sealed = $2, settings = $3
    WHERE id = $1 AND removed_at IS NULL AND sealed IS NOT DISTINCT FROM $4";
const NO_TOKENS: &str = "DELETE FROM authorizations WHERE connection = $1";
const REMOVE: &str =
    "UPDATE connections SET removed_at = $2, sealed = NULL WHERE id = $1 AND removed_at IS NULL";

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

    /// Replaces a connection's sealed secrets, and the settings that name them, if they are still `before`.
    ///
    /// # Errors
    /// [`LedgerError::NotFound`] when there is none, or somebody else was faster; and the store's.
    pub async fn reseal_connection(
        &self,
        connection: &Connection,
        before: Option<&[u8]>,
    ) -> Result<(), LedgerError> {
        let before = before.map(<[u8]>::to_vec);
        let values = params![connection.id, connection.sealed.clone(), json(&connection.settings)?, before];
        let resealed = self.authorise(vec![Statement::one(RESEAL, values)]).await;
        resealed.map_err(|refused| refused.changing("connection"))
    }

    /// Removes a connection and its secrets: its name is free, its operations keep knowing it.
    ///
    /// # Errors
    /// [`LedgerError::NotFound`] when there is none, and the store's.
    pub async fn remove_connection(&self, id: ConnectionId, at: Micros) -> Result<(), LedgerError> {
        let script = vec![Statement::one(REMOVE, params![id, at]), Statement::any(NO_TOKENS, params![id])];
        let removed = self.authorise(script).await;
        removed.map_err(|refused| refused.changing("connection"))
    }
}
