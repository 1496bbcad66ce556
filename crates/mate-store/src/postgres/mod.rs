//! The PostgreSQL driver: a pool of connections, pipelined scripts, and one connection that hears doorbells.

mod connect;
mod failure;
mod listener;
mod migrate;
mod pipeline;
mod query;
mod script;
mod value;

pub use connect::reached_in_clear;

use crate::{
    Database, Doorbell, Engine, Row, Schema, SchemaState, Statement, StoreError, Value,
    bell::{Bells, check_channel},
    port::{check_script, only_count},
    value::check_params,
};
use async_trait::async_trait;
use deadpool_postgres::{Object, Pool};
use listener::Listener;
use std::{sync::Arc, time::Duration};

/// How long a call may take altogether, once it has a connection.
const PATIENCE: Duration = Duration::from_secs(60);

/// What may be chosen for one server.
#[derive(Clone, Copy, Debug)]
pub struct PostgresOptions {
    /// The most connections of this process, besides the one that hears doorbells.
    pub connections: usize,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self { connections: 8 }
    }
}

/// A database on a PostgreSQL server.
pub struct PostgresDatabase {
    pool: Pool,
    bells: Arc<Bells>,
    listener: Listener,
}

/// Shows no address: it may hold a password.
impl std::fmt::Debug for PostgresDatabase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PostgresDatabase").finish_non_exhaustive()
    }
}

impl PostgresDatabase {
    /// Connects to the database at `url` (`postgresql://user@host/database`), and checks that it can be used.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when it cannot be reached; [`StoreError::Other`] when the URL is not one, asks
    /// for TLS (not built in yet), or the server is too old or not UTF-8. The URL is never part of an error.
    pub async fn open(url: &str, options: PostgresOptions) -> Result<Self, StoreError> {
        let config = connect::config(url)?;
        let pool = connect::pool(config.clone(), options)?;
        let bells = Arc::new(Bells::default());
        let database = Self { pool, listener: Listener::start(config, Arc::clone(&bells)), bells };
        connect::check_server(&database.connection().await?).await?;
        Ok(database)
    }

    async fn connection(&self) -> Result<Object, StoreError> {
        connect::take(&self.pool).await
    }
}

#[async_trait]
impl Database for PostgresDatabase {
    fn engine(&self) -> Engine {
        Engine::Postgres
    }

    async fn execute(&self, statement: Statement) -> Result<u64, StoreError> {
        only_count(&self.script(vec![statement]).await?)
    }

    async fn fetch(&self, sql: &'static str, params: Vec<Value>) -> Result<Vec<Row>, StoreError> {
        check_params(&params)?;
        let connection = self.connection().await?;
        let answer = tokio::time::timeout(PATIENCE, query::fetch(&connection, sql, &params)).await;
        answer.unwrap_or_else(|_| Err(StoreError::Busy("it does not answer".to_owned())))
    }

    async fn script(&self, statements: Vec<Statement>) -> Result<Vec<u64>, StoreError> {
        check_script(&statements)?;
        let pool = self.pool.clone();
        undropped(async move { script::run(&pool, &statements).await }).await
    }

    async fn migrate(&self, schema: &Schema) -> Result<SchemaState, StoreError> {
        schema.check()?;
        let (pool, schema) = (self.pool.clone(), *schema);
        undropped(async move { migrate::run(&pool, &schema).await }).await
    }

    async fn listen(&self, channel: &str) -> Result<Doorbell, StoreError> {
        check_channel(channel)?;
        let (bell, fresh) = self.bells.listen(channel);
        if fresh {
            self.listener.hear(channel).await;
        }
        Ok(bell)
    }

    async fn ring(&self, channel: &str) -> Result<(), StoreError> {
        check_channel(channel)?;
        self.fetch("SELECT CAST(pg_notify($1, '') AS TEXT) AS rung", vec![channel.into()]).await.map(drop)
    }
}

/// Runs work on a task of its own, so that a caller who goes away leaves no open transaction in the pool.
async fn undropped<T: Send + 'static>(
    work: impl Future<Output = Result<T, StoreError>> + Send + 'static,
) -> Result<T, StoreError> {
    let done = tokio::spawn(work).await;
    done.unwrap_or_else(|why| {
        Err(StoreError::Unavailable { why: format!("the call ended early: {why}"), maybe_committed: true })
    })
}
