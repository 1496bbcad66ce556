//! The same random commands on the reference in memory, on SQLite and on PostgreSQL: rows and events are equal.

use crate::support::{Journal, World, at, draft, kind_of, new_turn, uuid};
use mate_model::{
    Epoch, Micros, OperationId, TaskId, TurnId,
    event::{Draft, EventType},
    operation::{Evidence, OperationCommand, OperationState, Outcome, Verdict},
    records::{Operation, Task, Turn},
    task::{End, StopEvidence, TaskCommand},
    turn::{TurnCommand, TurnEnd, TurnState},
    words::{DenyReason, EvidenceKind, FailReason, StopReason, UnknownReason},
};
use mate_store::{
    Change, JournalError, JournalWriter, LedgerError, journal::OperationFacts, ledger::NewTask,
};
use mate_testkit::memory::{Conflict, MemoryJournal, MemoryLedger};
use proptest::{
    prelude::*,
    test_runner::{Config, TestRunner},
};
use std::sync::Arc;

fn run<S: Strategy>(strategy: S, cases: u32, test: impl Fn(&tokio::runtime::Runtime, S::Value)) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    TestRunner::new(config)
        .run(&strategy, |value| {
            test(&runtime, value);
            Ok(())
        })
        .unwrap();
}

/// One step: on which task, in which of its past states, which command.
type TaskStep = (usize, usize, u8, i64);

fn task_command(pick: u8, epoch: i64, world: &World) -> TaskCommand {
    let (by, epoch) = (world.account, Epoch(epoch));
    let failed = End::Failed { reason: FailReason::RuntimeLost, detail: "gone é".to_owned() };
    let stopped = End::Stopped { evidence: StopEvidence::NeverStarted };
    match pick {
        0..=2 => TaskCommand::Approve { by },
        3 => TaskCommand::Reject { by, reason: "not now".to_owned() },
        4..=6 => TaskCommand::Claim { turn: TurnId::new(uuid()), epoch },
        7 => TaskCommand::Stop { by: Some(by), kill: false },
        8 => TaskCommand::Stop { by: None, kill: true },
        9 => TaskCommand::Conclude { epoch, end: failed, uncertain: None },
        10 => TaskCommand::Conclude { epoch, end: stopped, uncertain: None },
        11 => {
            let end = End::Completed { report: None };
            TaskCommand::Conclude { epoch, end, uncertain: Some(UnknownReason::OwnActivity) }
        }
        _ => TaskCommand::Settle,
    }
}

#[test]
fn random_task_commands_leave_the_same_rows_and_events() {
    let step = (0..5usize, 0..4usize, 0..13u8, 1..4i64);
    run(prop::collection::vec(step, 1..40), 12, |runtime, steps| {
        runtime.block_on(Box::pin(tasks_agree(steps)));
    });
}

async fn tasks_agree(steps: Vec<TaskStep>) {
    let (one, two) = (World::sqlite().await, World::postgres().await);
    let mut memory = MemoryLedger::default();
    let skip = one.ledger.head(one.project).await.unwrap().seq;
    // The second world has the first one's ids wherever a task names them.
    let mut pasts: Vec<[Vec<Task>; 2]> = Vec::new();
    let sessions = [one.add_session().await, two.add_session().await];
    for (which, past, pick, epoch) in steps {
        let Some(histories) = pasts.get_mut(which) else {
            let id = TaskId::new(uuid());
            let submitted = || draft(EventType::TaskSubmitted, Some(id));
            let mut first = Vec::new();
            for (world, session) in [&one, &two].into_iter().zip(&sessions) {
                let new = NewTask { id, ..world.new_task(session.id) };
                first.push(vec![world.ledger.submit(new, &[submitted()], None).await.unwrap().task]);
            }
            memory.submit(first[0][0].clone(), submitted());
            pasts.push(<[Vec<Task>; 2]>::try_from(first).unwrap());
            continue;
        };
        // Now and then the command is decided on a state that has passed.
        let place = histories[0].len() - 1 - past.min(histories[0].len() - 1) / 3;
        let command = task_command(pick, epoch, &one);
        let now = at(i64::try_from(place).unwrap());
        let Ok(transition) = histories[0][place].state.decide(command.clone(), now) else { continue };
        let id = histories[0][place].id;
        let moved = || draft(kind_of(transition.to()), Some(id));
        let wanted = memory.apply(id, &transition, moved()).map_err(|Conflict| LedgerError::Conflict("task"));
        let subjects = ["s1".to_owned()];
        let got = one.ledger.apply_task(&histories[0][place], &transition, moved(), &subjects, None).await;
        assert_eq!(got.map(|_| ()), wanted, "SQLite, {command:?}");
        // The other world has accounts of its own.
        let theirs = &histories[1][place];
        let command = with_account(command, &two);
        let transition = theirs.state.decide(command.clone(), now).unwrap();
        let got = two.ledger.apply_task(theirs, &transition, moved(), &subjects, None).await;
        assert_eq!(got.map(|_| ()), wanted, "PostgreSQL, {command:?}");
        for (world, history) in [&one, &two].into_iter().zip(histories.iter_mut()) {
            history.push(world.ledger.task(id).await.unwrap().unwrap());
        }
    }
    compare_ledgers(&one, &two, &memory, skip).await;
}

fn with_account(command: TaskCommand, world: &World) -> TaskCommand {
    let by = world.account;
    match command {
        TaskCommand::Approve { .. } => TaskCommand::Approve { by },
        TaskCommand::Reject { reason, .. } => TaskCommand::Reject { by, reason },
        TaskCommand::Stop { by: asked, kill } => TaskCommand::Stop { by: asked.map(|_| by), kill },
        command @ (TaskCommand::Claim { .. } | TaskCommand::Conclude { .. } | TaskCommand::Settle) => command,
    }
}

async fn compare_ledgers(one: &World, two: &World, memory: &MemoryLedger, skip: i64) {
    let listed = one.ledger.tasks(one.project, None, None, 100).await.unwrap();
    assert_eq!(listed.items, memory.tasks.values().rev().cloned().collect::<Vec<_>>());
    let theirs = two.ledger.tasks(two.project, None, None, 100).await.unwrap();
    assert!(listed.corrupt.is_empty() && theirs.corrupt.is_empty());
    let words = |tasks: &[Task]| tasks.iter().map(|t| (t.id, t.number, t.state.word())).collect::<Vec<_>>();
    assert_eq!(words(&theirs.items), words(&listed.items));
    for world in [one, two] {
        // After the event of the project itself and that of its session.
        let events = world.ledger.events(world.project, skip + 1, 1_000).await.unwrap().items;
        assert_eq!(events.len(), memory.events.len());
        for (event, wanted) in events.iter().zip(&memory.events) {
            assert_eq!(event.seq, wanted.seq + skip + 1);
            assert_eq!(event.prev, wanted.prev.map(|prev| prev + skip + 1));
            assert_eq!((event.kind, event.task, &event.data), (wanted.kind, wanted.task, &wanted.data));
        }
        assert_eq!(world.ledger.verify_chain(world.project).await.unwrap().broken, None);
    }
}

/// What one step does in a journal.
#[derive(Clone, Debug)]
enum JournalStep {
    Open,
    Turn { past: usize, pick: u8 },
    Add { number: u64, pick: u8 },
    Move { number: u64, past: usize, pick: u8 },
}

fn journal_step() -> impl Strategy<Value = JournalStep> {
    prop_oneof![
        1 => Just(JournalStep::Open),
        2 => (0..4usize, 0..6u8).prop_map(|(past, pick)| JournalStep::Turn { past, pick }),
        3 => (1..8u64, 0..4u8).prop_map(|(number, pick)| JournalStep::Add { number, pick }),
        5 => (1..8u64, 0..4usize, 0..9u8)
            .prop_map(|(number, past, pick)| JournalStep::Move { number, past, pick }),
    ]
}

#[test]
fn random_journal_commands_leave_the_same_rows_and_events() {
    run(prop::collection::vec(journal_step(), 1..60), 16, |runtime, steps| {
        runtime.block_on(Box::pin(journals_agree(steps)));
    });
}

/// The three stores of one session.
struct Three {
    memory: MemoryJournal,
    journal: Journal,
    other: JournalWriter,
    turns: Vec<Turn>,
    operations: std::collections::BTreeMap<u64, Vec<Operation>>,
}

impl Three {
    /// Writes the changes to both engines and compares their answers with the reference's.
    async fn write(&self, changes: Vec<Change>, wanted: Result<(), Conflict>) {
        for (writer, name) in [(&self.journal.writer, "SQLite"), (&self.other, "PostgreSQL")] {
            let got = writer.write(changes.clone()).await;
            match (&got, wanted) {
                (Ok(_), Ok(())) | (Err(JournalError::Conflict(_)), Err(Conflict)) => {}
                (Ok(_) | Err(_), _) => panic!("{name}: {got:?} where the reference says {wanted:?}"),
            }
        }
    }

    fn event(&self, kind: EventType) -> Draft {
        draft(kind, Some(self.journal.task))
    }
}

async fn journals_agree(steps: Vec<JournalStep>) {
    let (one, two) = (World::sqlite().await, World::postgres().await);
    let journal = one.journal().await;
    let db = two.journal_db(journal.session).await;
    let (other, _) =
        JournalWriter::take_over(Arc::clone(&db), journal.session, Epoch(1), at(0)).await.unwrap();
    let started = Draft { turn: Some(journal.turn.id), ..draft(EventType::TurnStarted, Some(journal.task)) };
    other.write(vec![Change::OpenTurn(journal.turn.clone()), Change::Event(started.clone())]).await.unwrap();
    let mut memory = MemoryJournal::new(journal.session, Epoch(1));
    memory.open_turn(journal.turn.clone(), started).unwrap();
    let turns = vec![journal.turn.clone()];
    let mut three = Three { memory, journal, other, turns, operations: Default::default() };
    for (step, time) in steps.into_iter().zip(100..) {
        apply(&mut three, step, at(time)).await;
    }
    for reader in [three.journal.writer.reader(), three.other.reader()] {
        let operations = reader.operations(None, None, 0, 100).await.unwrap();
        assert_eq!(operations.items, three.memory.operations.values().cloned().collect::<Vec<_>>());
        let turns = reader.turns(None, 0, 100).await.unwrap();
        let mut wanted: Vec<_> = three.memory.turns.values().cloned().collect();
        wanted.sort_by_key(|turn| turn.number);
        assert_eq!(turns.items, wanted);
        assert_eq!(reader.events(None, 0, 100).await.unwrap().items, three.memory.events);
        assert_eq!(reader.verify_chain().await.unwrap().broken, None);
    }
}

async fn apply(three: &mut Three, step: JournalStep, now: Micros) {
    match step {
        JournalStep::Open => {
            let number = i64::try_from(three.memory.turns.len()).unwrap() + 1;
            let turn = new_turn(number, three.journal.task);
            let event = three.event(EventType::TurnStarted);
            let wanted = three.memory.open_turn(turn.clone(), event.clone());
            three.write(vec![Change::OpenTurn(turn.clone()), Change::Event(event)], wanted).await;
            if wanted.is_ok() {
                three.turns = vec![turn];
            }
        }
        JournalStep::Turn { past, pick } => {
            let seen = three.turns[three.turns.len() - 1 - past.min(three.turns.len() - 1)].clone();
            let Ok(transition) = seen.state.decide(turn_command(pick, &seen.state), now) else { return };
            let event = three.event(EventType::TurnEnded);
            let wanted = three.memory.move_turn(seen.id, &transition, event.clone());
            let change = Change::MoveTurn { turn: seen.id, transition, report: None, evidence: None };
            three.write(vec![change, Change::Event(event)], wanted).await;
            three.turns.extend(three.memory.turns.get(&seen.id).cloned());
        }
        JournalStep::Add { number, pick } => {
            let (mut operation, transition) = three.journal.born(number, birth(pick));
            operation.turn = three.turns[0].id;
            let event = three.event(EventType::OperationAdmitted);
            let wanted = three.memory.add_operation(operation.clone(), &transition, event.clone());
            let id = operation.id;
            let add = Change::AddOperation { operation: Box::new(operation), transition };
            three.write(vec![add, Change::Event(event)], wanted).await;
            if wanted.is_ok() {
                three.operations.insert(number, vec![three.memory.operations[&id].clone()]);
            }
        }
        JournalStep::Move { number, past, pick } => {
            let Some(history) = three.operations.get(&number) else { return };
            let seen = history[history.len() - 1 - past.min(history.len() - 1)].clone();
            let Ok(transition) = seen.state.decide(seen.class, operation_command(pick), now) else { return };
            let event = three.event(EventType::OperationUnknown);
            let wanted = three.memory.move_operation(seen.id, &transition, event.clone());
            let facts = OperationFacts::default();
            let change = Change::MoveOperation { id: seen.id, transition, facts };
            three.write(vec![change, Change::Event(event)], wanted).await;
            let id = OperationId { session: three.journal.session, number };
            three.operations.entry(number).or_default().push(three.memory.operations[&id].clone());
        }
    }
}

fn turn_command(pick: u8, state: &TurnState) -> TurnCommand {
    let answered = TurnEnd::Answered { reason: StopReason::EndTurn, empty: false };
    let lost = TurnEnd::Lost { own_activity: true, detail: "signal 9".to_owned() };
    match (pick, state) {
        (0..=1, _) => TurnCommand::Prompt,
        (2, _) => TurnCommand::Finish { end: answered, in_flight: 3 },
        (3, TurnState::Starting) => TurnCommand::Finish { end: TurnEnd::StoppedFirst, in_flight: 0 },
        (3, _) => TurnCommand::Finish { end: lost, in_flight: 0 },
        (_, _) => TurnCommand::Close { in_flight: 0 },
    }
}

fn birth(pick: u8) -> OperationCommand {
    match pick {
        0 => OperationCommand::Deny { reason: DenyReason::BadArguments, detail: "no title".to_owned() },
        1 => OperationCommand::Await { expires: at(9_999) },
        _ => OperationCommand::Admit,
    }
}

fn operation_command(pick: u8) -> OperationCommand {
    let person = Evidence::of(EvidenceKind::Person, "I looked");
    match pick {
        0 => OperationCommand::Admit,
        1 => OperationCommand::Expire,
        2 => OperationCommand::Withdraw,
        3 => OperationCommand::Settle(Outcome::Result { error: None }),
        4 => OperationCommand::Settle(Outcome::Error { detail: "-32000".to_owned() }),
        5 => OperationCommand::Settle(Outcome::NotSent { detail: "closed".to_owned() }),
        6 | 7 => OperationCommand::Settle(Outcome::Lost { detail: "silence".to_owned() }),
        _ => OperationCommand::Resolve { verdict: Verdict::Abandoned, evidence: person },
    }
}

/// The states that the walk reaches are not only the first ones.
#[test]
fn the_random_commands_can_reach_every_operation_state() {
    let mut seen = vec![OperationState::Requested];
    let mut words = std::collections::BTreeSet::new();
    while let Some(state) = seen.pop() {
        for command in (0..9).map(operation_command).chain((0..3).map(birth)) {
            let class = mate_model::words::EffectClass::Effect;
            if let Ok(transition) = state.decide(class, command, at(1))
                && words.insert(transition.to().word())
            {
                seen.push(transition.to().clone());
            }
        }
    }
    assert_eq!(words.len(), mate_model::operation::OperationStateWord::ALL.len() - 1);
}
