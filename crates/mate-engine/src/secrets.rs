//! A connection's secrets, opened for the worker that gives them to the upstream and to nobody else.

use crate::{Engine, EngineError, admit::granted};
use mate_guard::{Place, Secret};
use mate_model::{ProjectId, records::Connection};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Opened secrets.
#[derive(Default)]
pub struct OpenedSecrets {
    /// Environment variables of the upstream's process.
    pub env: Vec<(String, Secret)>,
    /// Headers sent to the upstream.
    pub headers: Vec<(String, Secret)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sealed {
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
}

impl Engine {
    /// The connections that a project's grants in force name.
    ///
    /// # Errors
    /// The ledger's.
    pub async fn granted_connections(&self, project: ProjectId) -> Result<Vec<Connection>, EngineError> {
        let (_, connections) = granted(&self.ledger, project).await?;
        Ok(connections.into_iter().filter(|connection| connection.removed_at.is_none()).collect())
    }

    /// Opens a connection's secrets.
    ///
    /// # Errors
    /// That they were sealed with another key, or are damaged.
    pub fn open_secrets(&self, connection: &Connection) -> Result<OpenedSecrets, EngineError> {
        let Some(envelope) = &connection.sealed else { return Ok(OpenedSecrets::default()) };
        let id = connection.id.to_string();
        let place = Place { table: "connections", id: &id, column: "sealed" };
        let wrong = |why: String| EngineError::Internal(format!("the secrets of {}: {why}", connection.name));
        let clear = self.vault.open(place, envelope).map_err(|error| wrong(error.to_string()))?;
        let sealed: Sealed = serde_json::from_slice(clear.expose())
            .map_err(|_| wrong("they are not what was sealed".to_owned()))?;
        let secret = |(name, value): (String, String)| (name, Secret::new(value.into_bytes()));
        Ok(OpenedSecrets {
            env: sealed.env.into_iter().map(secret).collect(),
            headers: sealed.headers.into_iter().map(secret).collect(),
        })
    }
}
