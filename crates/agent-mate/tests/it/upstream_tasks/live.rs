//! While the worker lives, a call that is carried out as a task is an ordinary call.

use super::{asked, assert_by_record, job, over_http, unknown_of, until_settled};
use crate::harness::{Store, World, id, json_lines, on_both_stores};
use serde_json::{Value, json};

on_both_stores!(
    g05_a_call_that_is_carried_out_as_a_task_ends_with_its_result,
    g05_a_call_that_took_too_long_is_settled_by_its_record,
);

fn told(world: &World) -> Vec<Value> {
    json_lines(&world.path("told.log"))
}

fn g05_a_call_that_is_carried_out_as_a_task_ends_with_its_result(store: Store) {
    let (world, _remote, _) = over_http(store, &[]);
    let (task, code) = world.carry_out(&json!([job("once", 1), {"text": "done"}]));
    assert_eq!(code, 0, "{task}");
    let operations = world.operations(&id(&task));
    let seen = world.ok(&["operation", "show", &id(&operations[0])]);
    assert_eq!(
        (&seen["state"], &seen["evidence"]["kind"]),
        (&json!("succeeded"), &json!("answer")),
        "{seen}"
    );
    assert!(seen["upstream_task"].is_string() && seen["looks"].is_null(), "{seen}");
    assert!(told(&world).iter().any(|line| line["text"] == "job done: once" && line["ok"] == true));
    assert_eq!((world.count("begin", "job"), asked(&world, "tasks/result")), (1, 1));
    let events = world.event_types(&id(&task));
    let place = |kind: &str| events.iter().position(|known| known == kind).expect(kind);
    assert!(place("operation.admitted") < place("operation.upstream_task"));
    assert!(place("operation.upstream_task") < place("operation.succeeded"));
}

fn g05_a_call_that_took_too_long_is_settled_by_its_record(store: Store) {
    let (world, _remote, _) = over_http(store, &[]);
    world.set_session("call_seconds = 2");
    let task = id(&world.submit(&json!([job("once", 5), {"text": "done"}])));
    let operation = unknown_of(&world, &task);
    let worker = world.the_process("session-worker ").pid;
    assert!(told(&world).iter().any(|line| line["ok"] == false), "the agent was told that it is unknown");
    assert_by_record(&until_settled(&world, &operation), "succeeded");
    assert_eq!(world.the_process("session-worker ").pid, worker, "no other worker is needed");
    world.until_ended(&task, 0);
    assert_eq!(world.count("begin", "job"), 1, "the agent had ended its turn");
}
