//! What a journal acknowledged survives the death of its writer.

use crate::support::{Journal, at, draft, open_file};
use mate_model::{Epoch, OperationId, SessionId, event::EventType, operation::OperationCommand};
use mate_store::{Change, JOURNAL_SCHEMA, JournalWriter};
use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
};
use uuid::Uuid;

/// Set in the child process: the file that it writes.
const FILE: &str = "MATE_STORE_TEST_JOURNAL";

fn session() -> SessionId {
    SessionId::new(Uuid::from_u128(77))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g12_what_a_journal_acknowledged_survives_kill_9() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("journal.db");
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::child_writes_until_killed", "--ignored", "--nocapture", "--test-threads=1"])
        .env(FILE, &file)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut acknowledged = Vec::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        if let Some(number) = line.unwrap().strip_prefix("kept ") {
            acknowledged.push(number.parse::<u64>().unwrap());
        }
        if acknowledged.len() == 300 {
            child.kill().unwrap();
        }
    }
    child.wait().unwrap();
    assert!(acknowledged.len() >= 300);
    let db = open_file(file).await;
    let (writer, found) = JournalWriter::take_over(db, session(), Epoch(2), at(0)).await.unwrap();
    let reader = writer.reader();
    for number in acknowledged {
        let id = OperationId { session: session(), number };
        assert!(reader.operation(id).await.unwrap().is_some(), "{number} was acknowledged and is lost");
    }
    // Each operation came with its event, or neither is there; the first event is the turn's.
    assert_eq!(reader.open_count().await.unwrap() + 1, u64::try_from(found.seq).unwrap());
    assert_eq!(reader.verify_chain().await.unwrap().broken, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a child process of the test above"]
#[expect(clippy::print_stdout, reason = "its parent reads it")]
async fn child_writes_until_killed() {
    let file = std::env::var_os(FILE).expect("only as a child of another test");
    let db = open_file(file.into()).await;
    db.migrate(&JOURNAL_SCHEMA).await.unwrap();
    let journal = std::sync::Arc::new(Journal::begin(db, session()).await);
    let mut writers = Vec::new();
    for lane in 0..8 {
        let journal = std::sync::Arc::clone(&journal);
        writers.push(tokio::spawn(async move {
            for round in 0.. {
                let number = 1 + lane + 8 * round;
                let (operation, transition) = journal.born(number, OperationCommand::Admit);
                let operation = Box::new(operation);
                let admitted = Change::Event(draft(EventType::OperationAdmitted, Some(journal.task)));
                let changes = vec![Change::AddOperation { operation, transition }, admitted];
                journal.writer.write(changes).await.unwrap();
                println!("kept {number}");
            }
        }));
    }
    for writer in writers {
        writer.await.unwrap();
    }
}
