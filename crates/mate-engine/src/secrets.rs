//! A connection's secrets, opened for the worker that gives them to the upstream and to nobody else.

use crate::{Engine, EngineError, admit::granted};
use mate_guard::{Place, Secret};
use mate_model::{ConnectionId, ProjectId, records::Connection};
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The most connections of a project, and runtimes, whose secrets are looked for: the newest.
const MOST: u32 = 500;
/// A value that is passed on is taken for a secret from this length on.
const PASSED: usize = 8;

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

    /// All that must not be seen of a connection: its secrets, the former ones that are remembered, and its tokens.
    ///
    /// # Errors
    /// The ledger's; that they cannot be opened.
    pub async fn known_secrets(&self, connection: &Connection) -> Result<Vec<Secret>, EngineError> {
        let values =
            |opened: OpenedSecrets| opened.env.into_iter().chain(opened.headers).map(|(_, value)| value);
        let mut secrets: Vec<Secret> = values(self.open_secrets(connection)?).collect();
        for sealed in self.ledger.former_secrets(connection.id).await? {
            match self.open_secrets(&Connection { sealed: Some(sealed), ..connection.clone() }) {
                Ok(former) => secrets.extend(values(former)),
                // They are good for nothing any more: what is in force still hides.
                Err(error) => {
                    tracing::warn!(%error, connection = %connection.id, "former secrets cannot be opened")
                }
            }
        }
        secrets.extend(self.authorization_secrets(connection.id).await?);
        Ok(secrets)
    }

    /// All that must not be seen in what is written of a project: what is known of each connection that was ever granted
    /// to it, also where the grant or the connection is gone, and what the runtimes are passed on. `also`: of this
    /// connection too.
    ///
    /// # Errors
    /// The ledger's; that they cannot be opened.
    pub async fn project_secrets(
        &self,
        project: ProjectId,
        also: Option<ConnectionId>,
    ) -> Result<Vec<Secret>, EngineError> {
        let mut ids = self.ledger.ever_granted(project, MOST).await?;
        ids.extend(also.filter(|id| !ids.contains(id)));
        let mut secrets = self.passed_secrets().await?;
        for id in ids {
            if let Some(connection) = self.ledger.connection(id).await? {
                secrets.extend(self.known_secrets(&connection).await?);
            }
        }
        Ok(secrets)
    }

    /// The values of this process's environment that runtimes are passed on.
    async fn passed_secrets(&self) -> Result<Vec<Secret>, EngineError> {
        let mut names = BTreeSet::new();
        for runtime in self.ledger.runtimes(None, MOST).await?.items {
            let passed = runtime.registration["pass_env"].as_array().into_iter().flatten();
            names.extend(passed.filter_map(Value::as_str).map(str::to_owned));
        }
        let values = names.iter().filter_map(|name| std::env::var(name).ok());
        Ok(values.filter(|value| value.len() >= PASSED).map(Secret::from).collect())
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
        let clear = self.unseal(place, envelope).map_err(|error| wrong(error.to_string()))?;
        let sealed: Sealed = serde_json::from_slice(clear.expose())
            .map_err(|_| wrong("they are not what was sealed".to_owned()))?;
        let secret = |(name, value): (String, String)| (name, Secret::new(value.into_bytes()));
        Ok(OpenedSecrets {
            env: sealed.env.into_iter().map(secret).collect(),
            headers: sealed.headers.into_iter().map(secret).collect(),
        })
    }
}
