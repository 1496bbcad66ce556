//! Limits of rate and of spending.

use crate::harness::{Store, World, id, on_both_stores};
use serde_json::{Value, json};
use std::fs;

on_both_stores!(sessions_at_once_do_not_spend_more_than_there_is);

/// A world with a grant of all tools, and what else it says.
fn limited(store: Store, terms: &[&str]) -> (World, String) {
    let world = World::empty(store);
    world.scripted("scripted", &[]);
    world.upstream("demo", &[]);
    let words = ["grant", "add", "--project", "default", "--connection", "demo", "--tools", "*"];
    let grant = id(&world.ok(&[&words, terms].concat()));
    (world, grant)
}

fn note(text: &str) -> Value {
    json!({"tool": "demo__note", "args": {"text": text}, "unlisted": true})
}

fn told(world: &World) -> String {
    fs::read_to_string(world.path("told.log")).expect("told")
}

/// Four sessions with five calls of 3.5 each: 20 at the most.
fn sessions_at_once_do_not_spend_more_than_there_is(store: Store) {
    let (world, grant) =
        limited(store, &["--max-spend", "20", "--spend-field", "note.text", "--cost", "0.5"]);
    let call = |session: usize, number: usize| note(&format!("3.0000{session}{number}"));
    let tasks: Vec<String> = (1..=4)
        .map(|session| id(&world.submit(&(1..=5).map(|number| call(session, number)).collect())))
        .collect();
    let mut states = Vec::new();
    for task in &tasks {
        world.wait(task);
        states.extend(world.operation_states(task));
    }
    let done = states.iter().filter(|state| *state == "note:succeeded").count();
    assert_eq!((done, states.len(), world.count("begin", "note")), (5, 20, 5), "{states:?}");
    let shown = world.ok(&["grant", "show", &grant]);
    let used: f64 = shown["used_spend"].as_str().expect("an amount").parse().expect("a number");
    assert!(used > 17.5 && used < 17.51, "{shown}");
}

#[test]
fn what_a_call_spends_must_be_said_and_be_left() {
    let (world, _) = limited(Store::Sqlite, &["--max-spend", "10", "--spend-field", "note.text"]);
    let (task, _) = world.carry_out(&json!([
        note("ten"),
        note("-1"),
        note("1e1"),
        note("10.000001"),
        note("9.5"),
        note("0.6"),
        {"tool": "demo__echo", "args": {"text": "free"}, "unlisted": true},
        note("0.5"),
    ]));
    let operations = world.operations(&id(&task));
    let reasons: Vec<&Value> = operations.iter().map(|operation| &operation["deny_reason"]).collect();
    let (bad, limit) = (json!("bad_arguments"), json!("limit_reached"));
    assert_eq!(reasons, [&bad, &bad, &bad, &limit, &Value::Null, &limit, &limit, &Value::Null]);
    let told = told(&world);
    for words in [
        "the argument `text` says what the call spends: it must be a number",
        "the call spends 0.6, and the grant has 0.5 left",
        "does not say what a call of `echo` spends",
    ] {
        assert!(told.contains(words), "{words} in {told}");
    }
    assert_eq!(operations[3]["decision"]["by"], "admission", "the policies permitted it");
    assert_eq!(operations[3]["decision"]["effect"], "permit");
}

#[test]
fn calls_beyond_the_rate_are_told_how_long_to_wait() {
    let (world, _) = limited(Store::Sqlite, &["--rate", "2/h"]);
    let (task, _) = world.carry_out(&json!([note("a"), note("b"), note("c")]));
    assert_eq!(world.operation_states(&id(&task)), ["note:succeeded", "note:succeeded", "note:denied"]);
    assert_eq!(world.operations(&id(&task))[2]["deny_reason"], "limit_reached");
    let told = told(&world);
    assert!(
        told.contains("2/h calls in this session, and the next one in 1") && told.contains("Wait that long"),
        "{told}"
    );
    // Rates are each session's own.
    let (other, _) = world.carry_out(&json!([note("d")]));
    assert_eq!(world.operation_states(&id(&other)), ["note:succeeded"]);
}

#[test]
fn limits_that_cannot_be_meant_are_refused() {
    let world = World::empty(Store::Sqlite);
    world.upstream("demo", &[]);
    for terms in [
        &["--rate", "0/s"] as &[&str],
        &["--rate", "5"],
        &["--rate", "5/d"],
        &["--max-spend", "-1", "--cost", "1"],
        &["--max-spend", "1.0000001", "--cost", "1"],
        &["--max-spend", "10"],
        &["--cost", "1"],
        &["--max-spend", "10", "--spend-field", "amount"],
    ] {
        let words = ["grant", "add", "--project", "default", "--connection", "demo", "--tools", "*"];
        assert_eq!(world.cli(&[&words, terms].concat()).code, 2, "{terms:?}");
    }
    assert_eq!(world.ok(&["grant", "list"])["items"], json!([]));
}
