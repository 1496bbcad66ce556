//! The database itself refuses what the model does not allow.

use crate::support::{World, at, draft, on_both, uuid};
use mate_model::{
    Epoch, TurnId,
    event::EventType,
    moves,
    operation::{OperationCommand, OperationStateWord, Outcome},
    task::{TaskCommand, TaskStateWord},
    turn::TurnStateWord,
    words::DenyReason,
};
use mate_store::{Change, ConstraintKind, Database, Statement, StoreError, journal::OperationFacts};
use std::{collections::BTreeSet, sync::Arc};

on_both!(
    the_tables_of_moves_are_the_models,
    no_raw_write_makes_an_illegal_move_of_a_task,
    no_raw_write_makes_an_illegal_move_in_a_journal,
    columns_belong_to_their_states,
    what_is_final_stays_even_when_all_columns_are_made_to_fit,
    a_journal_has_one_active_turn,
);

async fn the_tables_of_moves_are_the_models(world: World) {
    let journal = world.journal().await;
    fn words<W: std::fmt::Display>(births: &[&str], moves: &[(W, W)]) -> BTreeSet<(String, String)> {
        let births = births.iter().map(|to| (String::new(), (*to).to_owned()));
        births.chain(moves.iter().map(|(from, to)| (from.to_string(), to.to_string()))).collect()
    }
    let wanted = [
        (&world.db, "SELECT from_state, to_state FROM task_moves", words(&["proposed"], moves::TASK)),
        (&world.db, "SELECT from_state, to_state FROM session_moves", words(&["idle"], moves::SESSION)),
        (&world.db, "SELECT from_state, to_state FROM approval_moves", words(&["open"], moves::APPROVAL)),
        (&journal.db, "SELECT from_state, to_state FROM turn_moves", words(&["starting"], moves::TURN)),
        (&journal.db, "SELECT from_state, to_state FROM operation_moves", words(&[], moves::OPERATION)),
        (
            &journal.db,
            "SELECT from_state, to_state FROM round_moves",
            words(&["in_flight", "input_required"], moves::ROUND),
        ),
    ];
    for (db, sql, wanted) in wanted {
        let rows = db.fetch(sql, vec![]).await.unwrap();
        let pair = |row: &mate_store::Row| {
            (row.text("from_state").unwrap().to_owned(), row.text("to_state").unwrap().to_owned())
        };
        assert_eq!(rows.iter().map(pair).collect::<BTreeSet<_>>(), wanted, "{sql}");
    }
}

async fn refused(db: &Arc<dyn Database>, sql: &'static str, id: &str, word: &str) -> StoreError {
    let error = db.execute(Statement::any(sql, vec![id.into(), word.into()])).await;
    let error = error.expect_err(&format!("{sql} with {word}"));
    assert!(matches!(error, StoreError::Constraint { .. }), "{word}: {error}");
    error
}

async fn no_raw_write_makes_an_illegal_move_of_a_task(world: World) {
    let session = world.add_session().await;
    let proposed = world.submit(session.id).await;
    let running = world.running(session.id).await;
    let rejected = world.submit(session.id).await;
    let reject = TaskCommand::Reject { by: world.account, reason: "no".to_owned() };
    let rejected = world.command(&rejected, reject).await;
    let ended = world.accepted(session.id).await;
    let ended = world.command(&ended, TaskCommand::Stop { by: Some(world.account), kill: false }).await;
    for task in [proposed, running, rejected, ended] {
        let from = task.state.word();
        for to in TaskStateWord::ALL {
            let legal = moves::TASK.contains(&(from, *to));
            let id = task.id.to_string();
            if !legal {
                let sql = "UPDATE tasks SET from_state = state, state = $2 WHERE id = $1";
                refused(&world.db, sql, &id, to.as_str()).await;
            }
            if from != TaskStateWord::Running && *to != from {
                // Without saying where it starts.
                refused(&world.db, "UPDATE tasks SET state = $2 WHERE id = $1", &id, to.as_str()).await;
            }
        }
        assert_eq!(world.ledger.task(task.id).await.unwrap(), Some(task));
    }
}

async fn no_raw_write_makes_an_illegal_move_in_a_journal(world: World) {
    let journal = world.journal().await;
    let deny = OperationCommand::Deny { reason: DenyReason::NotGranted, detail: "no".to_owned() };
    for (number, command) in
        [(1, deny), (2, OperationCommand::Await { expires: at(99) }), (3, OperationCommand::Admit)]
    {
        let (operation, transition) = journal.born(number, command);
        let from = transition.to().word();
        let operation = Box::new(operation);
        journal.writer.write(vec![Change::AddOperation { operation, transition }]).await.unwrap();
        let illegal = |to: &&OperationStateWord| !moves::OPERATION.contains(&(from, **to));
        for to in OperationStateWord::ALL.iter().filter(illegal) {
            let sql = "UPDATE operations SET from_state = state, state = $2
                WHERE session = $1 AND number = (SELECT MAX(number) FROM operations)";
            refused(&journal.db, sql, &journal.session.to_string(), to.as_str()).await;
        }
    }
    for to in [TurnStateWord::Starting, TurnStateWord::Settling] {
        let sql = "UPDATE turns SET from_state = state, state = $2 WHERE session = $1";
        refused(&journal.db, sql, &journal.session.to_string(), to.as_str()).await;
    }
}

async fn columns_belong_to_their_states(world: World) {
    let session = world.add_session().await;
    let task = world.running(session.id).await;
    let id = task.id.to_string();
    for sql in [
        "UPDATE tasks SET turn = NULL WHERE id = $1 AND state <> $2",
        "UPDATE tasks SET epoch = 0 WHERE id = $1 AND state <> $2",
        "UPDATE tasks SET end_json = '{}' WHERE id = $1 AND state <> $2",
        "UPDATE tasks SET stop_by = proposer, stop_at = 1 WHERE id = $1 AND state <> $2",
        "UPDATE tasks SET from_state = state, state = 'unknown' WHERE id = $1 AND state <> $2",
        "UPDATE tasks SET from_state = state, state = 'completed' WHERE id = $1 AND state <> $2",
        "UPDATE tasks SET from_state = state, state = 'stop_requested' WHERE id = $1 AND state <> $2",
    ] {
        let error = refused(&world.db, sql, &id, "none").await;
        assert!(error.is_constraint(ConstraintKind::Check), "{sql}: {error}");
    }
    let journal = world.journal().await;
    let (operation, transition) = journal.born(1, OperationCommand::Admit);
    let operation = Box::new(operation);
    journal.writer.write(vec![Change::AddOperation { operation, transition }]).await.unwrap();
    for sql in [
        "UPDATE operations SET admitted_at = NULL WHERE session = $1 AND state <> $2",
        "UPDATE operations SET from_state = state, state = 'succeeded' WHERE session = $1 AND state <> $2",
        "UPDATE operations SET from_state = state, state = 'unknown' WHERE session = $1 AND state <> $2",
        "UPDATE turns SET from_state = state, state = 'ended' WHERE session = $1 AND state <> $2",
        "UPDATE turns SET from_state = state, state = 'prompted' WHERE session = $1 AND state <> $2",
    ] {
        let error = refused(&journal.db, sql, &journal.session.to_string(), "none").await;
        assert!(error.is_constraint(ConstraintKind::Check), "{sql}: {error}");
    }
}

async fn a_journal_has_one_active_turn(world: World) {
    let journal = world.journal().await;
    let second = crate::support::new_turn(2, journal.task);
    let started = draft(EventType::TurnStarted, Some(journal.task));
    let refused = journal.writer.write(vec![Change::OpenTurn(second), Change::Event(started)]).await;
    assert!(matches!(refused, Err(mate_store::JournalError::Conflict(_))), "{refused:?}");
    assert_eq!(journal.writer.reader().active_turn().await.unwrap(), Some(journal.turn.clone()));
    assert_eq!(journal.writer.reader().head().await.unwrap().unwrap().seq, 1);
    let session = world.add_session().await;
    let task = world.running(session.id).await;
    // In the ledger it is the unique index that says so, whoever writes.
    let other = world.accepted(session.id).await;
    let sql = "UPDATE tasks SET from_state = state, state = 'running', turn = $2, epoch = 1, started_at = 1
        WHERE id = $1";
    let error = world
        .db
        .execute(Statement::any(sql, vec![other.id.into(), TurnId::new(uuid()).into()]))
        .await
        .unwrap_err();
    assert!(error.is_constraint(ConstraintKind::Unique), "{error}");
    assert_eq!(task.state.run().map(|run| run.epoch), Some(Epoch(1)));
}

/// The table of moves and the checks would take these rows: only where the move starts gives them away.
async fn what_is_final_stays_even_when_all_columns_are_made_to_fit(world: World) {
    let session = world.add_session().await;
    let task = world.submit(session.id).await;
    let reject = TaskCommand::Reject { by: world.account, reason: "no".to_owned() };
    let task = world.command(&task, reject).await;
    let sql = "UPDATE tasks SET state = 'accepted', approved_by = proposer, approved_at = 1, ended_at = NULL,
        rejected_by = NULL, reject_reason = NULL WHERE id = $1 AND state <> $2";
    refused(&world.db, sql, &task.id.to_string(), "none").await;
    assert_eq!(world.ledger.task(task.id).await.unwrap(), Some(task));
    let journal = world.journal().await;
    let (operation, transition) = journal.born(1, OperationCommand::Admit);
    let (id, settle) = (operation.id, OperationCommand::Settle(Outcome::Result { error: None }));
    let settled = operation.state.decide(operation.class, settle, at(30)).unwrap();
    let change = Change::MoveOperation { id, transition: settled.clone(), facts: OperationFacts::default() };
    let born = Change::AddOperation { operation: Box::new(operation), transition };
    journal.writer.write(vec![born, change]).await.unwrap();
    let sql = "UPDATE operations SET state = 'unknown', evidence = NULL, detail = 'perhaps'
        WHERE session = $1 AND state <> $2";
    refused(&journal.db, sql, &journal.session.to_string(), "none").await;
    let stored = journal.writer.reader().operation(id).await.unwrap().unwrap();
    assert_eq!(stored.state, *settled.to());
}
