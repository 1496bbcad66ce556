//! The replay guard, end to end: a call that may have happened is not made again, a result that was not heard is not
//! lost, and a legitimate repeat is never swallowed. The effect server's own log is the judge.

use crate::harness::{Store, World, id, items, on_both_stores, until};
use serde_json::{Value, json};

on_both_stores!(
    g04_a_runtime_that_restarts_its_mcp_client_gets_the_one_calls_result,
    g04_a_result_that_never_arrived_outlives_the_worker_and_is_given_once,
    g04_an_idempotent_call_is_repeated_once_under_the_same_key,
    g05_a_call_that_is_killed_while_its_question_is_open_is_unknown,
    g04_what_is_uncertain_bars_in_a_task_that_goes_on_afresh,
    g04_a_repeat_in_another_task_settles_the_first_and_its_task,
    g04_a_permitted_repeat_is_made_once,
);

/// What the agent said in a task: the results of its calls.
fn said(world: &World, task: &str) -> String {
    let events = world.events(task);
    let texts = events.iter().filter(|event| event["type"] == "agent.message");
    texts.map(|event| event["data"]["text"].as_str().unwrap_or_default()).collect()
}

fn count(world: &World, task: &str, kind: &str) -> usize {
    world.event_types(task).iter().filter(|known| *known == kind).count()
}

fn slow(key: &str, more: &Value) -> Value {
    let mut step = json!({"tool": "demo__slow", "args": {"seconds": 2, "key": key}});
    if let (Some(step), Some(more)) = (step.as_object_mut(), more.as_object()) {
        step.extend(more.clone());
    }
    step
}

fn g04_a_runtime_that_restarts_its_mcp_client_gets_the_one_calls_result(store: Store) {
    let world = World::new(store);
    let (ended, code) =
        world.carry_out(&json!([slow("once", &json!({"give_up_ms": [400, 400]})), {"text": "done"}]));
    let task = id(&ended);
    assert_eq!((ended["state"].as_str(), code), (Some("completed"), 0), "{ended}");
    assert_eq!((world.count("begin", "slow"), world.count("end", "slow")), (1, 1));
    let states = world.operation_states(&task);
    assert_eq!(states[0], "slow:succeeded");
    let refused = world.operations(&task);
    assert!(refused[1..].iter().all(|one| one["deny_reason"] == "caller_gone"), "{states:?}");
    assert_eq!(count(&world, &task, "operation.redelivered"), 1);
    let said = said(&world, &task);
    assert!(said.contains("slow done: once") && said.contains("stored result"), "{said}");
}

#[test]
fn g04_a_runtime_that_restarts_its_relay_gets_the_one_calls_result() {
    let world = World::empty(Store::Sqlite);
    world.scripted("scripted", &["--no-http"]);
    world.upstream("demo", &[]);
    world.grant("demo", "*");
    let (ended, code) =
        world.carry_out(&json!([slow("once", &json!({"give_up_ms": [700]})), {"text": "done"}]));
    assert_eq!((ended["state"].as_str(), code), (Some("completed"), 0), "{ended}");
    assert_eq!((world.count("begin", "slow"), world.count("end", "slow")), (1, 1));
    let said = said(&world, &id(&ended));
    assert!(said.contains("slow done: once") && said.contains("stored result"), "{said}");
}

fn g04_a_result_that_never_arrived_outlives_the_worker_and_is_given_once(store: Store) {
    let world = World::new(store);
    let task = world.submit(&json!([slow("once", &json!({})), {"text": "done"}]));
    let session = task["session"].as_str().expect("a session").to_owned();
    world.until_begun("slow", 1);
    world.the_process("scripted-runtime").kill();
    let (ended, code) = world.wait(&id(&task));
    assert_eq!((ended["state"].as_str(), code), (Some("failed"), 5), "{ended}");
    assert_eq!(world.operation_states(&id(&task)), ["slow:succeeded"]);
    world.worker(&session).kill();
    world.assert_sessions_are_gone();

    let again = world.submit_in(&session, &json!([slow("once", &json!({})), slow("once", &json!({}))]));
    let (ended, code) = world.wait(&id(&again));
    assert_eq!((ended["state"].as_str(), code), (Some("completed"), 0), "{ended}");
    let said = said(&world, &id(&again));
    assert_eq!(said.matches("slow done: once").count(), 2, "{said}");
    assert_eq!(said.matches("stored result").count(), 1, "{said}");
    assert_eq!(world.operation_states(&id(&again)), ["slow:succeeded"], "the second was a call of its own");
    assert_eq!(world.count("begin", "slow"), 2);
    assert_eq!(count(&world, &id(&again), "operation.redelivered"), 1);
    world.assert_chains_hold(&session);
}

#[test]
fn g04_a_legitimate_repeat_is_never_swallowed() {
    let world = World::new(Store::Sqlite);
    let note = json!({"tool": "demo__note", "args": {"text": "twice"}});
    let (ended, code) = world.carry_out(&json!([note, note, {"tools": [note, note]}]));
    assert_eq!((ended["state"].as_str(), code), (Some("completed"), 0), "{ended}");
    assert_eq!(world.operation_states(&id(&ended)), ["note:succeeded"; 4]);
    assert_eq!(world.count("begin", "note"), 4, "in sequence, and side by side");
    let next = world.submit_in(ended["session"].as_str().expect("a session"), &json!([note]));
    assert_eq!(world.wait(&id(&next)).1, 0);
    assert_eq!(world.count("begin", "note"), 5, "and in another task");
    assert!(!said(&world, &id(&next)).contains("stored result"));
}

#[test]
fn g04_the_same_id_is_the_same_call_and_with_other_arguments_another() {
    let world = World::new(Store::Sqlite);
    let note = |text: &str| json!({"tool": "demo__note", "args": {"text": text}, "call_id": "toolu_01"});
    let (ended, code) = world.carry_out(&json!([note("a"), note("a"), note("b"), {"text": "done"}]));
    assert_eq!((ended["state"].as_str(), code), (Some("completed"), 0), "{ended}");
    assert_eq!(world.operation_states(&id(&ended)), ["note:succeeded", "note:denied", "note:succeeded"]);
    assert_eq!(world.operations(&id(&ended))[1]["deny_reason"], "has_happened");
    assert_eq!(world.count("begin", "note"), 2);
    let said = said(&world, &id(&ended));
    assert!(said.contains("under the same id") && said.contains("make the call once more"), "{said}");
}

/// Grants all tools of `demo` as `class`.
fn world_with(store: Store, class: &str) -> World {
    let world = World::empty(store);
    world.scripted("scripted", &[]);
    world.upstream("demo", &[]);
    world.grant_as("demo", "*", class);
    world
}

fn g04_an_idempotent_call_is_repeated_once_under_the_same_key(store: Store) {
    let world = world_with(store, "idempotent");
    let steps =
        json!([slow("k", &json!({})), slow("k", &json!({})), slow("k", &json!({})), {"text": "done"}]);
    let task = world.submit(&steps);
    world.until_begun("slow", 1);
    world.the_process("effect-server").kill();
    let (ended, code) = world.wait(&id(&task));
    assert_eq!((ended["state"].as_str(), code), (Some("completed"), 0), "{ended}");
    let operations = world.operations(&id(&task));
    assert_eq!(world.operation_states(&id(&task)), ["slow:succeeded"; 3]);
    assert_eq!(operations[0]["evidence"]["kind"], "repeat", "{}", operations[0]);
    let keys: Vec<Value> = world
        .effects()
        .iter()
        .filter(|line| line["kind"] == "begin")
        .map(|line| line["meta"]["agent-mate/idempotencyKey"].clone())
        .collect();
    assert_eq!(keys[..2], [operations[0]["id"].clone(), operations[0]["id"].clone()]);
    assert_eq!(keys[2], operations[2]["id"], "what is settled bars nothing, and a new call has its own key");
}

#[test]
fn g04_an_idempotent_call_is_not_repeated_twice() {
    let world = world_with(Store::Sqlite, "idempotent");
    let steps =
        json!([slow("k", &json!({})), slow("k", &json!({})), slow("k", &json!({})), {"text": "done"}]);
    let task = world.submit(&steps);
    for times in 1..=2 {
        world.until_begun("slow", times);
        world.the_process("effect-server").kill();
    }
    let (ended, code) = world.wait(&id(&task));
    assert_eq!((ended["state"].as_str(), code), (Some("unknown"), 6), "{ended}");
    assert_eq!(world.operation_states(&id(&task)), ["slow:unknown", "slow:unknown", "slow:denied"]);
    assert_eq!(world.count("begin", "slow"), 2);
}

#[test]
fn g04_reads_are_never_guarded() {
    let world = world_with(Store::Sqlite, "read");
    let steps = json!([slow("r", &json!({"give_up_ms": [400], "call_id": "toolu_02"})), {"text": "done"}]);
    let (ended, code) = world.carry_out(&steps);
    assert_eq!((ended["state"].as_str(), code), (Some("completed"), 0), "{ended}");
    assert_eq!(world.count("begin", "slow"), 2, "a read that was given up is asked again");
    assert!(!said(&world, &id(&ended)).contains("stored result"));
}

#[test]
fn g09_a_kept_result_is_sealed_and_is_gone_when_it_was_heard() {
    let world = World::new(Store::Sqlite);
    let task = world.submit(&json!([slow("pssst-quiet", &json!({})), {"text": "done"}]));
    let session = task["session"].as_str().expect("a session").to_owned();
    world.until_begun("slow", 1);
    world.the_process("scripted-runtime").kill();
    world.wait(&id(&task));
    let folder = world.session_folder(&session);
    let holds = |word: &str| {
        ["journal.db", "journal.db-wal"].iter().any(|name| {
            let bytes = std::fs::read(folder.join(name)).unwrap_or_default();
            bytes.windows(word.len()).any(|window| window == word.as_bytes())
        })
    };
    assert!(!holds("slow done"), "the result is not there in clear");
    let again = world.submit_in(&session, &json!([slow("pssst-quiet", &json!({})), {"text": "on"}]));
    assert_eq!(world.wait(&id(&again)).1, 0);
    let rows = items(&world.ok(&["operation", "list", "--task", &id(&again)]));
    assert!(rows.is_empty(), "nothing was called: {rows:?}");
    until("the third is a new call", || {
        let third = world.submit_in(&session, &json!([slow("pssst-quiet", &json!({})), {"text": "on"}]));
        world.wait(&id(&third));
        (world.count("begin", "slow") == 2).then_some(())
    });
}

/// The scripted runtime leaves questions open over HTTP.
fn g05_a_call_that_is_killed_while_its_question_is_open_is_unknown(store: Store) {
    let world = World::new(store);
    let ask = json!({"tool": "demo__confirm", "args": {"text": "really?"}});
    let task = world.submit(&json!([ask, {"text": "done"}]));
    let session = task["session"].as_str().expect("a session").to_owned();
    until("the question", || (world.count("asked", "confirm") == 1).then_some(()));
    world.worker(&session).kill();
    let (ended, code) = world.wait(&id(&task));
    assert_eq!((ended["state"].as_str(), code), (Some("unknown"), 6), "{ended}");
    assert_eq!(
        world.operation_states(&id(&task)),
        ["confirm:unknown"],
        "question and answer are one operation"
    );
    let again = world.submit_in(&session, &json!([ask, {"text": "done"}]));
    assert_eq!(world.wait(&id(&again)).1, 0);
    assert_eq!(world.operation_states(&id(&again)), ["confirm:denied"]);
    assert_eq!(world.count("begin", "confirm"), 1);
}

/// Over the relay it answers them.
#[test]
fn g04_a_question_and_its_answer_are_one_operation() {
    let world = World::empty(Store::Sqlite);
    world.scripted("scripted", &["--no-http"]);
    world.upstream("demo", &[]);
    world.grant("demo", "*");
    let (ended, code) =
        world.carry_out(&json!([{"tool": "demo__confirm", "args": {"text": "really?"}}, {"text": "done"}]));
    assert_eq!((ended["state"].as_str(), code), (Some("completed"), 0), "{ended}");
    assert_eq!(world.operation_states(&id(&ended)), ["confirm:succeeded"]);
    assert_eq!((world.count("begin", "confirm"), world.count("end", "confirm")), (1, 1));
}

fn g04_what_is_uncertain_bars_in_a_task_that_goes_on_afresh(store: Store) {
    let world = World::new(store);
    let steps = json!([slow("once", &json!({})), {"tool": "demo__note", "args": {"text": "on"}}]);
    let task = world.submit(&steps);
    world.until_begun("slow", 1);
    world.the_process("effect-server").kill();
    let (ended, code) = world.wait(&id(&task));
    assert_eq!((ended["state"].as_str(), code), (Some("unknown"), 6), "{ended}");
    let fresh = world.ok(&["task", "resume", &id(&task), "--fresh", &crate::harness::stub(&steps)]);
    assert_ne!(fresh["session"], task["session"], "{fresh}");
    assert_eq!(world.wait(&id(&fresh)).1, 0);
    assert_eq!(world.operation_states(&id(&fresh)), ["slow:denied", "note:succeeded"]);
    assert_eq!(world.operations(&id(&fresh))[0]["deny_reason"], "may_have_happened");
    assert_eq!(world.count("begin", "slow"), 1);
    let other = world.submit(&json!([slow("once", &json!({}))]));
    assert_eq!(world.wait(&id(&other)).1, 0, "a task that continues nothing is not barred");
    assert_eq!(world.count("begin", "slow"), 2);
}

fn g04_a_repeat_in_another_task_settles_the_first_and_its_task(store: Store) {
    let world = world_with(store, "idempotent");
    let task = world.submit(&json!([slow("k", &json!({})), {"text": "done"}]));
    let session = task["session"].as_str().expect("a session").to_owned();
    world.until_begun("slow", 1);
    world.worker(&session).kill();
    let (ended, code) = world.wait(&id(&task));
    assert_eq!((ended["state"].as_str(), code), (Some("unknown"), 6), "{ended}");
    let again = world.submit_in(&session, &json!([slow("k", &json!({})), {"text": "done"}]));
    assert_eq!(world.wait(&id(&again)).1, 0);
    assert_eq!(world.operation_states(&id(&task)), ["slow:succeeded"]);
    assert_eq!(world.task(&id(&task))["state"], "failed", "it takes the end that it stored");
    assert_eq!(world.count("begin", "slow"), 2);
}

fn g04_a_permitted_repeat_is_made_once(store: Store) {
    let world = World::new(store);
    let task = world.submit(&json!([slow("k", &json!({})), {"text": "done"}]));
    let session = task["session"].as_str().expect("a session").to_owned();
    world.until_begun("slow", 1);
    world.the_process("effect-server").kill();
    assert_eq!(world.wait(&id(&task)).1, 6);
    let unknown = id(&world.operations(&id(&task))[0]);
    world.ok(&[
        "operation",
        "resolve",
        &unknown,
        "--as",
        "abandoned",
        "--reason",
        "nobody can tell",
        "--permit-repeat",
    ]);
    let again =
        world.submit_in(&session, &json!([slow("k", &json!({})), slow("k", &json!({})), {"text": "done"}]));
    world.until_begun("slow", 2);
    world.the_process("effect-server").kill();
    assert_eq!(world.wait(&id(&again)).1, 6);
    assert_eq!(world.operation_states(&id(&again)), ["slow:unknown", "slow:denied"]);
    assert_eq!(world.count("begin", "slow"), 2, "the leave was used by the first");
}
