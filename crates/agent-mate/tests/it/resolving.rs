//! Evidence for what was uncertain: who gives it, when it comes, and what stands.

mod contrary;
mod crash;
mod own;
mod refusals;

use crate::harness::{Store, World, id, on_both_stores, until};
use serde_json::{Value, json};
use std::fs;

on_both_stores!(
    g05_a_person_settles_a_call_whose_worker_is_dead,
    g05_a_resolution_is_seen_at_once_by_the_worker_that_lives,
    g05_a_late_answer_settles_its_call_and_its_task,
    g05_the_task_waits_for_its_last_uncertainty,
);

/// A call that is too slow to be settled by waiting.
fn slow(key: &str, seconds: u32) -> Value {
    json!({"tool": "demo__slow", "args": {"seconds": seconds, "key": key}})
}

/// A task whose worker and runtime were killed in a call: unknown, with one operation; its ids and its session's.
pub(crate) fn killed_in_a_call(world: &World) -> (String, String, String) {
    let task = world.submit(&json!([slow("once", 30), {"text": "done"}]));
    world.until_begun("slow", 1);
    let session = task["session"].as_str().expect("a session").to_owned();
    let (worker, runtime) = (world.worker(&session), world.the_process("scripted-runtime"));
    runtime.kill();
    worker.kill();
    assert_eq!(world.wait(&id(&task)).1, 6);
    (id(&task), only_operation(world, &id(&task)), session)
}

/// A task whose upstream was killed in a call: unknown, with one operation, and its worker lives.
fn upstream_killed_in_a_call(world: &World) -> (String, String, String) {
    let task = world.submit(&json!([slow("once", 2), {"text": "done"}]));
    world.until_begun("slow", 1);
    world.the_process("effect-server").kill();
    assert_eq!(world.wait(&id(&task)).1, 6);
    let session = task["session"].as_str().expect("a session").to_owned();
    world.worker(&session);
    (id(&task), only_operation(world, &id(&task)), session)
}

fn only_operation(world: &World, task: &str) -> String {
    let operations = world.operations(task);
    assert_eq!(operations.len(), 1, "{operations:?}");
    id(&operations[0])
}

fn resolve<'a>(operation: &'a str, verdict: &'a str, reason: &'a str) -> Vec<&'a str> {
    vec!["operation", "resolve", operation, "--as", verdict, "--reason", reason]
}

/// How often each type of event of a task is in a log.
fn count(world: &World, task: &str, log: &str, kind: &str) -> usize {
    world.events(task).iter().filter(|event| event["log"] == log && event["type"] == kind).count()
}

/// Waits until the journal has what the ledger knows.
fn until_copied(world: &World, task: &str, kind: &str) {
    until(&format!("{kind} in the journal"), || (count(world, task, "journal", kind) == 1).then_some(()));
}

fn g05_a_person_settles_a_call_whose_worker_is_dead(store: Store) {
    let world = World::new(store);
    let (task, operation, session) = killed_in_a_call(&world);
    let shown = world.task(&task);
    assert_eq!((&shown["unknown_operations"], &shown["then"]), (&json!(1), &json!("failed")), "{shown}");
    let proof = world.path("proof.txt");
    fs::write(&proof, "slow done: once\n").expect("written");
    let mut words = resolve(&operation, "succeeded", "the other side's log has it");
    words.extend(["--proof", proof.to_str().expect("text")]);
    let seen = world.ok(&words);
    let wanted = [
        ("state", json!("succeeded")),
        ("proof", json!("slow done: once\n")),
        ("permit_repeat", json!(false)),
        ("detail", json!("the other side's log has it")),
    ];
    for (field, value) in wanted {
        assert_eq!(seen[field], value, "{seen}");
    }
    assert_eq!(seen["evidence"]["kind"], "person");
    assert!(seen["evidence"]["by"].is_string() && seen["resolved_at"].is_string(), "{seen}");
    // The last uncertainty is settled: the task takes the end that it had stored, at once.
    let (ended, code) = world.wait(&task);
    assert_eq!((ended["state"].as_str(), code), (Some("failed"), 5), "{ended}");
    assert!(ended["unknown_operations"].is_null() && ended["uncertain"].is_null());
    assert_eq!(count(&world, &task, "ledger", "operation.resolved"), 1);
    until_copied(&world, &task, "operation.succeeded");
    let report = world.ok(&["task", "report", &task]);
    assert_eq!((&report["counts"], &report["unknown"]), (&json!({"succeeded": 1}), &json!([])));
    // The session goes on, and the chains of both logs hold.
    let next = world.submit_in(&session, &json!([{"tool": "demo__note", "args": {"text": "next"}}]));
    assert_eq!(world.wait(&id(&next)).1, 0);
    assert_eq!(world.operation_states(&task), ["slow:succeeded"]);
    world.assert_chains_hold(&session);
    assert_eq!(world.count("begin", "slow"), 1);
}

fn g05_a_resolution_is_seen_at_once_by_the_worker_that_lives(store: Store) {
    let world = World::new(store);
    let (task, operation, session) = upstream_killed_in_a_call(&world);
    let again = json!([slow("once", 2), {"text": "done"}]);
    let barred = world.submit_in(&session, &again);
    world.wait(&id(&barred));
    assert_eq!(world.operations(&id(&barred))[0]["deny_reason"], "may_have_happened");
    let worker = world.worker(&session).pid;
    world.ok(&resolve(&operation, "failed", "nothing of it is there"));
    // Not a moment later: it did not happen, so the identical call is made.
    let next = world.submit_in(&session, &again);
    assert_eq!(world.wait(&id(&next)).1, 0);
    assert_eq!(world.operation_states(&id(&next)), ["slow:succeeded"]);
    assert_eq!((world.count("begin", "slow"), world.count("end", "slow")), (2, 1));
    assert_eq!(world.worker(&session).pid, worker, "it is the same worker");
    assert_eq!(world.wait(&task).1, 0, "the turn itself had gone on to its end");
    until_copied(&world, &task, "operation.failed");
    world.assert_chains_hold(&session);
}

#[test]
fn g04_what_was_given_up_bars_its_twin_still() {
    let world = World::new(Store::Sqlite);
    let (task, operation, session) = upstream_killed_in_a_call(&world);
    world.ok(&resolve(&operation, "abandoned", "the other side keeps no log"));
    assert_eq!(world.wait(&task).1, 0);
    let next = world.submit_in(&session, &json!([slow("once", 2), {"text": "done"}]));
    world.wait(&id(&next));
    assert_eq!(world.operations(&id(&next))[0]["deny_reason"], "may_have_happened");
    assert_eq!(world.count("begin", "slow"), 1);
    assert_eq!(world.operation_states(&task), ["slow:abandoned"]);
}

/// A task whose call is given up after a second and answered after four.
fn given_up(world: &World) -> (String, String) {
    world.set_session("call_seconds = 1");
    let task = id(&world.submit(&json!([slow("late", 4), {"text": "done"}])));
    assert_eq!(world.wait(&task).1, 6, "given up before it was answered");
    let operation = only_operation(world, &task);
    (task, operation)
}

fn g05_a_late_answer_settles_its_call_and_its_task(store: Store) {
    let world = World::new(store);
    let (task, operation) = given_up(&world);
    let settled = until("the late answer", || {
        let seen = world.ok(&["operation", "show", &operation]);
        (seen["state"] != "unknown").then_some(seen)
    });
    assert_eq!(
        (&settled["state"], &settled["evidence"]["kind"]),
        (&json!("succeeded"), &json!("late_answer"))
    );
    let (ended, code) = world.wait(&task);
    assert_eq!((ended["state"].as_str(), code), (Some("completed"), 0), "{ended}");
    until_copied(&world, &task, "operation.succeeded");
    let kept = world.ok(&["operation", "show", &operation]);
    assert!(kept["answered_at"].is_string() && kept["result_size"].is_i64(), "what the answer was: {kept}");
    assert_eq!(count(&world, &task, "ledger", "operation.resolved"), 1);
    // A person who says the same gets the first answer.
    let seen = world.ok(&resolve(&operation, "succeeded", "I saw it too"));
    assert_eq!(seen["evidence"]["kind"], "late_answer");
    assert_eq!(count(&world, &task, "ledger", "operation.resolved"), 1);
}

fn g05_the_task_waits_for_its_last_uncertainty(store: Store) {
    let world = World::new(store);
    let calls: Vec<Value> = (0..3).map(|n| slow(&format!("k{n}"), 30)).collect();
    let task = world.submit(&json!([{"tools": calls}, {"text": "done"}]));
    world.until_begun("slow", 3);
    world.processes("").iter().filter(|one| !one.command.contains(" serve ")).for_each(|one| one.kill());
    assert_eq!(world.wait(&id(&task)).1, 6);
    let task = id(&task);
    let operations: Vec<String> = world.operations(&task).iter().map(id).collect();
    assert_eq!(operations.len(), 3);
    for (left, (operation, verdict)) in
        operations.iter().zip(["succeeded", "abandoned", "failed"]).enumerate().map(|(n, pair)| (2 - n, pair))
    {
        world.ok(&resolve(operation, verdict, "looked"));
        let list = |state| world.ok(&["operation", "list", "--task", &task, "--state", state]);
        assert_eq!(list("unknown")["items"].as_array().expect("items").len(), left);
        assert_eq!(list(verdict)["items"][0]["id"], json!(operation), "also before the journal has it");
        let shown = world.task(&task);
        if left > 0 {
            assert_eq!((&shown["state"], &shown["unknown_operations"]), (&json!("unknown"), &json!(left)));
        } else {
            assert_eq!(shown["state"], "failed", "{shown}");
        }
    }
    assert_eq!(count(&world, &task, "ledger", "task.failed"), 1);
}
