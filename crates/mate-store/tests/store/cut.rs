//! A connection that is cut at the worst moment: the commit has arrived, its answer has not.

use crate::support::{SCHEMA, add, insert, number};
use mate_store::{
    Database, Statement, StoreError,
    postgres::{PostgresDatabase, PostgresOptions},
};
use mate_testkit::postgres::TestDatabase;
use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

const COMMIT: &[u8] = b"COMMIT\0";

/// Passes everything on between a client and the server at `port`. Each commit is passed on and counted, and then
/// both ends are closed once the server has answered it.
async fn relay(listener: TcpListener, port: u16, commits: Arc<AtomicU32>) {
    while let Ok((mut client, _)) = listener.accept().await {
        let commits = Arc::clone(&commits);
        tokio::spawn(async move {
            let mut server = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
            let (mut up, mut down) = (vec![0; 65536], vec![0; 65536]);
            loop {
                tokio::select! {
                    Ok(size) = client.read(&mut up) => {
                        if size == 0 {
                            return;
                        }
                        let commit = up[..size].windows(COMMIT.len()).any(|part| part == COMMIT);
                        server.write_all(&up[..size]).await.unwrap();
                        if commit {
                            commits.fetch_add(1, Ordering::SeqCst);
                            // Reading until the server is ready again proves that the commit is done.
                            let mut said = Vec::new();
                            while !said.windows(6).any(|part| part == b"Z\0\0\0\x05I") {
                                let size = server.read(&mut down).await.unwrap();
                                said.extend_from_slice(&down[..size]);
                            }
                            return;
                        }
                    }
                    Ok(size) = server.read(&mut down) => {
                        if size == 0 || client.write_all(&down[..size]).await.is_err() {
                            return;
                        }
                    }
                    else => return,
                }
            }
        });
    }
}

/// The parts of the URL of a cluster's database, reached by a socket or by a port: its port and the database's name.
fn parts(url: &str) -> (u16, String) {
    let config: tokio_postgres::Config = url.parse().unwrap();
    (config.get_ports().first().copied().unwrap_or(5432), config.get_dbname().unwrap().to_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g04_a_commit_whose_answer_is_lost_is_reported_as_unsure_and_not_repeated() {
    let database = tokio::task::spawn_blocking(TestDatabase::fresh).await.unwrap();
    let direct = PostgresDatabase::open(&database.url, PostgresOptions::default()).await.unwrap();
    direct.migrate(&SCHEMA).await.unwrap();
    direct.execute(insert("a", 0)).await.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (port, name) = parts(&database.url);
    let url = format!("postgresql://mate@127.0.0.1:{}/{name}", listener.local_addr().unwrap().port());
    let commits = Arc::new(AtomicU32::new(0));
    let relay = tokio::spawn(relay(listener, port, Arc::clone(&commits)));
    let db = PostgresDatabase::open(&url, PostgresOptions { connections: 1 }).await.unwrap();
    let unguarded = "UPDATE boxes SET n = n + CAST($2 AS BIGINT) WHERE id = $1";
    let unguarded = Statement::any(unguarded, vec!["a".into(), 1i64.into()]);
    for (round, statement) in (1..).zip([add("a", 1), unguarded]) {
        let lost = db.script(vec![statement]).await.unwrap_err();
        assert!(lost.maybe_committed(), "{lost}");
        assert_eq!(commits.load(Ordering::SeqCst), round, "the commit was sent again");
        assert_eq!(number(&direct, "a").await, Some(i64::from(round)));
    }
    // A read is answered again, over a new connection.
    assert_eq!(number(&db, "a").await, Some(2));
    assert!(matches!(db.execute(add("missing", 1)).await, Err(StoreError::Guard { .. })));
    relay.abort();
}
