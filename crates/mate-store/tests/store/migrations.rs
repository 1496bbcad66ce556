//! Migrations: once each, in order, and only onto a store that they belong to.

use crate::support::{FIRST, INSERT, SCHEMA, Store, insert, number, on_both, open_file};
use mate_store::{
    Database, Migration, Schema, SchemaState, Statement, StoreError, Value,
    postgres::{PostgresDatabase, PostgresOptions},
};
use mate_testkit::postgres::TestDatabase;

on_both!(crate::support::bare_sqlite, crate::support::bare_postgres:
    a_schema_is_applied_once_and_grows,
    a_changed_text_is_refused,
    a_changed_name_is_refused,
    a_newer_schema_is_refused_unless_it_allows_this_reader,
    a_migration_that_fails_leaves_nothing_behind,
    a_list_with_a_gap_is_a_defect,
    schemas_with_different_names_live_together,
);

const SECOND: Migration = Migration {
    number: 2,
    name: "colours",
    sqlite: "CREATE TABLE colours (id TEXT PRIMARY KEY); ALTER TABLE boxes ADD COLUMN colour TEXT;",
    postgres: "CREATE TABLE colours (id TEXT PRIMARY KEY); ALTER TABLE boxes ADD COLUMN colour TEXT;",
    oldest_reader: 1,
};

static GROWN: Schema = Schema { name: "test", migrations: &[FIRST, SECOND] };

async fn a_schema_is_applied_once_and_grows(store: Store) {
    let db = &*store.db;
    assert_eq!(db.migrate(&SCHEMA).await, Ok(SchemaState { number: 1, applied: 1 }));
    db.execute(insert("a", 1)).await.unwrap();
    assert_eq!(db.migrate(&SCHEMA).await, Ok(SchemaState { number: 1, applied: 0 }));
    assert_eq!(db.migrate(&GROWN).await, Ok(SchemaState { number: 2, applied: 1 }));
    let rows = db.fetch("SELECT n, colour FROM boxes", vec![]).await.unwrap();
    assert_eq!((rows[0].int("n"), rows[0].opt_text("colour")), (Ok(1), Ok(None)));
}

async fn a_changed_text_is_refused(store: Store) {
    static CHANGED: Schema = Schema {
        name: "test",
        migrations: &[Migration { sqlite: "SELECT 1", postgres: "SELECT 1", ..FIRST }, SECOND],
    };
    store.db.migrate(&SCHEMA).await.unwrap();
    let refused = store.db.migrate(&CHANGED).await.unwrap_err();
    assert!(matches!(refused, StoreError::SchemaChanged { number: 1, .. }), "{refused}");
    assert!(store.db.fetch("SELECT id FROM colours", vec![]).await.is_err());
    store.db.execute(insert("a", 1)).await.unwrap();
}

async fn a_changed_name_is_refused(store: Store) {
    static RENAMED: Schema = Schema { name: "test", migrations: &[Migration { name: "crates", ..FIRST }] };
    store.db.migrate(&SCHEMA).await.unwrap();
    let refused = store.db.migrate(&RENAMED).await.unwrap_err();
    assert!(matches!(refused, StoreError::SchemaChanged { number: 1, .. }), "{refused}");
}

async fn a_newer_schema_is_refused_unless_it_allows_this_reader(store: Store) {
    static CONTRACTED: Schema = Schema {
        name: "test",
        migrations: &[
            FIRST,
            SECOND,
            Migration {
                number: 3,
                name: "fewer",
                sqlite: "DROP TABLE colours",
                postgres: "DROP TABLE colours",
                oldest_reader: 2,
            },
        ],
    };
    let db = &*store.db;
    db.migrate(&GROWN).await.unwrap();
    assert_eq!(db.migrate(&SCHEMA).await, Ok(SchemaState { number: 2, applied: 0 }));
    db.migrate(&CONTRACTED).await.unwrap();
    assert_eq!(db.migrate(&GROWN).await, Ok(SchemaState { number: 3, applied: 0 }));
    let refused = db.migrate(&SCHEMA).await.unwrap_err();
    let expected =
        StoreError::SchemaTooNew { schema: "test".to_owned(), found: 3, oldest_reader: 2, known: 1 };
    assert_eq!(refused, expected);
}

async fn a_migration_that_fails_leaves_nothing_behind(store: Store) {
    const BAD: &str = "CREATE TABLE half (id TEXT PRIMARY KEY); INSERT INTO nowhere VALUES (1);";
    static FAILING: Schema =
        Schema { name: "test", migrations: &[FIRST, Migration { sqlite: BAD, postgres: BAD, ..SECOND }] };
    let db = &*store.db;
    assert!(matches!(db.migrate(&FAILING).await, Err(StoreError::Misuse(_))));
    assert!(db.fetch("SELECT id FROM half", vec![]).await.is_err());
    db.execute(insert("a", 4)).await.unwrap();
    assert_eq!(db.migrate(&GROWN).await, Ok(SchemaState { number: 2, applied: 1 }));
    assert_eq!(number(db, "a").await, Some(4));
}

async fn a_list_with_a_gap_is_a_defect(store: Store) {
    static GAP: Schema = Schema { name: "test", migrations: &[Migration { number: 2, ..FIRST }] };
    assert!(matches!(store.db.migrate(&GAP).await, Err(StoreError::Misuse(_))));
}

async fn schemas_with_different_names_live_together(store: Store) {
    static OTHER: Schema = Schema {
        name: "other",
        migrations: &[Migration {
            sqlite: "CREATE TABLE others (id TEXT PRIMARY KEY)",
            postgres: "CREATE TABLE others (id TEXT PRIMARY KEY)",
            ..FIRST
        }],
    };
    store.db.migrate(&SCHEMA).await.unwrap();
    assert_eq!(store.db.migrate(&OTHER).await, Ok(SchemaState { number: 1, applied: 1 }));
    assert_eq!(store.db.migrate(&SCHEMA).await, Ok(SchemaState { number: 1, applied: 0 }));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_connections_migrate_postgres_at_once() {
    let database = tokio::task::spawn_blocking(TestDatabase::fresh).await.unwrap();
    let openers: Vec<_> = (0..32)
        .map(|opener| {
            let url = database.url.clone();
            tokio::spawn(async move {
                let db = PostgresDatabase::open(&url, PostgresOptions { connections: 1 }).await?;
                let state = db.migrate(&GROWN).await?;
                let id = format!("o{opener}");
                db.execute(Statement::one(INSERT, vec![id.into(), 1i64.into(), Value::Null, Value::Null]))
                    .await?;
                Ok::<_, StoreError>(state)
            })
        })
        .collect();
    let mut applied = 0;
    for opener in openers {
        let state = opener.await.unwrap().unwrap();
        applied += state.applied;
        assert_eq!(state.number, 2);
    }
    assert_eq!(applied, 2);
}

#[tokio::test]
async fn a_row_that_cannot_be_is_reported_and_not_defaulted() {
    let folder = tempfile::tempdir().unwrap();
    let db = open_file(&folder.path().join("store.db")).await;
    db.migrate(&SCHEMA).await.unwrap();
    for spoil in [
        "UPDATE schema_migrations SET number = 5000000000 WHERE schema = $1",
        "UPDATE schema_migrations SET number = 'one' WHERE schema = $1",
    ] {
        db.execute(Statement::one(spoil, vec!["test".into()])).await.unwrap();
        let refused = db.migrate(&SCHEMA).await.unwrap_err();
        let StoreError::Corrupt { table, column, .. } = refused else { panic!("{refused}") };
        assert_eq!((table.as_str(), column.as_str()), ("schema_migrations", "number"));
    }
}
