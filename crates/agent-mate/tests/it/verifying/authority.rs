//! A look is judged like a call: what is not granted, or not as a read, is not asked.

use super::{grant_read, killed_in_a_call, linked, looks, recipe, until_settled, verdicts};
use crate::harness::{Store, World, on_both_stores, until};
use serde_json::{Value, json};
use std::fs;

on_both_stores!(
    g07_a_look_whose_grant_was_revoked_is_not_taken,
    g07_a_look_at_a_tool_that_may_change_something_is_not_taken,
);

#[test]
fn a_recipe_that_is_wrong_is_refused_when_it_is_given() {
    let world = World::empty(Store::Sqlite);
    let file = world.path("recipes.json");
    for (recipes, field) in [
        (json!([{"tools": [], "ask": "find", "happened": [{"contains": "x"}]}]), "verify: [0].tools"),
        (json!([{"tools": ["*"], "ask": "find"}]), "verify: [0].happened"),
        (
            json!([{"tools": ["*"], "ask": "find", "happened": [{"contains": "{field.title}"}]}]),
            "verify: [0].happened[0].contains",
        ),
        (json!([{"tools": ["*"], "ask": "find", "hapened": []}]), "hapened"),
        (json!({"tools": ["*"]}), "sequence"),
    ] {
        fs::write(&file, recipes.to_string()).expect("written");
        let file = file.to_str().expect("text");
        let output = world.cli(&["connection", "add", "demo", "--verify", file, "--", "true"]);
        assert!(output.code == 2 && format!("{output:?}").contains(field), "{recipes}: {output:?}");
    }
    assert_eq!(world.ok(&["connection", "list"])["items"], json!([]));
}

/// Waits for a look that was not taken; its reason.
fn not_asked(world: &World, task: &str, operation: &str) -> String {
    let reason =
        until("a look that is not taken", || looks(world, task, "operation.verified", "detail").pop());
    assert!(verdicts(world, task).iter().all(|said| said == "cannot_tell"));
    assert_eq!(looks(world, task, "operation.look_admitted", "tool"), Vec::<String>::new());
    assert_eq!(world.count("begin", "was_done"), 0, "nothing was asked");
    let seen = world.ok(&["operation", "show", operation]);
    assert_eq!((&seen["state"], &seen["evidence"]), (&json!("unknown"), &Value::Null));
    reason
}

fn g07_a_look_whose_grant_was_revoked_is_not_taken(store: Store) {
    let world = linked(store, &recipe());
    world.grant("demo", "slow");
    let read = grant_read(&world, "was_done");
    world.ok(&["grant", "revoke", &read]);
    let (task, operation) = killed_in_a_call(&world);
    let reason = not_asked(&world, &task, &operation);
    assert!(reason.contains("not asked") && reason.contains("`was_done`"), "{reason}");
    // Granted again, the next look is taken.
    grant_read(&world, "was_done");
    world.ok(&["operation", "verify", &operation]);
    assert_eq!(until_settled(&world, &operation)["state"], "failed");
}

fn g07_a_look_at_a_tool_that_may_change_something_is_not_taken(store: Store) {
    let world = linked(store, &recipe());
    world.grant("demo", "*");
    let (task, operation) = killed_in_a_call(&world);
    let reason = not_asked(&world, &task, &operation);
    assert!(reason.contains("may only read"), "{reason}");
}
