//! Looking at a connection as a session would use it, without a session.

use crate::{Engine, EngineError, Principal, Verb};
use async_trait::async_trait;
use mate_model::records::Connection;
use serde_json::Value;

/// Connects, lists, and says what is wrong; in a process and a container of its own.
#[async_trait]
pub trait Prober: Send + Sync {
    /// What was found out: `protocol`, `problem`, `notices`, `tools`, `said`. Bounded; holds no secret.
    ///
    /// # Errors
    /// That nothing could be found out at all.
    async fn probe(&self, connection: &Connection) -> Result<Value, EngineError>;
}

/// Looks at nothing.
#[derive(Clone, Copy, Debug)]
pub struct NoProber;

#[async_trait]
impl Prober for NoProber {
    async fn probe(&self, _connection: &Connection) -> Result<Value, EngineError> {
        Err(EngineError::refused("not_here", "connections cannot be looked at from here"))
    }
}

impl Engine {
    /// Looks at the connection with this name or id, as `verb` asks: what it is, and what was found out.
    ///
    /// # Errors
    /// [`EngineError::NotFound`], also for who may not see connections; the prober's.
    pub async fn check_connection(
        &self,
        who: &Principal,
        verb: Verb,
        name_or_id: &str,
        prober: &dyn Prober,
    ) -> Result<(Connection, Value), EngineError> {
        self.demand_here(who, verb).await?;
        let connection = self.connection(who, name_or_id).await?;
        let found = prober.probe(&connection).await?;
        Ok((connection, found))
    }
}
