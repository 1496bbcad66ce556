//! A stop asks the upstream to call its task off; what became of the call, the record says.

use super::{asked, named, over_http};
use crate::harness::{Store, on_both_stores};

on_both_stores!(
    g06_a_stop_calls_the_upstreams_task_off,
    g06_a_stop_that_the_upstream_does_not_hear_changes_no_outcome,
);

fn g06_a_stop_calls_the_upstreams_task_off(store: Store) {
    let (world, _remote, _) = over_http(store, &["--honour-cancel"]);
    let task = named(&world, 30);
    world.cli(&["task", "stop", &task, "--timeout", "55s"]);
    assert_eq!(world.wait(&task).0["state"], "stopped");
    assert_eq!((asked(&world, "tasks/cancel"), world.count("aborted", "job")), (1, 1));
    assert_eq!(world.operation_states(&task), ["job:failed"], "the upstream itself says so");
}

fn g06_a_stop_that_the_upstream_does_not_hear_changes_no_outcome(store: Store) {
    let (world, _remote, _) = over_http(store, &[]);
    let task = named(&world, 3);
    world.cli(&["task", "stop", &task, "--timeout", "55s"]);
    assert_eq!(world.wait(&task).0["state"], "stopped");
    assert_eq!(asked(&world, "tasks/cancel"), 0, "it does not offer that");
    assert_eq!(world.operation_states(&task), ["job:succeeded"]);
    assert_eq!(world.count("end", "job"), 1);
}
