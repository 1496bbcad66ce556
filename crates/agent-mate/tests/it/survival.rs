//! A session needs no coordinator.

use crate::harness::{Store, World, id, on_both_stores, run, until};
use rustix::process::Signal;
use serde_json::json;
use std::thread;

on_both_stores!(g01_independence_the_coordinator_is_killed_in_a_call);

fn g01_independence_the_coordinator_is_killed_in_a_call(store: Store) {
    goes_on_without_its_coordinator(store, World::kill_serve);
}

#[test]
fn g01_independence_the_coordinator_is_asked_to_end() {
    goes_on_without_its_coordinator(Store::Sqlite, |world| {
        let serve = world.serve.take().expect("a coordinator");
        serve.signal(Signal::TERM);
        assert!(serve.ended().success());
    });
}

#[test]
fn g01_independence_the_coordinator_is_interrupted_at_its_terminal() {
    goes_on_without_its_coordinator(Store::Sqlite, |world| {
        let serve = world.serve.take().expect("a coordinator");
        serve.signal_group(Signal::INT);
        assert!(serve.ended().success());
    });
}

fn goes_on_without_its_coordinator(store: Store, end_coordinator: impl FnOnce(&mut World)) {
    let mut world = World::new(store);
    let task = world.submit(&json!([
        {"tool": "slow", "args": {"seconds": 2, "key": "once"}},
        {"tool": "note", "args": {"text": "alone"}},
        {"text": "done"},
    ]));
    let session = task["session"].as_str().expect("a session").to_owned();
    let task = id(&task);
    world.until_begun("slow", 1);
    let worker = world.worker(&session);
    // Somebody who waits all the time hears the end as well.
    let watching = world.command(&["--json", "task", "wait", &task, "--timeout", "55s"]);
    let watching = thread::spawn(move || run(watching, None));

    end_coordinator(&mut world);
    assert_eq!(world.cli(&["task", "show", &task]).code, 9, "nobody answers");
    until("a call that is admitted, made and answered while no coordinator lives", || {
        (world.count("end", "note") == 1).then_some(())
    });
    assert_eq!(world.worker(&session).pid, worker.pid);

    world.start_serve();
    let (ended, code) = world.wait(&task);
    assert_eq!((ended["state"].as_str(), code), (Some("completed"), 0), "{ended}");
    assert_eq!(watching.join().expect("waited").code, 0);
    assert_eq!(world.operation_states(&task), ["slow:succeeded", "note:succeeded"]);
    assert_eq!((world.count("begin", "slow"), world.count("begin", "note")), (1, 1));
    assert_eq!(world.prompts().len(), 1, "nothing is submitted again");
    let types = world.event_types(&task);
    for once in ["task.submitted", "task.started", "turn.prompted", "turn.ended", "task.completed"] {
        assert_eq!(types.iter().filter(|kind| *kind == once).count(), 1, "{once} in {types:?}");
    }
    world.assert_chains_hold(&session);
}

#[test]
fn g01_a_coordinator_that_is_killed_again_and_again_changes_nothing() {
    let mut world = World::new(Store::Sqlite);
    let note = |text: u8| json!({"tool": "note", "args": {"text": text.to_string()}});
    let pause = json!({"sleep_ms": 150});
    let mut steps = Vec::new();
    for number in 0..12 {
        steps.extend([note(number), pause.clone()]);
    }
    steps.push(json!({"text": "done"}));
    let task = id(&world.submit(&json!(steps)));
    for seen in [1, 4, 7] {
        world.until_begun("note", seen);
        world.kill_serve();
        world.start_serve();
    }
    assert_eq!(world.wait(&task).1, 0);
    assert_eq!(world.count("begin", "note"), 12);
    assert_eq!(world.operations(&task).len(), 12);
    assert_eq!(world.prompts().len(), 1);
    world.events(&task);
}

#[test]
fn g12_accepted_work_is_carried_out_by_the_next_coordinator() {
    let mut world = World::new(Store::Sqlite);
    let task = id(&world.submit(&json!([{"tool": "note", "args": {"text": "kept"}}])));
    world.kill_serve();
    world.start_serve();
    assert_eq!(world.wait(&task).1, 0);
    assert_eq!((world.count("begin", "note"), world.prompts().len()), (1, 1));
}
