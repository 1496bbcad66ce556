//! The worker is killed between the upstream's name for a task and what follows from it.

use super::{
    asked, assert_by_record, job, kill_the_session, of_events, over_http, unknown_of, until_settled,
};
use crate::{
    crash::Faults,
    harness::{Store, World, id, on_both_stores, until, while_true},
};
use serde_json::{Value, json};
use std::time::Duration;

on_both_stores!(
    g05_a_name_that_was_not_written_leaves_the_call_unknown_and_is_never_repeated,
    g05_a_name_that_was_written_is_enough,
);

/// Kills worker and runtime while the worker is held at the point, after the effect; the task.
fn killed_at(world: &World, point: &str) -> String {
    let faults = Faults::of(world);
    faults.arm(point, "session-worker", 1);
    let task = id(&world.submit(&json!([job("once", 1), {"text": "done"}])));
    faults.until_held(point);
    until("the effect", || (world.count("end", "job") == 1).then_some(()));
    kill_the_session(world);
    faults.clear();
    task
}

fn g05_a_name_that_was_not_written_leaves_the_call_unknown_and_is_never_repeated(store: Store) {
    let (world, _remote, _) = over_http(store, &[]);
    let task = killed_at(&world, "bridge.task_made");
    let operation = unknown_of(&world, &task);
    while_true("it stays unknown", Duration::from_secs(2), || {
        world.ok(&["operation", "show", &operation])["state"] == "unknown"
    });
    let seen = world.ok(&["operation", "show", &operation]);
    assert_eq!((&seen["upstream_task"], &seen["looks"]), (&Value::Null, &Value::Null), "{seen}");
    assert_eq!(of_events(&world, &task, "operation.upstream_task", "upstream_task"), Vec::<String>::new());
    // The same call is refused: it may have happened.
    let session = world.task(&task)["session"].as_str().expect("a session").to_owned();
    let again = world.submit_in(&session, &json!([job("once", 1), {"text": "done"}]));
    world.wait(&id(&again));
    assert_eq!(world.operation_states(&id(&again)), ["job:denied"]);
    assert_eq!((world.count("begin", "job"), asked(&world, "tasks/get")), (1, 0));
}

fn g05_a_name_that_was_written_is_enough(store: Store) {
    let (world, _remote, _) = over_http(store, &[]);
    let task = killed_at(&world, "bridge.task_noted");
    let operation = unknown_of(&world, &task);
    assert_by_record(&until_settled(&world, &operation), "succeeded");
    world.until_ended(&task, 5);
    assert_eq!(world.count("begin", "job"), 1);
}
