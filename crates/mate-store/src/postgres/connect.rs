//! Reaching the server: the URL, the pool, and what each connection is set to.

use super::{PostgresOptions, failure::translate};
use crate::StoreError;
use deadpool_postgres::{
    Client, Hook, HookError, Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod, Runtime,
};
use std::{net::IpAddr, time::Duration};
use tokio_postgres::{
    Config, NoTls,
    config::{Host, SslMode},
};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const POOL_TIMEOUT: Duration = Duration::from_secs(10);
const OLDEST_SERVER: i32 = 140_000;

/// Reads do not write by accident; scripts say READ WRITE. Commits are durable whatever the server's default.
const SETTINGS: &str = "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED, READ ONLY;
    SET synchronous_commit = on; SET lock_timeout = '10s'; SET statement_timeout = '30s';
    SET idle_in_transaction_session_timeout = '60s'; SET standard_conforming_strings = on";

/// Reads a URL. No error repeats it: it may hold a password.
pub(super) fn config(url: &str) -> Result<Config, StoreError> {
    let refuse = |why: &str| Err(StoreError::Other(why.to_owned()));
    let Ok(mut config) = url.parse::<Config>() else {
        return refuse(
            "the database URL cannot be read: write postgresql://USER@HOST/DATABASE, with sslmode=disable or none",
        );
    };
    if config.get_ssl_mode() == SslMode::Require {
        return refuse(
            "the database URL asks for TLS, which this build does not speak: use a Unix socket or a tunnel",
        );
    }
    config.ssl_mode(SslMode::Disable);
    config.application_name("agent-mate");
    config.connect_timeout(CONNECT_TIMEOUT);
    config.tcp_user_timeout(Duration::from_secs(30));
    config.keepalives_idle(Duration::from_secs(30));
    Ok(config)
}

/// The hosts of a URL that are reached over a network: what goes to them goes in clear, since this build does not speak
/// TLS. Sockets and this machine's own addresses are not among them.
///
/// # Errors
/// That the URL cannot be used.
pub fn reached_in_clear(url: &str) -> Result<Vec<String>, StoreError> {
    let config = config(url)?;
    let far = config.get_hosts().iter().filter_map(|host| match host {
        Host::Tcp(name) => {
            let near = name == "localhost" || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
            (!near).then(|| name.clone())
        }
        Host::Unix(_) => None,
    });
    Ok(far.collect())
}

pub(super) fn pool(config: Config, options: PostgresOptions) -> Result<Pool, StoreError> {
    let manager =
        Manager::from_config(config, NoTls, ManagerConfig { recycling_method: RecyclingMethod::Fast });
    Pool::builder(manager)
        .max_size(options.connections.max(1))
        .wait_timeout(Some(POOL_TIMEOUT))
        .create_timeout(Some(POOL_TIMEOUT))
        .recycle_timeout(Some(POOL_TIMEOUT))
        .runtime(Runtime::Tokio1)
        .post_create(Hook::async_fn(|client, _| {
            Box::pin(async move { client.batch_execute(SETTINGS).await.map_err(HookError::Backend) })
        }))
        .build()
        .map_err(|why| StoreError::Other(format!("no pool of connections: {why}")))
}

/// A connection from the pool. Nothing was sent yet when this fails.
pub(super) async fn take(pool: &Pool) -> Result<Object, StoreError> {
    let gone = |why: String| StoreError::Unavailable { why, maybe_committed: false };
    pool.get().await.map_err(|why| match why {
        PoolError::Timeout(deadpool_postgres::TimeoutType::Wait) => {
            StoreError::Busy("all connections are in use".to_owned())
        }
        PoolError::Backend(why) | PoolError::PostCreateHook(HookError::Backend(why)) => {
            let error = translate(&why);
            let plain = matches!(error, StoreError::Busy(_) | StoreError::Unavailable { .. });
            if plain { error } else { gone(error.to_string()) }
        }
        other @ (PoolError::Timeout(_)
        | PoolError::Closed
        | PoolError::NoRuntimeSpecified
        | PoolError::PostCreateHook(HookError::Message(_))) => gone(other.to_string()),
    })
}

/// Refuses a server that cannot hold what this program writes.
pub(super) async fn check_server(client: &Client) -> Result<(), StoreError> {
    let ask = "SELECT current_setting('server_version_num')::int, current_setting('server_encoding')";
    let row = client.query_one(ask, &[]).await.map_err(|why| translate(&why))?;
    let read = |why: tokio_postgres::Error| StoreError::Other(why.to_string());
    let version: i32 = row.try_get(0).map_err(read)?;
    let encoding: String = row.try_get(1).map_err(read)?;
    if version < OLDEST_SERVER {
        return Err(StoreError::Other(format!(
            "PostgreSQL {} is too old: use 14 or later",
            version / 10_000
        )));
    }
    if encoding != "UTF8" {
        return Err(StoreError::Other(format!(
            "the database is in {encoding}: make one with ENCODING 'UTF8'"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g09_a_host_beyond_this_machine_is_named_as_reached_in_clear() {
        let of = |url: &str| reached_in_clear(url).expect("a URL");
        assert_eq!(of("postgresql://mate@db.example/x?sslmode=prefer"), ["db.example"]);
        assert_eq!(of("postgresql://mate@10.0.0.7:5432/x"), ["10.0.0.7"]);
        assert!(of("postgresql://mate@localhost/x").is_empty());
        assert!(of("postgresql://mate@127.0.0.1:40000/x").is_empty());
        assert!(of("postgresql:///x?host=/run/postgresql").is_empty());
        assert!(reached_in_clear("postgresql://mate@db.example/x?sslmode=require").is_err());
    }
}
