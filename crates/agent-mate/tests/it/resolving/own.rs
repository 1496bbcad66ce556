//! What the runtime's own tools, or a lost journal, left uncertain: settled by `task resolve`.

use super::{only_operation, resolve, slow};
use crate::harness::{Process, Store, World, id, on_both_stores};
use serde_json::{Value, json};
use std::fs;

on_both_stores!(g05_own_work_is_an_item_of_its_own_beside_a_call);

fn own_tool() -> Value {
    json!({"sessionUpdate": "tool_call", "toolCallId": "o1", "title": "rm -r build", "kind": "execute",
        "status": "in_progress"})
}

fn resolve_task<'a>(task: &'a str, reason: &'a str) -> Vec<&'a str> {
    vec!["task", "resolve", task, "--reason", reason]
}

fn g05_own_work_is_an_item_of_its_own_beside_a_call(store: Store) {
    let world = World::new(store);
    let task = world.submit(&json!([{"raw": own_tool()}, slow("once", 30)]));
    world.until_begun("slow", 1);
    let session = task["session"].as_str().expect("a session").to_owned();
    let task = id(&task);
    crate::harness::until("the own tool on record", || {
        world.event_types(&task).contains(&"tool.call".to_owned()).then_some(())
    });
    let runtime = world.the_process("scripted-runtime");
    world.worker(&session).kill();
    runtime.kill();
    let (ended, code) = world.wait(&task);
    assert_eq!((code, &ended["uncertain"]), (6, &json!("operations")), "{ended}");
    // The call is settled; what the runtime itself did is not.
    world.ok(&resolve(&only_operation(&world, &task), "failed", "looked"));
    let shown = world.task(&task);
    assert_eq!(
        (&shown["state"], &shown["uncertain"], &shown["unknown_operations"]),
        (&json!("unknown"), &json!("own_activity"), &json!(0)),
        "{shown}"
    );
    let done = world.ok(&resolve_task(&task, "the folder is gone, as it should be"));
    assert_eq!((&done["state"], &done["final"]), (&json!("failed"), &json!(true)), "{done}");
    let again = world.ok(&resolve_task(&task, "the folder is gone, as it should be"));
    assert_eq!(again["state"], "failed", "the same word again gets the same answer");
    let other = world.cli(&resolve_task(&task, "something else"));
    assert_eq!((other.code, other.error_code().as_str()), (4, "not_unknown"));
    let said: Vec<Value> =
        world.events(&task).into_iter().filter(|event| event["type"] == "task.resolved").collect();
    assert_eq!(said.len(), 1);
    assert_eq!(said[0]["data"]["reason"], "the folder is gone, as it should be");
}

#[test]
fn g05_operations_are_not_settled_by_resolving_their_task() {
    let world = World::new(Store::Sqlite);
    let (task, _, _) = super::killed_in_a_call(&world);
    let refused = world.cli(&resolve_task(&task, "all is well"));
    assert_eq!((refused.code, refused.error_code().as_str()), (4, "operations_unknown"));
    assert_eq!(world.task(&task)["state"], "unknown");
}

#[test]
fn g05_a_lost_journal_is_settled_by_a_person() {
    let mut world = World::new(Store::Sqlite);
    let task = world.submit(&json!([slow("once", 30)]));
    world.until_begun("slow", 1);
    world.kill_serve();
    world.processes("").iter().for_each(Process::kill);
    world.assert_sessions_are_gone();
    fs::remove_dir_all(world.session_folder(task["session"].as_str().expect("a session"))).expect("removed");
    world.start_serve();
    let (ended, code) = world.wait(&id(&task));
    assert_eq!((code, &ended["uncertain"]), (6, &json!("journal_lost")), "{ended}");
    let done = world.ok(&resolve_task(&id(&task), "the other side's log has one call, and it was undone"));
    assert_eq!(done["state"], "failed", "{done}");
}
