//! What changes while a call waits for leave: its grant, its tool, the clock.

use super::{asking, asking_under, note};
use crate::harness::{Store, World, id, on_both_stores, program, run};
use serde_json::json;
use std::fs;

on_both_stores!(
    g07_a_call_does_not_go_out_under_another_grant_than_it_was_asked_under,
    g13_with_a_clock_that_is_behind_nothing_is_allowed_and_all_can_be_ended,
);

fn grant(world: &World, terms: &[&str]) -> String {
    let words = ["grant", "add", "--project", "default", "--connection", "demo", "--tools", "*"];
    id(&world.ok(&[words.as_slice(), terms].concat()))
}

fn g07_a_call_does_not_go_out_under_another_grant_than_it_was_asked_under(store: Store) {
    let world = asking(store, "always", "");
    let first = id(&world.ok(&["grant", "list"])["items"][0]);
    let again = json!({"tool": "demo__note", "args": {"text": "a"}, "unlisted": true});
    let task = id(&world.submit(&json!([note("a"), again, {"text": "done"}])));
    let asked = id(&world.until_asked(1)[0]);
    let second = grant(&world, &["--approve", "always", "--max-calls", "1"]);
    world.ok(&["grant", "revoke", &first]);
    world.until_state(&asked, "withdrawn");
    world.until_told("call again: it is judged anew");
    // Asked anew, it goes out under the grant that covers it, which counts it.
    let anew = id(&world.until_asked(1)[0]);
    world.ok(&["approval", "allow", &anew]);
    let (ended, code) = world.wait(&task);
    assert_eq!((code, world.count("begin", "note")), (0, 1), "{ended}");
    let operations = world.operations(&task);
    assert_eq!(operations[0]["deny_reason"], "grant_changed", "{operations:?}");
    assert_eq!((&operations[1]["state"], &operations[1]["grant"]), (&json!("succeeded"), &json!(second)));
    assert_eq!(world.ok(&["grant", "show", &second])["used_calls"], 1);
}

/// Held between the intent and the second read: another grant covers the call than the one whose limits were reserved.
#[cfg(feature = "faults")]
#[test]
fn g07_the_second_read_lets_nothing_out_under_another_grant() {
    let world = World::new(Store::Sqlite);
    let first = id(&world.ok(&["grant", "list"])["items"][0]);
    let faults = world.path("faults");
    fs::create_dir_all(&faults).expect("made");
    fs::write(faults.join("admit.intended"), "session-worker 1").expect("armed");
    let task = id(&world.submit(&json!([note("a")])));
    crate::harness::until("the intent", || {
        let names = fs::read_dir(&faults).expect("there").flatten();
        let held = |name: &str| name.starts_with("admit.intended.hit.");
        names.map(|name| name.file_name()).any(|name| held(&name.to_string_lossy())).then_some(())
    });
    let second = grant(&world, &["--max-spend", "1", "--cost", "5"]);
    world.ok(&["grant", "revoke", &first]);
    fs::write(faults.join("admit.intended.go"), "").expect("let go");
    world.wait(&task);
    assert_eq!(world.operation_states(&task), ["note:not_sent"]);
    assert_eq!(
        (world.count("begin", "note"), &world.ok(&["grant", "show", &second])["used_calls"]),
        (0, &json!(0))
    );
}

#[test]
fn g07_a_definition_that_another_session_saw_change_stops_what_waits() {
    let world = World::empty(Store::Sqlite);
    world.scripted("scripted", &[]);
    let file = world.path("definitions.json");
    world.upstream("demo", &["--definitions", file.to_str().expect("text")]);
    grant(&world, &["--approve", "always"]);
    let task = id(&world.submit(&json!([note("a"), {"text": "done"}])));
    let asked = id(&world.until_asked(1)[0]);
    fs::write(&file, json!({"note": {"description": "Pays in dollars."}}).to_string()).expect("written");
    let other = id(&world.submit(&json!([
        {"tool": "demo__note", "args": {"text": "b"}, "unlisted": true}, {"text": "done"}
    ])));
    world.wait(&other);
    let allowed = world.cli(&["approval", "allow", &asked]);
    let (ended, code) = world.wait(&task);
    assert_eq!((code, world.count("begin", "note")), (0, 0), "{ended} {allowed:?}");
    for task in [&task, &other] {
        assert_eq!(world.operations(task)[0]["deny_reason"], "definition_changed");
    }
}

#[test]
fn g07_a_grant_with_approval_keeps_it_when_only_its_time_or_calls_are_over() {
    let world = asking_under(Store::Sqlite, "always", "", &["--max-calls", "1"]);
    grant(&world, &[]);
    let words = ["grant", "add", "--project", "default", "--connection", "demo", "--tools", "note"];
    world.ok(&[words.as_slice(), &["--approve", "always", "--max-calls", "1"]].concat());
    let task = id(&world.submit(&json!([note("a"), note("b"), {"text": "done"}])));
    for decision in ["allow", "deny"] {
        let asked = id(&world.until_asked(1)[0]);
        world.ok(&["approval", decision, &asked]);
    }
    let (ended, code) = world.wait(&task);
    assert_eq!((code, world.count("begin", "note")), (0, 1), "{ended}");
    assert_eq!(world.operation_states(&task), ["note:succeeded", "note:denied"]);
}

#[test]
fn g07_a_tool_whose_name_cannot_be_recorded_is_not_called() {
    let world = World::empty(Store::Sqlite);
    world.scripted("scripted", &[]);
    let log = world.path("effects.log");
    let mut add =
        world.command(&["--json", "connection", "add", "demo", "--secret-env", "STAGE", "--", program()]);
    add.args(["effect-server", "--log", log.to_str().expect("text")]).env("STAGE", "note");
    assert_eq!(run(add, None).code, 0);
    grant(&world, &[]);
    let call = |tool: &str| json!({"tool": tool, "args": {"text": "a"}, "unlisted": true});
    let (task, _) = world.carry_out(&json!([call("demo__note"), call("demo__echo"), {"text": "done"}]));
    let operations = world.operations(&id(&task));
    assert_eq!(operations[0]["deny_reason"], "unknown_tool", "{operations:?}");
    assert_eq!((&operations[1]["state"], world.count("begin", "note")), (&json!("succeeded"), 0));
    world.until_told("it cannot be recorded as it is");
}

/// Sets the ledger's highest time two hours ahead: as if the clock had been set back.
fn clock_behind(world: &World, store: Store) {
    let update = "UPDATE meta SET value = value + 7200000000 WHERE name = 'highest_time'";
    match store {
        Store::Sqlite => {
            let ledger = rusqlite::Connection::open(world.home().join("ledger.db")).expect("opens");
            assert_eq!(ledger.execute(update, []).expect("set"), 1);
        }
        Store::Postgres => {
            let url = world.database_url().expect("a database").to_owned();
            mate_testkit::postgres::run(&url, &[update]).expect("set");
        }
    }
}

fn g13_with_a_clock_that_is_behind_nothing_is_allowed_and_all_can_be_ended(store: Store) {
    let mut world = asking(store, "always", "");
    let task = id(&world.submit(&json!([note("a"), note("b"), {"sleep_ms": 60000, "text": "done"}])));
    let asked = id(&world.until_asked(1)[0]);
    world.kill_serve();
    clock_behind(&world, store);
    world.start_serve();
    let refused = world.cli(&["approval", "allow", &asked]);
    assert_eq!((refused.code, refused.error_code().as_str()), (4, "clock_behind"), "{refused:?}");
    assert!(
        refused.stderr.contains("set it right") || refused.stdout.contains("set it right"),
        "{refused:?}"
    );
    assert_eq!(world.cli(&["task", "add", "--project", "default", "x"]).error_code(), "clock_behind");
    world.ok(&["approval", "deny", &asked]);
    world.policy("nothing", "forbid (principal, action, resource);");
    let grant = id(&world.ok(&["grant", "list"])["items"][0]);
    world.ok(&["grant", "revoke", &grant]);
    world.ok(&["task", "stop", &task]);
    let (ended, code) = world.wait(&task);
    assert_eq!((&ended["state"], code, world.count("begin", "note")), (&json!("stopped"), 7, 0), "{ended}");
}
