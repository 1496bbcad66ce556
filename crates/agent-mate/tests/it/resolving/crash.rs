//! Crashes between the ledger's row and the journal's copy.

use super::{count, only_operation, resolve, slow, until_copied};
use crate::harness::{Process, Store, World, id, on_both_stores};
use rustix::process::Signal;
use serde_json::json;

on_both_stores!(g05_a_resolution_that_the_journal_has_not_is_shown_and_survives_a_crash);

fn g05_a_resolution_that_the_journal_has_not_is_shown_and_survives_a_crash(store: Store) {
    let mut world = World::new(store);
    let task = world.submit(&json!([slow("once", 2), {"text": "done"}]));
    world.until_begun("slow", 1);
    world.the_process("effect-server").kill();
    assert_eq!(world.wait(&id(&task)).1, 6);
    let (session, task) = (task["session"].as_str().expect("a session").to_owned(), id(&task));
    let operation = only_operation(&world, &task);
    // The worker holds the lock and can do nothing: the journal stays as it is.
    world.worker(&session).signal(Signal::STOP);
    world.ok(&resolve(&operation, "succeeded", "it is in the log"));
    assert_eq!(count(&world, &task, "journal", "operation.succeeded"), 0, "the journal has it not");
    assert_eq!(world.operation_states(&task), ["slow:succeeded"]);
    assert_eq!(world.task(&task)["state"], "completed");
    for (state, found) in [("succeeded", 1), ("unknown", 0)] {
        let page = world.ok(&["operation", "list", "--task", &task, "--state", state]);
        assert_eq!(page["items"].as_array().map(Vec::len), Some(found), "{state}: {page}");
    }
    assert_eq!(world.ok(&["task", "report", &task])["counts"], json!({"succeeded": 1}));
    world.kill_serve();
    world.processes("").iter().for_each(Process::kill);
    world.assert_sessions_are_gone();
    world.start_serve();
    until_copied(&world, &task, "operation.succeeded");
    assert_eq!(count(&world, &task, "ledger", "operation.resolved"), 1);
    assert_eq!(count(&world, &task, "ledger", "task.completed"), 1);
    assert_eq!(world.operation_states(&task), ["slow:succeeded"]);
    let next = world.submit_in(&session, &json!([{"tool": "demo__note", "args": {"text": "next"}}]));
    assert_eq!(world.wait(&id(&next)).1, 0);
    world.assert_chains_hold(&session);
}
