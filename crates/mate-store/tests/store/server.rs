//! What only a server can do to us: go away, end our connection, refuse, or ask for TLS.

use crate::support::{SCHEMA, add, count, insert, number};
use mate_store::{
    Database, StoreError,
    postgres::{PostgresDatabase, PostgresOptions},
};
use mate_testkit::postgres::{Cluster, TestDatabase};
use std::{sync::Arc, time::Duration};

async fn fresh() -> (Arc<PostgresDatabase>, TestDatabase) {
    let database = tokio::task::spawn_blocking(TestDatabase::fresh).await.unwrap();
    let db = PostgresDatabase::open(&database.url, PostgresOptions { connections: 4 }).await.unwrap();
    db.migrate(&SCHEMA).await.unwrap();
    (Arc::new(db), database)
}

const OTHERS: &str = "SELECT CAST(count(pg_terminate_backend(pid)) AS BIGINT) AS ended FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_the_server_ended_is_replaced() {
    let (db, database) = fresh().await;
    let other = PostgresDatabase::open(&database.url, PostgresOptions { connections: 1 }).await.unwrap();
    let mut bell = db.listen("tasks").await.unwrap();
    db.execute(insert("a", 0)).await.unwrap();
    for _ in 0..3 {
        other.fetch(OTHERS, vec![]).await.unwrap();
        // The first call may find the dead connection; it says that nothing was written, or that it cannot tell.
        let mut done = 0;
        for _ in 0..200 {
            match db.execute(add("a", 1)).await {
                Ok(_) => done += 1,
                Err(StoreError::Unavailable { .. }) => {}
                Err(other) => panic!("{other}"),
            }
            if done == 3 {
                break;
            }
        }
        assert_eq!(done, 3);
    }
    assert!(number(&*db, "a").await.unwrap() >= 9);
    for _ in 0..100 {
        db.ring("tasks").await.unwrap();
        if bell.wait(Duration::from_millis(100)).await {
            return;
        }
    }
    panic!("the bell is not heard any more");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_is_never_repeated_when_its_connection_is_lost() {
    let (db, database) = fresh().await;
    let other = PostgresDatabase::open(&database.url, PostgresOptions { connections: 1 }).await.unwrap();
    db.execute(insert("a", 0)).await.unwrap();
    let writer = tokio::spawn({
        let db = Arc::clone(&db);
        async move {
            let (mut kept, mut unsure) = (0, 0);
            for _ in 0..500 {
                match db.script(vec![add("a", 1)]).await {
                    Ok(_) => kept += 1,
                    Err(error) if error.maybe_committed() => unsure += 1,
                    Err(StoreError::Unavailable { maybe_committed: false, .. }) => {}
                    Err(other) => panic!("{other}"),
                }
            }
            (kept, unsure)
        }
    });
    while !writer.is_finished() {
        other.fetch(OTHERS, vec![]).await.unwrap();
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
    let (kept, unsure) = writer.await.unwrap();
    let mut stored = other.fetch("SELECT n FROM boxes WHERE id = $1", vec!["a".into()]).await;
    while stored.is_err() {
        stored = other.fetch("SELECT n FROM boxes WHERE id = $1", vec!["a".into()]).await;
    }
    let stored = stored.unwrap()[0].int("n").unwrap();
    assert!((kept..=kept + unsure).contains(&stored), "{stored} of {kept} + {unsure}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deadlock_is_run_again() {
    let (db, _database) = fresh().await;
    db.script(vec![insert("a", 0), insert("b", 0)]).await.unwrap();
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let db = Arc::clone(&db);
            let (first, second) = if writer % 2 == 0 { ("a", "b") } else { ("b", "a") };
            tokio::spawn(async move {
                for _ in 0..25 {
                    db.script(vec![add(first, 1), add(second, 1)]).await.unwrap();
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    assert_eq!((number(&*db, "a").await, number(&*db, "b").await), (Some(100), Some(100)));
}

#[tokio::test]
async fn a_url_that_cannot_be_used_is_refused_without_showing_it() {
    for url in [
        "postgresql://someone:hush@127.0.0.1:1/x?sslmode=require",
        "postgresql://someone:hush@127.0.0.1:1/x?sslmode=verify-full",
        "postgresql://someone:hush@127.0.0.1:1/x",
        "postgresql://someone:hush@127.0.0.1:port/x",
        "hush",
    ] {
        let refused = PostgresDatabase::open(url, PostgresOptions::default()).await.unwrap_err();
        let said = format!("{refused} {refused:?}");
        assert!(!said.contains("hush"), "{said}");
        assert_eq!(said.contains("TLS"), url.ends_with("require"), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_gone_is_reported_in_time() {
    let cluster = tokio::task::spawn_blocking(Cluster::start).await.unwrap().unwrap();
    let db = PostgresDatabase::open(cluster.url(), PostgresOptions::default()).await.unwrap();
    db.migrate(&SCHEMA).await.unwrap();
    db.execute(insert("a", 1)).await.unwrap();
    assert_eq!(count(&db).await, 1);
    let server = cluster.server();
    tokio::task::spawn_blocking(move || drop(cluster)).await.unwrap();
    assert!(!std::path::Path::new(&format!("/proc/{server}")).exists());
    for _ in 0..3 {
        let read = db.fetch("SELECT n FROM boxes", vec![]).await.unwrap_err();
        assert!(matches!(read, StoreError::Unavailable { .. }), "{read}");
        let write = db.execute(add("a", 1)).await.unwrap_err();
        assert!(matches!(write, StoreError::Unavailable { .. }), "{write}");
    }
}
