//! A store of either engine with a small schema of its own.

use mate_store::{
    Database, Migration, Schema, Statement, Value,
    postgres::{PostgresDatabase, PostgresOptions},
    sqlite::{SqliteDatabase, SqliteOptions},
};
use mate_testkit::postgres::TestDatabase;
use std::{path::Path, sync::Arc};
use tempfile::TempDir;

/// A store and what it stands on.
pub(crate) struct Store {
    pub(crate) db: Arc<dyn Database>,
    _keep: Keep,
}

#[expect(dead_code, reason = "kept for what its drop does")]
enum Keep {
    Folder(TempDir),
    Database(TestDatabase),
}

pub(crate) async fn bare_sqlite() -> Store {
    let folder = tempfile::tempdir().expect("a folder");
    let db = open_file(&folder.path().join("store.db")).await;
    Store { db: Arc::new(db), _keep: Keep::Folder(folder) }
}

pub(crate) async fn bare_postgres() -> Store {
    let database = tokio::task::spawn_blocking(TestDatabase::fresh).await.expect("a database");
    let db = PostgresDatabase::open(&database.url, PostgresOptions::default()).await.expect("the server");
    Store { db: Arc::new(db), _keep: Keep::Database(database) }
}

pub(crate) async fn sqlite() -> Store {
    let store = bare_sqlite().await;
    store.db.migrate(&SCHEMA).await.expect("the schema");
    store
}

pub(crate) async fn postgres() -> Store {
    let store = bare_postgres().await;
    store.db.migrate(&SCHEMA).await.expect("the schema");
    store
}

pub(crate) async fn open_file(path: &Path) -> SqliteDatabase {
    SqliteDatabase::open(path, SqliteOptions::default()).await.expect("the file")
}

/// Defines each named test for both engines.
macro_rules! on_both {
    ($sqlite:path, $postgres:path: $($name:ident),* $(,)?) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name($sqlite().await).await;
            })*
        }
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name($postgres().await).await;
            })*
        }
    };
}
pub(crate) use on_both;

pub(crate) const FIRST: Migration = Migration {
    number: 1,
    name: "boxes",
    sqlite: "CREATE TABLE boxes (id TEXT PRIMARY KEY, n BIGINT NOT NULL CHECK (n >= 0), label TEXT UNIQUE, data BLOB);
             CREATE TABLE things (id TEXT PRIMARY KEY, box TEXT NOT NULL REFERENCES boxes (id));",
    postgres: "CREATE TABLE boxes (id TEXT COLLATE \"C\" PRIMARY KEY, n BIGINT NOT NULL CHECK (n >= 0), label TEXT UNIQUE, data BYTEA);
             CREATE TABLE things (id TEXT COLLATE \"C\" PRIMARY KEY, box TEXT NOT NULL REFERENCES boxes (id));",
    oldest_reader: 1,
};

pub(crate) static SCHEMA: Schema = Schema { name: "test", migrations: &[FIRST] };

pub(crate) const INSERT: &str = "INSERT INTO boxes (id, n, label, data) VALUES ($1, $2, $3, $4)";

pub(crate) fn insert(id: &str, n: i64) -> Statement {
    Statement::one(INSERT, vec![id.into(), n.into(), Value::Null, Value::Null])
}

pub(crate) fn add(id: &str, n: i64) -> Statement {
    Statement::one("UPDATE boxes SET n = n + CAST($2 AS BIGINT) WHERE id = $1", vec![id.into(), n.into()])
}

/// The number in a box, if there is such a box.
pub(crate) async fn number(db: &dyn Database, id: &str) -> Option<i64> {
    let rows = db.fetch("SELECT n FROM boxes WHERE id = $1", vec![id.into()]).await.expect("a read");
    rows.first().map(|row| row.int("n").expect("an integer"))
}

pub(crate) async fn count(db: &dyn Database) -> i64 {
    let rows = db.fetch("SELECT count(*) AS n FROM boxes", vec![]).await.expect("a read");
    rows[0].int("n").expect("an integer")
}
