//! Writing and reading a journal.

use crate::support::{Journal, World, at, draft, new_turn, on_both, uuid};
use mate_model::{
    Epoch, OperationId, TaskId,
    event::EventType,
    operation::{OperationCommand, OperationState, OperationStateWord, Outcome},
    task::StopEvidence,
    turn::{TurnCommand, TurnEnd},
    words::{Context, DenyReason, EffectClass, ReportStatus, StopReason},
};
use mate_store::{
    Change, JournalError, JournalWriter, StoreError,
    journal::Equals,
    journal::{BULK, OperationFacts},
};

on_both!(
    g03_a_permission_to_send_comes_only_from_a_committed_intent,
    a_turn_and_its_operations_read_back,
    g04_an_uncertain_call_is_found_however_many_equal_ones_came_after_it,
    a_result_is_kept_until_it_is_dropped,
    one_bad_write_spoils_no_other,
    g10_sixteen_sessions_number_their_events_without_gaps,
    twenty_thousand_open_operations_are_classified,
    a_changed_event_breaks_the_chain,
    what_the_store_cannot_hold_is_refused_whole,
);

fn admit(journal: &Journal, number: u64) -> Vec<Change> {
    let (operation, transition) = journal.born(number, OperationCommand::Admit);
    let admitted = draft(EventType::OperationAdmitted, Some(journal.task));
    vec![Change::AddOperation { operation: Box::new(operation), transition }, Change::Event(admitted)]
}

fn settle(journal: &Journal, number: u64, outcome: Outcome) -> Change {
    let id = OperationId { session: journal.session, number };
    let settle = OperationCommand::Settle(outcome);
    let transition = OperationState::InFlight.decide(EffectClass::Effect, settle, at(40)).unwrap();
    Change::MoveOperation { id, transition, facts: OperationFacts::default() }
}

async fn g03_a_permission_to_send_comes_only_from_a_committed_intent(world: World) {
    let journal = world.journal().await;
    let written = journal.writer.write(admit(&journal, 1)).await.unwrap();
    assert_eq!(written.permits.iter().map(|p| p.operation().number).collect::<Vec<_>>(), [1]);
    assert!(written.prompt.is_none());
    // The same number again: nothing is written and nothing may be sent.
    let again = journal.writer.write(admit(&journal, 1)).await;
    assert!(matches!(again, Err(JournalError::Conflict(_))), "{again:?}");
    assert_eq!(journal.writer.reader().head().await.unwrap().unwrap().seq, written.seq);
    let prompt = journal.turn.state.decide(TurnCommand::Prompt, at(30)).unwrap();
    let prompted = || Change::MoveTurn {
        turn: journal.turn.id,
        transition: prompt.clone(),
        report: None,
        evidence: None,
    };
    assert!(journal.writer.write(vec![prompted()]).await.unwrap().prompt.is_some());
    assert!(matches!(journal.writer.write(vec![prompted()]).await, Err(JournalError::Conflict(_))));
    let settled = journal.writer.write(vec![settle(&journal, 1, Outcome::Result { error: None })]).await;
    assert!(settled.unwrap().permits.is_empty());
}

async fn a_turn_and_its_operations_read_back(world: World) {
    let journal = world.journal().await;
    let (writer, reader) = (&journal.writer, journal.writer.reader());
    let (operation, transition) = journal.born(1, OperationCommand::Await { expires: at(99) });
    writer
        .write(vec![Change::AddOperation { operation: Box::new(operation.clone()), transition }])
        .await
        .unwrap();
    assert_eq!(reader.operation(operation.id).await.unwrap(), Some(operation.clone()));
    let admitted = operation.state.decide(operation.class, OperationCommand::Admit, at(30)).unwrap();
    let facts = OperationFacts { sent_at: Some(at(31)), ..OperationFacts::default() };
    let change = Change::MoveOperation { id: operation.id, transition: admitted, facts };
    assert_eq!(writer.write(vec![change]).await.unwrap().permits.len(), 1);
    let lost = settle(&journal, 1, Outcome::Lost { detail: "gone".to_owned() });
    writer.write(vec![lost]).await.unwrap();
    let stored = reader.operation(operation.id).await.unwrap().unwrap();
    assert_eq!(stored.state, OperationState::Unknown { detail: "gone".to_owned() });
    let times = (stored.admitted_at, stored.sent_at, stored.answered_at, stored.recorded_at);
    assert_eq!(times, (Some(at(30)), Some(at(31)), None, Some(at(40))));
    let unknown = Some(OperationStateWord::Unknown);
    assert_eq!(reader.operations(None, unknown, 0, 9).await.unwrap().items, std::slice::from_ref(&stored));
    assert_eq!(reader.unknown_count(journal.turn.id).await.unwrap(), 1);
    let deny = OperationCommand::Deny { reason: DenyReason::LimitReached, detail: "5 calls".to_owned() };
    let (denied, transition) = journal.born(2, deny);
    writer.write(vec![Change::AddOperation { operation: Box::new(denied), transition }]).await.unwrap();
    writer.write(admit(&journal, 3)).await.unwrap();
    let open = reader.open_operations(0, 9).await.unwrap().items;
    assert_eq!(open.iter().map(|o| o.id.number).collect::<Vec<_>>(), [3]);
    assert_eq!(reader.open_count().await.unwrap(), 1);
    let of_task = reader.operations(Some(journal.task), None, 1, 9).await.unwrap().items;
    assert_eq!(of_task.iter().map(|o| o.id.number).collect::<Vec<_>>(), [2, 3]);
    let of_task = reader.operations(Some(journal.task), unknown, 0, 9).await.unwrap().items;
    assert_eq!(of_task, [stored]);
    assert_eq!(reader.operations(Some(TaskId::new(uuid())), None, 0, 9).await.unwrap().items, []);
    end_of_turn(&journal).await;
}

async fn end_of_turn(journal: &Journal) {
    let (writer, reader) = (&journal.writer, journal.writer.reader());
    let turn = journal.turn.id;
    let evidence = StopEvidence::ContainerEmpty {
        means: "pid_namespace".to_owned(),
        at: at(50),
        proof: "no process".to_owned(),
    };
    let prompt = journal.turn.state.decide(TurnCommand::Prompt, at(45)).unwrap();
    let end = TurnEnd::Answered { reason: StopReason::EndTurn, empty: false };
    let settling =
        prompt.to().decide(TurnCommand::Finish { end: end.clone(), in_flight: 1 }, at(46)).unwrap();
    let ended = settling.to().decide(TurnCommand::Close { in_flight: 0 }, at(47)).unwrap();
    let step = |transition, report| Change::MoveTurn { turn, transition, report, evidence: None };
    writer
        .write(vec![
            step(prompt, None),
            Change::SetOwnActivity { turn, count: 2 },
            Change::SetContext {
                turn,
                context: Context::Loaded,
                conversation: Some("agents-own".to_owned()),
                note: Some("what is on record".to_owned()),
            },
            Change::SetReport { turn, status: ReportStatus::Blocked },
            step(settling, None),
            step(ended.clone(), Some(ReportStatus::Done)),
            Change::SetEvidence { turn, evidence: evidence.clone() },
        ])
        .await
        .unwrap();
    let stored = reader.turn(turn).await.unwrap().unwrap();
    assert_eq!(stored.state, *ended.to());
    assert_eq!((stored.report, stored.own_activity), (Some(ReportStatus::Done), 2));
    assert_eq!(stored.evidence, Some(evidence));
    assert_eq!(
        (stored.context, stored.conversation.as_deref(), stored.note.as_deref()),
        (Some(Context::Loaded), Some("agents-own"), Some("what is on record"))
    );
    assert_eq!(reader.last_prompted(None).await.unwrap().as_ref(), Some(&stored));
    assert_eq!(reader.last_prompted(Some(TaskId::new(uuid()))).await.unwrap(), None);
    assert_eq!(reader.active_turn().await.unwrap(), None);
    writer.write(vec![Change::OpenTurn(new_turn(2, TaskId::new(uuid())))]).await.unwrap();
    assert_eq!(reader.turns(None, 0, 9).await.unwrap().items.len(), 2);
    assert_eq!(reader.turns(Some(journal.task), 0, 9).await.unwrap().items, [stored]);
}

async fn g04_an_uncertain_call_is_found_however_many_equal_ones_came_after_it(world: World) {
    let journal = world.journal().await;
    let (connection, digest) = ("tracker", "ab".repeat(32));
    let reader = journal.writer.reader();
    for number in 1..=2 {
        journal.writer.write(admit(&journal, number)).await.unwrap();
    }
    assert_eq!(reader.equals(connection, "issue_create", &digest, None).await.unwrap(), Equals::default());
    let lost = OperationCommand::Settle(Outcome::Lost { detail: "gone".to_owned() });
    let transition = OperationState::InFlight.decide(EffectClass::Effect, lost, at(30)).unwrap();
    let id = OperationId { session: journal.session, number: 1 };
    let facts = OperationFacts::default();
    journal.writer.write(vec![Change::MoveOperation { id, transition, facts }]).await.unwrap();
    for number in 3..=150 {
        journal.writer.write(admit(&journal, number)).await.unwrap();
    }
    let found = reader.equals(connection, "issue_create", &digest, None).await.unwrap().uncertain.unwrap();
    assert_eq!(found.id, id);
    assert_eq!(reader.equals(connection, "issue_close", &digest, None).await.unwrap(), Equals::default());
}

async fn a_result_is_kept_until_it_is_dropped(world: World) {
    let journal = world.journal().await;
    let operation = OperationId { session: journal.session, number: 1 };
    let mut changes = admit(&journal, 1);
    changes.push(Change::KeepResult { operation, sealed: Some(vec![1, 2, 0]) });
    journal.writer.write(changes).await.unwrap();
    let reader = journal.writer.reader();
    assert_eq!(reader.kept_result(operation).await.unwrap(), Some(Some(vec![1, 2, 0])));
    for _ in 0..2 {
        journal.writer.write(vec![Change::DropResult { operation }]).await.unwrap();
        assert_eq!(reader.kept_result(operation).await.unwrap(), None);
    }
}

async fn one_bad_write_spoils_no_other(world: World) {
    let journal = world.journal().await;
    journal.writer.write(admit(&journal, 1)).await.unwrap();
    let mut writes = Vec::new();
    for number in 1..=40 {
        let (writer, changes) = (journal.writer.clone(), admit(&journal, number));
        writes.push(tokio::spawn(async move { writer.write(changes).await }));
    }
    for (write, number) in writes.into_iter().zip(1u64..) {
        let result = write.await.unwrap();
        match number {
            1 => assert!(matches!(result, Err(JournalError::Conflict(_))), "{result:?}"),
            _ => assert_eq!(result.unwrap().permits[0].operation().number, number),
        }
    }
    let reader = journal.writer.reader();
    assert_eq!(reader.open_count().await.unwrap(), 40);
    assert_eq!(reader.head().await.unwrap().unwrap().seq, 41);
    assert_eq!(reader.verify_chain().await.unwrap().broken, None);
}

async fn g10_sixteen_sessions_number_their_events_without_gaps(world: World) {
    let mut sessions = Vec::new();
    for _ in 0..16 {
        sessions.push(world.journal().await);
    }
    let mut writers = Vec::new();
    for journal in &sessions {
        for task in [journal.task, TaskId::new(uuid())] {
            let writer = journal.writer.clone();
            writers.push(tokio::spawn(async move {
                for _ in 0..25 {
                    let said = draft(EventType::AgentMessage, Some(task));
                    writer.write(vec![Change::Event(said)]).await.unwrap();
                }
            }));
        }
    }
    for writer in writers {
        writer.await.unwrap();
    }
    for journal in &sessions {
        let reader = journal.writer.reader();
        let events = reader.events(None, 0, 1_000).await.unwrap().items;
        assert_eq!(events.iter().map(|e| e.seq).collect::<Vec<_>>(), (1..=51).collect::<Vec<_>>());
        for (index, event) in events.iter().enumerate() {
            let before = events[..index].iter().rev().find(|e| e.task == event.task).map(|e| e.seq);
            assert_eq!((event.prev, event.epoch), (before, Some(Epoch(1))));
        }
        assert_eq!(reader.events(Some(journal.task), 0, 99).await.unwrap().items.len(), 26);
        assert_eq!(reader.tail(None, 5).await.unwrap().items, events[46..]);
        let tail = reader.tail(Some(journal.task), 1).await.unwrap().items;
        assert_eq!(tail.last(), events.iter().rfind(|e| e.task == Some(journal.task)));
        let report = reader.verify_chain().await.unwrap();
        assert_eq!((report.good, report.broken), (51, None));
    }
}

async fn twenty_thousand_open_operations_are_classified(world: World) {
    let journal = world.journal().await;
    let total = 20_000;
    for start in (1..=total).step_by(BULK) {
        let chunk = (start..=total.min(start + BULK as u64 - 1)).map(|number| {
            let (operation, transition) = journal.born(number, OperationCommand::Admit);
            Change::AddOperation { operation: Box::new(operation), transition }
        });
        journal.writer.write(chunk.collect()).await.unwrap();
    }
    let (writer, found) =
        JournalWriter::take_over(journal.db.clone(), journal.session, Epoch(2), at(60)).await.unwrap();
    assert_eq!((found.previous_epoch, found.next_operation), (Some(Epoch(1)), total + 1));
    let reader = writer.reader();
    loop {
        let open = reader.open_operations(0, 1_000).await.unwrap().items;
        if open.is_empty() {
            break;
        }
        let moves = open.iter().map(|operation| {
            let lost = OperationCommand::Settle(Outcome::Lost { detail: "the worker died".to_owned() });
            let transition = operation.state.decide(operation.class, lost, at(61)).unwrap();
            (operation.id, transition, draft(EventType::OperationUnknown, Some(operation.task)))
        });
        writer.move_all(moves.collect()).await.unwrap();
    }
    assert_eq!(reader.unknown_count(journal.turn.id).await.unwrap(), total);
    assert_eq!(reader.head().await.unwrap().unwrap().seq, 1 + i64::try_from(total).unwrap());
}

async fn a_changed_event_breaks_the_chain(world: World) {
    let journal = world.journal().await;
    for number in 1..=4 {
        journal.writer.write(admit(&journal, number)).await.unwrap();
    }
    let reader = journal.writer.reader();
    assert_eq!(reader.verify_chain().await.unwrap().good, 5);
    let sql = "UPDATE journal_events SET epoch = 2 WHERE session = $1 AND seq = 4";
    journal.db.execute(mate_store::Statement::one(sql, vec![journal.session.into()])).await.unwrap();
    let report = reader.verify_chain().await.unwrap();
    assert_eq!((report.good, report.broken.map(|broken| broken.seq)), (3, Some(4)));
}

async fn what_the_store_cannot_hold_is_refused_whole(world: World) {
    let journal = world.journal().await;
    let (mut operation, transition) = journal.born(1, OperationCommand::Admit);
    operation.tool = "a\0b".to_owned();
    let event = Change::Event(draft(EventType::OperationAdmitted, Some(journal.task)));
    let changes = vec![event.clone(), Change::AddOperation { operation: Box::new(operation), transition }];
    let refused = journal.writer.write(changes).await;
    assert!(matches!(refused, Err(JournalError::Store(StoreError::NulInText { .. }))), "{refused:?}");
    let many = vec![event; BULK + 1];
    assert!(matches!(journal.writer.write(many).await, Err(JournalError::TooMany { .. })));
    let elsewhere = world.journal().await;
    let refused = journal.writer.write(admit(&elsewhere, 1)).await;
    assert!(matches!(refused, Err(JournalError::Store(StoreError::Misuse(_)))), "{refused:?}");
    assert_eq!(journal.writer.reader().head().await.unwrap().unwrap().seq, 1);
    journal.writer.write(admit(&journal, 1)).await.unwrap();
}
