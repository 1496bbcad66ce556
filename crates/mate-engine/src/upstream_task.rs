//! The ids of upstreams' tasks, sealed: an id may be all that it takes to fetch a result.

use crate::{Engine, EngineError};
use mate_guard::{Place, Vault};
use mate_model::{ConnectionId, OperationId, SessionId};

const TABLE: &str = "upstream_tasks";
const COLUMN: &str = "sealed";

/// Seals an id as the upstream gave it.
pub(crate) fn seal(
    engine: &Engine,
    vault: &Vault,
    operation: OperationId,
    id: &str,
) -> Result<Vec<u8>, EngineError> {
    let place = operation.to_string();
    let place = Place { table: TABLE, id: &place, column: COLUMN };
    let sealed = vault.seal(place, id.as_bytes(), engine.entropy.as_ref());
    sealed.map_err(|error| EngineError::Internal(error.to_string()))
}

impl Engine {
    /// By which an id of a connection's is known again, without telling it.
    pub(crate) fn upstream_task_digest(
        &self,
        session: SessionId,
        connection: Option<ConnectionId>,
        id: &str,
    ) -> [u8; 32] {
        let connection = connection.map(|connection| connection.to_string()).unwrap_or_default();
        let context = format!("{session}/{connection}/{id}");
        *self.key.derive("upstream task", context.as_bytes()).expose()
    }

    /// The vault of a session.
    pub(crate) fn session_vault(&self, session: SessionId) -> Vault {
        Vault::new(&self.key.derive("session", session.to_string().as_bytes()))
    }

    /// Opens an id that was sealed.
    ///
    /// # Errors
    /// That it is not what was sealed here.
    pub(crate) fn open_upstream_task(
        &self,
        operation: OperationId,
        sealed: &[u8],
    ) -> Result<String, EngineError> {
        let place = operation.to_string();
        let place = Place { table: TABLE, id: &place, column: COLUMN };
        let broken =
            |why: String| EngineError::Internal(format!("the upstream's task of {operation}: {why}"));
        let id = self.session_vault(operation.session).open(place, sealed);
        let id = id.map_err(|error| broken(error.to_string()))?;
        id.expose_text().map(str::to_owned).ok_or_else(|| broken("its id is not text".to_owned()))
    }
}
