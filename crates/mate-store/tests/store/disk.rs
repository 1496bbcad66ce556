//! G13: no space, and nothing half-done.

use crate::support::{SCHEMA, count, insert, open_file};
use mate_store::{Database, Statement, StoreError, Value};
use mate_testkit::mounts;

/// The other test has a file system of 1 MiB that only its process sees.
#[test]
fn g13_a_full_disk_refuses_clearly_and_keeps_what_was_written() {
    mounts::run_with_own_mounts("disk::child_fills_the_disk").expect("it passes");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a child process of the test above"]
async fn child_fills_the_disk() {
    let folder = tempfile::tempdir().unwrap();
    mounts::mount_small_disk(folder.path(), "1m").expect("mounted");
    let db = open_file(&folder.path().join("store.db")).await;
    db.migrate(&SCHEMA).await.unwrap();
    let sql = "INSERT INTO boxes (id, n, label, data) VALUES ($1, $2, $3, $4)";
    let mut kept = 0;
    let refused = loop {
        let params = vec![format!("{kept}").into(), kept.into(), Value::Null, vec![7u8; 20_000].into()];
        match db.script(vec![Statement::one(sql, params), insert(&format!("x{kept}"), 0)]).await {
            Ok(_) => kept += 1,
            Err(error) => break error,
        }
        assert!(kept < 1000, "1 MiB is not full yet");
    };
    assert!(matches!(refused, StoreError::Full(_)), "{refused}");
    assert_eq!(count(&db).await, kept * 2);
    // A file system without any room: another big write fails as well, alone and in a crowd.
    let big =
        |id: &str| Statement::one(sql, vec![id.into(), 0i64.into(), Value::Null, vec![7u8; 900_000].into()]);
    let (a, b, c) = tokio::join!(db.execute(big("a")), db.execute(big("b")), db.execute(big("c")));
    for answer in [a, b, c] {
        assert!(matches!(answer, Err(StoreError::Full(_))), "{answer:?}");
    }
    assert_eq!(count(&db).await, kept * 2);
    db.close().await;
    let db = open_file(&folder.path().join("store.db")).await;
    assert_eq!(count(&db).await, kept * 2);
}
