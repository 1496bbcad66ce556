//! A row that cannot be read: its session is set aside and shown, and every other goes on.

use super::records::Records;
use crate::harness::{Process, Store, World, id, on_both_stores, stub, until};
use mate_model::task::TaskStateWord;
use serde_json::{Value, json};

on_both_stores!(
    g11_a_poisoned_session_blocks_no_other,
    g11_a_poisoned_task_blocks_no_other,
    g11_a_poisoned_turn_blocks_no_other,
    g11_a_poisoned_operation_blocks_no_other,
    g11_a_poisoned_head_of_a_journal_blocks_no_other,
    g05_a_journal_behind_its_epoch_is_lost_and_blocks_no_other,
);

fn g11_a_poisoned_session_blocks_no_other(store: Store) {
    blocks_no_other(store, "sessions", "runtime = 'nonsense'", "id");
}

fn g11_a_poisoned_task_blocks_no_other(store: Store) {
    blocks_no_other(store, "tasks", "policy = '{'", "session");
}

fn g11_a_poisoned_turn_blocks_no_other(store: Store) {
    blocks_no_other(store, "turns", "task = 'nonsense'", "session");
}

fn g11_a_poisoned_operation_blocks_no_other(store: Store) {
    blocks_no_other(store, "operations", "class = 'nonsense'", "session");
}

fn g11_a_poisoned_head_of_a_journal_blocks_no_other(store: Store) {
    blocks_no_other(store, "journal_heads", "head = substr(head, 1, 5)", "session");
}

fn g05_a_journal_behind_its_epoch_is_lost_and_blocks_no_other(store: Store) {
    blocks_no_other(store, "journal_heads", "epoch = -3", "session");
}

/// Two sessions are killed in a call; a row of the first is spoilt.
fn blocks_no_other(store: Store, table: &str, set: &str, column: &str) {
    let mut world = World::new(store);
    let slow = |key: &str| json!([{"tool": "demo__slow", "args": {"seconds": 60, "key": key}}]);
    let poisoned = world.submit(&slow("poisoned"));
    let well = world.submit(&slow("well"));
    world.until_begun("slow", 2);
    world.kill_serve();
    world.processes("").iter().for_each(Process::kill);
    world.assert_sessions_are_gone();
    let session = poisoned["session"].as_str().expect("a session").to_owned();
    spoil(&world, store, table, &format!("UPDATE {table} SET {set} WHERE {column} = '{session}'"), &session);

    world.start_serve();
    let records = Records::of(&world);
    assert_eq!(records.until_classified(&id(&well)), TaskStateWord::Unknown, "the other is classified");
    let next = stub(&json!([{"tool": "demo__note", "args": {"text": "next"}}]));
    let other = well["session"].as_str().expect("a session");
    let next = world.ok(&["task", "add", "--project", "default", "--session", other, "--approve", &next]);
    assert_eq!(records.until_classified(&id(&next)), TaskStateWord::Completed, "and goes on");
    let fresh = world.submit(&json!([{"tool": "demo__note", "args": {"text": "fresh"}}]));
    assert_eq!(records.until_classified(&id(&fresh)), TaskStateWord::Completed, "new work is done");

    if set.starts_with("epoch") {
        // What says how far the journal was is gone: no more can be proved of its task.
        let state = records.until_classified(&id(&poisoned));
        assert_eq!(
            (state, &world.task(&id(&poisoned))["uncertain"]),
            (TaskStateWord::Unknown, &json!("journal_lost"))
        );
        return;
    }
    let told = until("doctor's word on it", || told_of(&world));
    assert!(told.contains(&session) || told.contains(table), "{told}");
    let shown = world.cli(&["task", "show", &id(&poisoned)]);
    assert!(shown.code != 0 || shown.json()["set_aside"].is_string(), "the task says it: {shown:?}");
    assert_eq!(world.count("begin", "slow"), 2, "nothing is sent again");
}

/// What doctor says of sessions, once it has something to say.
fn told_of(world: &World) -> Option<String> {
    let output = world.cli(&["doctor"]);
    let checks: Value = output.json();
    let checks = checks["checks"].as_array().expect("checks");
    let one = checks.iter().find(|check| check["name"] == "sessions" && check["ok"] == false)?;
    one["detail"].as_str().map(str::to_owned)
}

/// Writes what the schema would refuse.
fn spoil(world: &World, store: Store, table: &str, update: &str, session: &str) {
    match store {
        Store::Sqlite => {
            let file = match table {
                "sessions" | "tasks" => world.home().join("ledger.db"),
                _ => world.session_folder(session).join("journal.db"),
            };
            let spoilt = rusqlite::Connection::open(file).expect("opens");
            spoilt
                .execute_batch(&format!(
                    "PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF; {update};"
                ))
                .expect("spoilt");
            assert!(spoilt.changes() > 0, "{update}");
        }
        Store::Postgres => {
            let url = world.database_url().expect("a database").to_owned();
            let drop_checks = format!(
                "DO $$ DECLARE one TEXT; BEGIN
                    FOR one IN SELECT conname FROM pg_constraint
                        WHERE conrelid = '{table}'::regclass AND contype IN ('c', 'f') LOOP
                        EXECUTE format('ALTER TABLE {table} DROP CONSTRAINT %I CASCADE', one);
                    END LOOP; END $$"
            );
            mate_testkit::postgres::run(&url, &[&drop_checks, update]).expect("spoilt");
        }
    }
}
