//! Verification recipes: an upstream's own read tool settles what is unknown, or leaves it so.

mod authority;
mod racing;

use crate::harness::{Store, World, id, on_both_stores, program, until};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::fs;

on_both_stores!(
    g05_a_recipe_proves_that_a_call_happened_whose_upstream_died_with_its_worker,
    g05_a_recipe_proves_that_a_call_did_not_happen_and_not_before_its_time,
    g05_a_worker_that_lives_looks_when_the_turn_is_over,
    g05_an_answer_that_tells_nothing_settles_nothing,
);

/// Looks in the effect server's own log.
fn recipe() -> Value {
    json!({
        "tools": ["slow", "note"], "ask": "was_done", "about": "the server's log",
        "arguments": {"key": "{operation}"}, "after_seconds": 2,
        "happened": [{"at": "/done", "equals": true}],
        "did_not_happen": [{"at": "/done", "equals": false}],
    })
}

/// An installation whose connection `demo` has the recipe; nothing is granted of it.
fn linked(store: Store, recipe: &Value) -> World {
    let world = World::empty(store);
    world.scripted("scripted", &[]);
    let file = world.path("recipes.json");
    fs::write(&file, json!([recipe]).to_string()).expect("written");
    let log = world.path("effects.log");
    let (file, log) = (file.to_str().expect("text"), log.to_str().expect("text"));
    let add = ["connection", "add", "demo", "--verify", file, "--allow-field", "slow.key", "--"];
    world.ok(&[&add[..], &[program(), "effect-server", "--log", log]].concat());
    world
}

/// The same, with its tools granted; those that are asked as reads.
fn world(store: Store, recipe: &Value) -> World {
    let world = linked(store, recipe);
    world.grant("demo", "slow,note");
    grant_read(&world, "was_done");
    world
}

fn grant_read(world: &World, tools: &str) -> String {
    world.grant_as("demo", tools, "read")
}

fn slow(key: &str, seconds: u32) -> Value {
    json!({"tool": "demo__slow", "args": {"seconds": seconds, "key": key}})
}

/// Kills everything of the session in a call that is at work; the task and its operation.
fn killed_in_a_call(world: &World) -> (String, String) {
    let task = world.submit(&json!([slow("once", 30), {"text": "done"}]));
    world.until_begun("slow", 1);
    kill_the_sessions(world);
    unknown_of(world, &id(&task))
}

fn kill_the_sessions(world: &World) {
    let (worker, runtime) = (world.the_process("session-worker "), world.the_process("scripted-runtime"));
    runtime.kill();
    worker.kill();
}

/// Waits for the task's end; it and its one operation. Whether it is still unknown then, a look may have settled.
fn unknown_of(world: &World, task: &str) -> (String, String) {
    until("the task's end", || {
        world.event_types(task).iter().any(|kind| kind == "task.unknown").then_some(())
    });
    let operations = world.operations(task);
    assert_eq!(operations.len(), 1, "{operations:?}");
    (task.to_owned(), id(&operations[0]))
}

/// The verdicts of a task's looks, in order.
fn verdicts(world: &World, task: &str) -> Vec<String> {
    looks(world, task, "operation.verified", "verdict")
}

fn looks(world: &World, task: &str, kind: &str, field: &str) -> Vec<String> {
    let events = world.events(task);
    let of_kind = events.iter().filter(|event| event["type"] == kind);
    of_kind.map(|event| event["data"][field].as_str().unwrap_or_default().to_owned()).collect()
}

/// Waits until an operation is settled; as it is shown then.
fn until_settled(world: &World, operation: &str) -> Value {
    until("the operation to be settled", || {
        let seen = world.ok(&["operation", "show", operation]);
        (seen["state"] != "unknown").then_some(seen)
    })
}

fn g05_a_recipe_proves_that_a_call_happened_whose_upstream_died_with_its_worker(store: Store) {
    let world = world(store, &recipe());
    let task = world.submit(&json!([slow("once", 1), {"text": "done"}]));
    world.until_begun("slow", 1);
    // The effect comes to its end, and nobody is there to hear of it.
    let worker = world.the_process("session-worker ");
    worker.signal(Signal::STOP);
    until("the effect", || (world.count("end", "slow") == 1).then_some(()));
    kill_the_sessions(&world);
    let (task, operation) = unknown_of(&world, &id(&task));
    let seen = until_settled(&world, &operation);
    assert_eq!((&seen["state"], &seen["evidence"]["kind"]), (&json!("succeeded"), &json!("verification")));
    assert_eq!(seen["detail"], "the server's log: `was_done`: /done equals true");
    assert!(seen["looks"].as_i64() == Some(1) && seen["next_look_at"].is_null(), "{seen}");
    // The task leaves `unknown` by itself, with the end that it had stored.
    world.until_ended(&task, 5);
    assert_eq!(verdicts(&world, &task), ["happened"]);
    let asked = world.events(&task).into_iter().find(|event| event["type"] == "operation.look_admitted");
    let asked = asked.expect("what was asked")["data"].clone();
    assert_eq!((&asked["tool"], &asked["arguments"]), (&json!("was_done"), &json!({"key": operation})));
    assert!(asked["grant"].is_string(), "{asked}");
    until("its copy in the journal", || {
        world.event_types(&task).contains(&"operation.succeeded".to_owned()).then_some(())
    });
    assert_eq!(world.count("begin", "slow"), 1, "never repeated");
    // Nothing is left of what was started for the look, and the session goes on.
    let session = world.task(&task)["session"].as_str().expect("a session").to_owned();
    let next = world.submit_in(&session, &json!([{"tool": "demo__note", "args": {"text": "next"}}]));
    assert_eq!(world.wait(&id(&next)).1, 0);
    world.assert_chains_hold(&session);
}

fn g05_a_recipe_proves_that_a_call_did_not_happen_and_not_before_its_time(store: Store) {
    let asked = json!({"after_seconds": 4, "arguments": {"key": "{field.key}"}});
    let mut early = recipe();
    early.as_object_mut().expect("an object").extend(asked.as_object().expect("an object").clone());
    let world = world(store, &early);
    let (task, operation) = killed_in_a_call(&world);
    let seen = until_settled(&world, &operation);
    assert_eq!((&seen["state"], &seen["evidence"]["kind"]), (&json!("failed"), &json!("verification")));
    let said = verdicts(&world, &task);
    let (last, before) = said.split_last().expect("looks");
    assert_eq!(last, "did_not_happen");
    assert!(before.iter().all(|early| early == "too_early"), "{said:?}");
    let events = world.events(&task);
    let at = |kind: &str| -> Vec<String> {
        let found = events.iter().filter(|event| event["type"] == kind);
        found.map(|event| event["at"].as_str().expect("a time").to_owned()).collect()
    };
    let span = |text: &str| text.parse::<jiff::Timestamp>().expect("a time");
    let waited =
        span(at("operation.look_admitted").last().expect("a look")) - span(&at("operation.unknown")[0]);
    assert!(waited.as_secs_f64() >= 3.9, "{waited}");
    world.until_ended(&task, 5);
}

fn g05_a_worker_that_lives_looks_when_the_turn_is_over(store: Store) {
    let world = world(store, &recipe());
    let task = world.submit(&json!([slow("once", 30), {"text": "done"}]));
    world.until_begun("slow", 1);
    let worker = world.the_process("session-worker ").pid;
    world.the_process("effect-server").kill();
    let (task, operation) = unknown_of(&world, &id(&task));
    let seen = until_settled(&world, &operation);
    assert_eq!((&seen["state"], &seen["evidence"]["kind"]), (&json!("failed"), &json!("verification")));
    assert_eq!(world.the_process("session-worker ").pid, worker, "no other worker is needed");
    let events = world.event_types(&task);
    let place = |kind: &str| events.iter().position(|known| known == kind).expect(kind);
    assert!(place("task.unknown") < place("operation.look_admitted"), "{events:?}");
    world.until_ended(&task, 0);
}

fn g05_an_answer_that_tells_nothing_settles_nothing(store: Store) {
    // The server answers with truth values; the recipe compares with texts, and a number that is not there.
    let mut odd = recipe();
    odd["happened"] = json!([{"at": "/done", "equals": "true"}]);
    odd["did_not_happen"] = json!([{"at": "/items", "count": {"at_most": 0}}]);
    let world = world(store, &odd);
    let (task, operation) = killed_in_a_call(&world);
    until("a first look", || (!verdicts(&world, &task).is_empty()).then_some(()));
    let asked = world.ok(&["operation", "verify", &operation]);
    assert_eq!(asked["state"], "unknown", "{asked}");
    until("a further look", || (verdicts(&world, &task).len() >= 2).then_some(()));
    assert!(verdicts(&world, &task).iter().all(|said| said == "cannot_tell"));
    let seen = world.ok(&["operation", "show", &operation]);
    assert_eq!((&seen["state"], world.wait(&task).1), (&json!("unknown"), 6), "{seen}");
    assert_eq!(world.count("begin", "slow"), 1);
    // A person may still say it, and then nobody looks any more.
    world.ok(&["operation", "resolve", &operation, "--as", "failed", "--reason", "I looked"]);
    let seen = world.ok(&["operation", "show", &operation]);
    assert_eq!((&seen["state"], &seen["next_look_at"]), (&json!("failed"), &Value::Null));
    let refused = world.ok_code(&["operation", "verify", &operation], 4);
    assert!(refused.to_string().contains("not_unknown"), "{refused}");
}
