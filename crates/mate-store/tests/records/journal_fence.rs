//! Epochs and lost answers: a stale writer writes nothing, and an answer that was lost is found out.

use crate::support::{Journal, World, at, draft, on_both, uuid};
use async_trait::async_trait;
use mate_model::{Epoch, SessionId, TaskId, event::EventType, operation::OperationCommand};
use mate_store::{
    Change, Database, Doorbell, Engine, JournalError, JournalReader, JournalWriter, Row, Schema, SchemaState,
    Statement, StoreError, Value,
};
use std::sync::{
    Arc,
    atomic::{AtomicU8, Ordering},
};

on_both!(
    a_stale_epoch_writes_nothing,
    an_epoch_is_taken_once,
    what_was_committed_behind_a_lost_answer_is_answered,
    what_was_not_committed_behind_a_lost_answer_is_refused,
    what_was_refused_cannot_be_committed_later,
    the_next_writer_goes_on_where_the_last_one_ended,
);

fn said(task: TaskId) -> Vec<Change> {
    vec![Change::Event(draft(EventType::AgentMessage, Some(task)))]
}

async fn a_stale_epoch_writes_nothing(world: World) {
    let old = world.journal().await;
    // A handle of its own, as the process that takes over would have.
    let db = world.journal_db(old.session).await;
    let (new, found) = JournalWriter::take_over(db, old.session, Epoch(2), at(1)).await.unwrap();
    assert_eq!((found.previous_epoch, found.seq, found.next_turn), (Some(Epoch(1)), 1, 2));
    let stale = JournalError::Stale { ours: Epoch(1), current: Epoch(2) };
    let (operation, transition) = old.born(1, OperationCommand::Admit);
    let admit = Change::AddOperation { operation: Box::new(operation.clone()), transition };
    assert_eq!(old.writer.write(vec![admit]).await.unwrap_err(), stale);
    new.write(said(old.task)).await.unwrap();
    assert_eq!(old.writer.write(said(old.task)).await.unwrap_err(), stale);
    let reader = new.reader();
    assert_eq!(reader.operation(operation.id).await.unwrap(), None);
    let events = reader.events(None, 0, 9).await.unwrap().items;
    assert_eq!(events.iter().map(|event| event.epoch).collect::<Vec<_>>(), [Some(Epoch(1)), Some(Epoch(2))]);
    assert_eq!(reader.verify_chain().await.unwrap().broken, None);
}

async fn an_epoch_is_taken_once(world: World) {
    let session = SessionId::new(uuid());
    let mut racers = Vec::new();
    for _ in 0..8 {
        let db = world.journal_db(session).await;
        racers.push(tokio::spawn(JournalWriter::take_over(db, session, Epoch(3), at(1))));
    }
    let mut won = Vec::new();
    for racer in racers {
        match racer.await.unwrap() {
            Ok((writer, _)) => won.push(writer),
            Err(lost) => {
                assert_eq!(lost, JournalError::Stale { ours: Epoch(3), current: Epoch(3) });
            }
        }
    }
    assert_eq!(won.len(), 1);
    won[0].write(said(TaskId::new(uuid()))).await.unwrap();
}

async fn the_next_writer_goes_on_where_the_last_one_ended(world: World) {
    let journal = world.journal().await;
    for number in [1, 2, 7] {
        let (operation, transition) = journal.born(number, OperationCommand::Admit);
        let operation = Box::new(operation);
        journal.writer.write(vec![Change::AddOperation { operation, transition }]).await.unwrap();
    }
    let Journal { writer, session, task, .. } = journal;
    drop(writer);
    let db = world.journal_db(session).await;
    let (writer, found) = JournalWriter::take_over(db, session, Epoch(5), at(1)).await.unwrap();
    assert_eq!((found.next_operation, found.next_turn, found.seq), (8, 2, 1));
    assert_eq!(writer.write(said(task)).await.unwrap().seq, 2);
}

const WELL: u8 = 0;
const LOSE_ANSWER: u8 = 1;
const LOSE_WRITE: u8 = 2;
const HOLD_WRITE: u8 = 3;

/// Says once that the server was lost in the middle of a script, after or before its commit.
#[derive(Debug)]
struct Flaky {
    inner: Arc<dyn Database>,
    mode: AtomicU8,
    /// What a server that was cut off is still at work on.
    held: std::sync::Mutex<Vec<Statement>>,
}

#[async_trait]
impl Database for Flaky {
    fn engine(&self) -> Engine {
        self.inner.engine()
    }

    async fn execute(&self, statement: Statement) -> Result<u64, StoreError> {
        self.inner.execute(statement).await
    }

    async fn fetch(&self, sql: &'static str, params: Vec<Value>) -> Result<Vec<Row>, StoreError> {
        self.inner.fetch(sql, params).await
    }

    async fn script(&self, statements: Vec<Statement>) -> Result<Vec<u64>, StoreError> {
        let mode = self.mode.swap(WELL, Ordering::AcqRel);
        if mode == WELL {
            return self.inner.script(statements).await;
        }
        if mode == LOSE_ANSWER {
            self.inner.script(statements).await?;
        } else if mode == HOLD_WRITE {
            *self.held.lock().unwrap() = statements;
        }
        Err(StoreError::Unavailable { why: "lost".to_owned(), maybe_committed: true })
    }

    async fn migrate(&self, schema: &Schema) -> Result<SchemaState, StoreError> {
        self.inner.migrate(schema).await
    }

    async fn listen(&self, channel: &str) -> Result<Doorbell, StoreError> {
        self.inner.listen(channel).await
    }

    async fn ring(&self, channel: &str) -> Result<(), StoreError> {
        self.inner.ring(channel).await
    }
}

async fn flaky(world: &World) -> (Arc<Flaky>, Journal) {
    let session = SessionId::new(uuid());
    let inner = world.journal_db(session).await;
    let db = Arc::new(Flaky { inner, mode: AtomicU8::new(WELL), held: Default::default() });
    let journal = Journal::begin(Arc::<Flaky>::clone(&db), session).await;
    (db, journal)
}

async fn what_was_committed_behind_a_lost_answer_is_answered(world: World) {
    let (db, journal) = flaky(&world).await;
    let (operation, transition) = journal.born(1, OperationCommand::Admit);
    let admit = Change::AddOperation { operation: Box::new(operation), transition };
    db.mode.store(LOSE_ANSWER, Ordering::Release);
    let written = journal.writer.write(vec![admit]).await.unwrap();
    assert_eq!(written.permits.len(), 1);
    assert_eq!(journal.writer.write(said(journal.task)).await.unwrap().seq, 2);
}

async fn what_was_not_committed_behind_a_lost_answer_is_refused(world: World) {
    let (db, journal) = flaky(&world).await;
    db.mode.store(LOSE_WRITE, Ordering::Release);
    let refused = journal.writer.write(said(journal.task)).await.unwrap_err();
    assert!(matches!(refused, JournalError::Store(StoreError::Unavailable { .. })), "{refused}");
    assert!(!refused.maybe_committed(), "it was looked up: nothing was written");
    assert_eq!(journal.writer.write(said(journal.task)).await.unwrap().seq, 2);
    // Taken over in the meantime: the lost answer does not hide it.
    db.mode.store(LOSE_WRITE, Ordering::Release);
    JournalWriter::take_over(world.journal_db(journal.session).await, journal.session, Epoch(2), at(1))
        .await
        .unwrap();
    let stale = journal.writer.write(said(journal.task)).await.unwrap_err();
    assert_eq!(stale, JournalError::Stale { ours: Epoch(1), current: Epoch(2) });
    let reader = JournalReader::new(world.journal_db(journal.session).await, journal.session);
    assert_eq!(reader.head().await.unwrap().unwrap().seq, 2);
}

async fn what_was_refused_cannot_be_committed_later(world: World) {
    let (db, journal) = flaky(&world).await;
    let (operation, transition) = journal.born(1, OperationCommand::Admit);
    let id = operation.id;
    let admit = Change::AddOperation { operation: Box::new(operation), transition };
    db.mode.store(HOLD_WRITE, Ordering::Release);
    let refused = journal.writer.write(vec![admit]).await.unwrap_err();
    assert!(!refused.maybe_committed(), "{refused}");
    // Now the server gets to it.
    let held = std::mem::take(&mut *db.held.lock().unwrap());
    let late = db.inner.script(held).await.unwrap_err();
    assert!(matches!(late, StoreError::Guard { statement: 0, .. }), "{late}");
    assert_eq!(journal.writer.reader().operation(id).await.unwrap(), None);
    assert_eq!(journal.writer.write(said(journal.task)).await.unwrap().seq, 2);
}
