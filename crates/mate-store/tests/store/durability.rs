//! What was acknowledged survives the death of the process, and many processes may open one file.

use crate::support::{SCHEMA, count, insert, number, open_file};
use mate_store::{
    Database, StoreError,
    sqlite::{SqliteDatabase, SqliteOptions},
};
use std::{
    io::{BufRead, BufReader},
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Child, Command, Stdio},
};

/// Set in the child processes of this file's tests: the file that they work on.
const CHILD: &str = "MATE_STORE_TEST_FILE";
/// Set beside it: a word of the child's own.
const WORD: &str = "MATE_STORE_TEST_WORD";

/// Runs one of the `child_` tests of this file in a process of its own.
fn child(name: &str, file: &Path, word: &str) -> Child {
    let test = format!("durability::{name}");
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &test, "--ignored", "--nocapture", "--test-threads=1"])
        .env(CHILD, file)
        .env(WORD, word)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

fn child_file() -> std::path::PathBuf {
    std::env::var_os(CHILD).expect("only as a child of another test").into()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g12_what_was_acknowledged_survives_kill_9() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.db");
    let mut expected = 0;
    for round in 0..3 {
        let mut writer = child("child_writes_until_killed", &file, &round.to_string());
        let lines = BufReader::new(writer.stdout.take().unwrap()).lines();
        let mut acknowledged = 0;
        for line in lines {
            let line = line.unwrap();
            if let Some(number) = line.strip_prefix("kept ") {
                acknowledged = number.parse().unwrap();
            }
            if acknowledged == 150 {
                writer.kill().unwrap();
            }
        }
        writer.wait().unwrap();
        assert!(acknowledged >= 150);
        let db = open_file(&file).await;
        let stored = number(&db, &format!("r{round}")).await.unwrap();
        assert!(stored >= acknowledged, "{stored} < {acknowledged}");
        // Each script wrote two rows or none.
        let before = expected;
        expected = count(&db).await;
        assert_eq!(expected - before, stored + 1);
        db.close().await;
    }
}

#[tokio::test]
#[ignore = "a child process of the test above"]
#[expect(clippy::print_stdout, reason = "the parent reads what was acknowledged")]
async fn child_writes_until_killed() {
    let word = std::env::var(WORD).unwrap();
    let db = open_file(&child_file()).await;
    db.migrate(&SCHEMA).await.unwrap();
    let own = format!("r{word}");
    db.execute(insert(&own, 0)).await.unwrap();
    for number in 1.. {
        let script = vec![insert(&format!("{word}-{number}"), 0), crate::support::add(&own, 1)];
        db.script(script).await.unwrap();
        println!("kept {number}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_processes_open_one_file_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.db");
    let children: Vec<_> = (0..32).map(|n| child("child_opens_and_writes", &file, &n.to_string())).collect();
    for mut child in children {
        let status = child.wait().unwrap();
        assert!(status.success(), "{status}");
    }
    let db = open_file(&file).await;
    assert_eq!(count(&db).await, 32);
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    db.close().await;
    let names: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["store.db"]);
}

#[tokio::test]
#[ignore = "a child process of the test above"]
async fn child_opens_and_writes() {
    let db = open_file(&child_file()).await;
    db.migrate(&SCHEMA).await.unwrap();
    db.execute(insert(&std::env::var(WORD).unwrap(), 1)).await.unwrap();
}

#[tokio::test]
async fn a_file_is_private_with_all_that_belongs_to_it() {
    let folder = tempfile::tempdir().unwrap();
    let fresh = folder.path().join("fresh.db");
    open_file(&fresh).await.close().await;
    assert_eq!(std::fs::metadata(&fresh).unwrap().permissions().mode() & 0o777, 0o600);
    let file = folder.path().join("store.db");
    std::fs::write(&file, b"").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let db = open_file(&file).await;
    db.migrate(&SCHEMA).await.unwrap();
    for name in ["store.db", "store.db-wal", "store.db-shm"] {
        let mode = std::fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[tokio::test]
async fn a_reader_of_another_process_sees_the_writes_and_cannot_write() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.db");
    let missing = SqliteDatabase::open_to_read(&file, SqliteOptions::JOURNAL).await.unwrap_err();
    assert!(matches!(missing, StoreError::Unavailable { maybe_committed: false, .. }), "{missing}");
    assert!(!file.exists());
    let writer = open_file(&file).await;
    let unmade = SqliteDatabase::open_to_read(&file, SqliteOptions::JOURNAL).await.unwrap_err();
    assert!(matches!(unmade, StoreError::Unavailable { maybe_committed: false, .. }), "{unmade}");
    writer.migrate(&SCHEMA).await.unwrap();
    let reader = SqliteDatabase::open_to_read(&file, SqliteOptions::JOURNAL).await.unwrap();
    writer.execute(insert("a", 1)).await.unwrap();
    assert_eq!(number(&reader, "a").await, Some(1));
    let refused = reader.execute(insert("b", 1)).await.unwrap_err();
    assert!(matches!(refused, StoreError::ReadOnly(_)), "{refused}");
}

#[tokio::test]
async fn a_file_that_is_no_database_is_refused_and_not_touched() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.db");
    let text = "This is a letter, and quite certainly not a database of any kind.".repeat(100);
    std::fs::write(&file, &text).unwrap();
    let refused = SqliteDatabase::open(&file, SqliteOptions::JOURNAL).await.unwrap_err();
    assert!(matches!(refused, StoreError::Damaged(_)), "{refused}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    let refused = SqliteDatabase::open(folder.path(), SqliteOptions::JOURNAL).await.unwrap_err();
    assert!(matches!(refused, StoreError::Unavailable { maybe_committed: false, .. }), "{refused}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_log_does_not_grow_with_history() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.db");
    let db = open_file(&file).await;
    db.migrate(&SCHEMA).await.unwrap();
    for number in 0..3000 {
        db.execute(insert(&format!("{number}"), 0)).await.unwrap();
    }
    let log = std::fs::metadata(folder.path().join("store.db-wal")).unwrap().len();
    assert!(log < 8 << 20, "{log} bytes");
}
