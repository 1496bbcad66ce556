//! What is said of a task whose worker, runtime or upstream died in the middle of a call.

use crate::harness::{Store, World, id, on_both_stores, program, until, while_true};
use serde_json::{Value, json};
use std::time::Duration;

on_both_stores!(
    g05_honest_outcomes_the_worker_and_its_runtime_are_killed_in_a_call,
    g05_honest_outcomes_everything_is_killed_in_a_call,
);

/// A call that is too slow to be settled by waiting, in a turn that would go on.
fn steps() -> Value {
    json!([
        {"tool": "demo__slow", "args": {"seconds": 30, "key": "once"}},
        {"tool": "demo__note", "args": {"text": "after"}},
        {"text": "done"},
    ])
}

/// Submits a task and waits until its slow call is at the upstream; the task and its session.
fn in_the_call(world: &World) -> (String, String) {
    let task = world.submit(&steps());
    world.until_begun("slow", 1);
    (id(&task), task["session"].as_str().expect("a session").to_owned())
}

fn g05_honest_outcomes_the_worker_and_its_runtime_are_killed_in_a_call(store: Store) {
    let world = World::new(store);
    let (task, session) = in_the_call(&world);
    let (worker, runtime) = (world.worker(&session), world.the_process("scripted-runtime"));
    runtime.kill();
    worker.kill();
    assert_uncertain_and_never_again(&world, &task, &session);
}

#[test]
fn g05_honest_outcomes_the_worker_alone_is_killed_in_a_call() {
    let world = World::new(Store::Sqlite);
    let (task, session) = in_the_call(&world);
    world.worker(&session).kill();
    assert_uncertain_and_never_again(&world, &task, &session);
}

fn g05_honest_outcomes_everything_is_killed_in_a_call(store: Store) {
    let mut world = World::new(store);
    let (task, session) = in_the_call(&world);
    world.kill_serve();
    world.processes("").iter().for_each(crate::harness::Process::kill);
    world.assert_sessions_are_gone();
    world.start_serve();
    assert_uncertain_and_never_again(&world, &task, &session);
}

/// The task and the call are unknown, nothing lives on, and the call is not made again: not by itself, and not when
/// an agent asks for it.
fn assert_uncertain_and_never_again(world: &World, task: &str, session: &str) {
    let (ended, code) = world.wait(task);
    assert_eq!((ended["state"].as_str(), code), (Some("unknown"), 6), "{ended}");
    assert_eq!((&ended["uncertain"], &ended["then"]), (&json!("operations"), &json!("failed")));
    assert_eq!(world.operation_states(task), ["slow:unknown"]);
    world.assert_sessions_are_gone();
    assert_eq!((world.count("begin", "slow"), world.count("end", "slow")), (1, 0));

    let again = world.submit_in(session, &steps());
    assert_eq!(world.wait(&id(&again)).1, 0, "the session can be used again");
    let operations = world.operations(&id(&again));
    assert_eq!(
        (&operations[0]["state"], &operations[0]["deny_reason"]),
        (&json!("denied"), &json!("may_have_happened"))
    );
    assert_eq!(operations[1]["state"], "succeeded");
    while_true("slow is never called again", Duration::from_secs(1), || world.count("begin", "slow") == 1);
    assert_eq!(world.prompts().len(), 2, "each task was prompted once");
    assert_eq!(world.task(task)["state"], "unknown", "it stays so until there is evidence");
    world.events(task);
    world.events(&id(&again));
    world.assert_chains_hold(session);
}

#[test]
fn g05_a_read_that_was_interrupted_is_failed_and_not_unknown() {
    let world = World::empty(Store::Sqlite);
    world.scripted("scripted", &[]);
    world.upstream("demo", &[]);
    world.grant_as("demo", "*", "read");
    let (task, session) = in_the_call(&world);
    world.worker(&session).kill();
    let (ended, code) = world.wait(&task);
    assert_eq!((ended["state"].as_str(), code), (Some("failed"), 5), "{ended}");
    assert_eq!(world.operation_states(&task), ["slow:failed"]);
    assert_eq!(world.count("begin", "slow"), 1);
    assert!(ended["reason"].as_str().is_some_and(|reason| reason.starts_with("runtime_lost")), "{ended}");
}

#[test]
fn g05_the_runtime_alone_is_killed_and_the_call_still_has_its_proof() {
    let world = World::new(Store::Sqlite);
    let task = world
        .submit(&json!([{"tool": "demo__slow", "args": {"seconds": 2, "key": "once"}}, {"text": "done"}]));
    world.until_begun("slow", 1);
    world.the_process("scripted-runtime").kill();
    let (ended, code) = world.wait(&id(&task));
    assert_eq!((ended["state"].as_str(), code), (Some("failed"), 5), "{ended}");
    assert!(ended["reason"].as_str().is_some_and(|reason| reason.starts_with("runtime_lost")), "{ended}");
    assert_eq!(world.operation_states(&id(&task)), ["slow:succeeded"], "what has proof is not unknown");
    assert_eq!((world.count("begin", "slow"), world.count("end", "slow")), (1, 1));
}

#[test]
fn g05_the_runtime_alone_is_killed_and_the_call_has_no_proof() {
    let world = World::new(Store::Sqlite);
    let (task, session) = in_the_call(&world);
    world.the_process("scripted-runtime").kill();
    let (ended, code) = world.wait(&task);
    assert_eq!((ended["state"].as_str(), code), (Some("unknown"), 6), "{ended}");
    assert_eq!(world.operation_states(&task), ["slow:unknown"]);
    until("the end of what the session ran", || {
        (world.processes("scripted-runtime").is_empty() && world.processes("effect-server").is_empty())
            .then_some(())
    });
    let next = world.submit_in(&session, &json!([{"tool": "note", "args": {"text": "next"}}]));
    assert_eq!(world.wait(&id(&next)).1, 0);
    assert_eq!((world.count("begin", "slow"), world.count("begin", "note")), (1, 1));
}

#[test]
fn g05_an_own_tool_at_work_when_the_runtime_dies_makes_the_task_uncertain() {
    let world = World::new(Store::Sqlite);
    let own = json!({"sessionUpdate": "tool_call", "toolCallId": "o1", "title": "rm -r build", "kind": "execute", "status": "in_progress"});
    let (ended, code) = world.carry_out(&json!([{"raw": own}, {"sleep_ms": 300, "exit": 0}]));
    assert_eq!((ended["state"].as_str(), code), (Some("unknown"), 6), "{ended}");
    assert_eq!(ended["uncertain"], "own_activity");
}

#[test]
fn g04_an_upstream_that_dies_in_a_call_is_not_asked_again() {
    let world = World::new(Store::Sqlite);
    let (task, _) = in_the_call(&world);
    world.the_process("effect-server").kill();
    let (ended, code) = world.wait(&task);
    assert_eq!((ended["state"].as_str(), code), (Some("unknown"), 6), "{ended}");
    assert_eq!(ended["then"], "completed", "the turn itself went on to its end");
    assert_eq!(world.operation_states(&task)[0], "slow:unknown");
    assert_eq!(world.count("begin", "slow"), 1);
}

#[test]
fn g03_a_start_without_its_prompt_intent_is_started_again_and_prompted_once() {
    let world = World::empty(Store::Sqlite);
    let log = world.path("prompts.log");
    let late = format!("sleep 2; SCRIPTED_LOG={} exec {} scripted-runtime", log.display(), program());
    world.ok(&["runtime", "add", "late", "--", "/bin/sh", "-c", &late]);
    let task = world.submit(&json!([{"text": "here I am"}]));
    let session = task["session"].as_str().expect("a session");
    world.the_process("sleep 2 ");
    world.worker(session).kill();
    let (ended, code) = world.wait(&id(&task));
    assert_eq!((ended["state"].as_str(), code), (Some("completed"), 0), "{ended}");
    assert_eq!(world.prompts().len(), 1);
    let types = world.event_types(&id(&task));
    assert_eq!(types.iter().filter(|kind| *kind == "task.restarted").count(), 1, "{types:?}");
    assert_eq!(types.iter().filter(|kind| *kind == "turn.prompted").count(), 1, "{types:?}");
}
