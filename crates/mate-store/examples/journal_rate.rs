//! Prints how fast operations become durable in journals: `journal_rate [FOLDER]`.
//!
//! An operation is two writes, each with its event, as a tool call needs: the intent, and the outcome. Beside it
//! stands the raw rate of two commits of the same driver. All with `synchronous=FULL`.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "its figures are its output")]
#![expect(clippy::disallowed_methods, reason = "it measures time")]

use mate_model::{
    Epoch, Micros, OperationId, SessionId, TaskId, TurnId,
    event::{Draft, EventType},
    operation::{OperationCommand, OperationState, Outcome},
    records::{Operation, Turn},
    words::EffectClass,
};
use mate_store::{
    Change, Database, JOURNAL_SCHEMA, JournalReader, JournalWriter, Statement,
    journal::{BULK, OperationFacts},
    sqlite::{SqliteDatabase, SqliteOptions},
};
use serde_json::json;
use std::{
    error::Error,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};
use uuid::Uuid;

type Done<T> = Result<T, Box<dyn Error + Send + Sync>>;

const SPAN: Duration = Duration::from_secs(3);

#[tokio::main]
async fn main() -> Done<()> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| ".".to_owned());
    let folder = tempfile::tempdir_in(folder)?;
    let raw = raw(folder.path()).await?;
    println!("one session, raw: {raw:.0} pairs of commits per second");
    for (sessions, lanes) in [(1, 1), (1, 16), (16, 1), (16, 4)] {
        let rate = operations(folder.path(), sessions, lanes).await?;
        println!(
            "{sessions} sessions, {lanes} callers each: {rate:.0} operations per second, {:.2} of raw",
            rate / raw
        );
    }
    history(folder.path()).await
}

/// Two one-row commits, again and again.
async fn raw(folder: &Path) -> Done<f64> {
    let db = SqliteDatabase::open(&folder.join("raw.db"), SqliteOptions::JOURNAL).await?;
    db.migrate(&JOURNAL_SCHEMA).await?;
    let insert = "INSERT INTO turn_moves (from_state, to_state) VALUES ($1, 'x')";
    let update = "UPDATE turn_moves SET to_state = 'y' WHERE from_state = $1";
    let (start, mut count) = (Instant::now(), 0);
    while start.elapsed() < SPAN {
        let key = format!("{count:09}");
        db.execute(Statement::one(insert, vec![key.as_str().into()])).await?;
        db.execute(Statement::one(update, vec![key.into()])).await?;
        count += 1;
    }
    Ok(f64::from(count) / start.elapsed().as_secs_f64())
}

#[derive(Clone)]
struct Bench {
    writer: JournalWriter,
    session: SessionId,
    task: TaskId,
    turn: TurnId,
}

impl Bench {
    async fn begin(folder: &Path, number: u128) -> Done<(Self, Arc<dyn Database>)> {
        let path = folder.join(format!("journal-{number}.db"));
        let db: Arc<dyn Database> = Arc::new(SqliteDatabase::open(&path, SqliteOptions::JOURNAL).await?);
        db.migrate(&JOURNAL_SCHEMA).await?;
        let session = SessionId::new(Uuid::from_u128(number));
        let (task, turn) = (TaskId::new(Uuid::from_u128(number)), TurnId::new(Uuid::from_u128(number)));
        let (writer, _) = JournalWriter::take_over(Arc::clone(&db), session, Epoch(1), Micros(1)).await?;
        let opened = Turn::opened(turn, 1, task, Micros(1));
        writer.write(vec![Change::OpenTurn(opened)]).await?;
        Ok((Self { writer, session, task, turn }, db))
    }

    fn event(&self, kind: EventType, number: u64) -> Change {
        let data = json!({"operation": number, "connection": "tracker", "tool": "issue_create"});
        Change::Event(Draft { kind, task: Some(self.task), turn: Some(self.turn), at: Micros(2), data })
    }

    fn intent(&self, number: u64) -> Done<Change> {
        let transition =
            OperationState::Requested.decide(EffectClass::Effect, OperationCommand::Admit, Micros(2))?;
        let operation = Operation {
            id: OperationId { session: self.session, number },
            task: self.task,
            turn: self.turn,
            connection: None,
            connection_name: "tracker".to_owned(),
            tool: "issue_create".to_owned(),
            class: EffectClass::Effect,
            grant: None,
            decision: json!({"grant": "grt_1"}),
            runtime_call: Some(format!("call-{number}")),
            trace: "0af7651916cd43dd8448eb211c80319c".to_owned(),
            digest: blake3::hash(&number.to_le_bytes()).to_hex().to_string(),
            shape: json!({"title": {"type": "string", "size": 24}, "labels": {"type": "array", "size": 3}}),
            state: transition.to().clone(),
            requested_at: Micros(1),
            admitted_at: None,
            sent_at: None,
            answered_at: None,
            recorded_at: None,
            duration_us: None,
            result_size: None,
            result_type: None,
            repeats: None,
            repeat_permitted: false,
        };
        Ok(Change::AddOperation { operation: Box::new(operation), transition })
    }

    async fn operation(&self, number: u64) -> Done<()> {
        let intent = vec![self.intent(number)?, self.event(EventType::OperationAdmitted, number)];
        for permit in self.writer.write(intent).await?.permits {
            let settle = OperationCommand::Settle(Outcome::Result { error: None });
            let transition = OperationState::InFlight.decide(EffectClass::Effect, settle, Micros(4))?;
            let facts = OperationFacts { sent_at: Some(Micros(3)), ..OperationFacts::default() };
            let moved = Change::MoveOperation { id: permit.operation(), transition, facts };
            self.writer.write(vec![moved, self.event(EventType::OperationSucceeded, number)]).await?;
        }
        Ok(())
    }
}

async fn operations(folder: &Path, sessions: u128, lanes: u64) -> Done<f64> {
    let folder = tempfile::tempdir_in(folder)?;
    let mut callers = Vec::new();
    let start = Instant::now();
    for number in 1..=sessions {
        let (bench, _) = Bench::begin(folder.path(), number).await?;
        for lane in 0..lanes {
            let bench = bench.clone();
            callers.push(tokio::spawn(async move {
                let mut count = 0u32;
                while start.elapsed() < SPAN {
                    bench.operation(1 + lane + lanes * u64::from(count)).await?;
                    count += 1;
                }
                Done::Ok(count)
            }));
        }
    }
    let mut total = 0;
    for caller in callers {
        total += caller.await??;
    }
    Ok(f64::from(total) / start.elapsed().as_secs_f64())
}

/// What must not grow with history: a page of events, and finding and classifying what is open.
async fn history(folder: &Path) -> Done<()> {
    let (bench, db) = Bench::begin(folder, 99).await?;
    let events: u64 = 1_000_000;
    let start = Instant::now();
    for first in (0..events).step_by(BULK) {
        let chunk = (first..events.min(first + BULK as u64)).map(|n| bench.event(EventType::ToolUpdate, n));
        bench.writer.write(chunk.collect()).await?;
    }
    println!("{events} events written in {:?}", start.elapsed());
    for first in (1..=20_000u64).step_by(BULK) {
        let chunk: Done<Vec<_>> =
            (first..=20_000.min(first + BULK as u64 - 1)).map(|n| bench.intent(n)).collect();
        bench.writer.write(chunk?).await?;
    }
    let reader = JournalReader::new(db, bench.session);
    let mut times = Vec::new();
    for step in 0..1_000 {
        let start = Instant::now();
        let page = reader.events(Some(bench.task), step * 997, 100).await?;
        times.push(start.elapsed());
        assert_eq!(page.items.len(), 100);
    }
    times.sort();
    println!("a page of 100 of a task's events: p50 {:?}, p99 {:?}", times[500], times[990]);
    let start = Instant::now();
    loop {
        let open = reader.open_operations(0, 1_000).await?.items;
        if open.is_empty() {
            break;
        }
        let mut moves = Vec::new();
        for operation in open {
            let lost = OperationCommand::Settle(Outcome::Lost { detail: "the worker died".to_owned() });
            let transition = operation.state.decide(operation.class, lost, Micros(5))?;
            let draft = Draft {
                kind: EventType::OperationUnknown,
                task: Some(operation.task),
                turn: Some(operation.turn),
                at: Micros(5),
                data: json!({"operation": operation.id}),
            };
            moves.push((operation.id, transition, draft));
        }
        bench.writer.move_all(moves).await?;
    }
    println!("20000 operations in flight classified in {:?}", start.elapsed());
    Ok(())
}
