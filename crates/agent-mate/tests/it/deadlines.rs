//! A deadline asks to stop and is told as the reason; a quiet task is shown as quiet.

use crate::harness::{Store, World, id, on_both_stores, program, stub, until};
use serde_json::{Value, json};

on_both_stores!(f99_a_deadline_that_passes_stops_the_task_and_is_the_reason);

fn add(world: &World, steps: &Value, options: &[&str]) -> Value {
    let text = stub(steps);
    let words = ["task", "add", "--project", "default", "--approve", text.as_str()];
    world.ok(&[&words, options].concat())
}

fn f99_a_deadline_that_passes_stops_the_task_and_is_the_reason(store: Store) {
    let world = World::new(store);
    let task = id(&add(&world, &json!([{"hang": true}]), &["--deadline", "2s"]));
    let (ended, code) = world.wait(&task);
    assert_eq!((&ended["state"], code), (&json!("stopped"), 7), "{ended}");
    let reason = ended["reason"].as_str().expect("a reason");
    assert!(reason.starts_with("its deadline of 2 s passed; "), "{reason}");
    assert_eq!(ended["stop_requested_by"], "deadline");
    let asked = world.events(&task);
    let asked = asked.iter().find(|event| event["type"] == "task.stop_requested").expect("an event");
    assert_eq!((&asked["data"]["by"], &asked["data"]["deadline_seconds"]), (&Value::Null, &json!(2)));
    assert!(world.event_types(&task).contains(&"container.empty".to_owned()));
    // It is a task's own: the next one in the session has none.
    let next = world.submit_in(ended["session"].as_str().expect("a session"), &json!([{"text": "done"}]));
    assert_eq!(world.wait(&id(&next)).1, 0);
}

#[test]
fn a_deadline_passes_also_while_the_runtime_starts() {
    let world = World::new(Store::Sqlite);
    world.ok(&["runtime", "add", "silent", "--deadline", "2s", "--", "/bin/sleep", "1000"]);
    let words = ["task", "add", "--project", "default", "--runtime", "silent", "--approve", "x"];
    let task = world.ok(&words);
    assert_eq!(task["policy"]["deadline_seconds"], 2, "as its runtime says");
    let (ended, code) = world.wait(&id(&task));
    assert_eq!((&ended["state"], code), (&json!("stopped"), 7), "{ended}");
    assert_eq!(ended["stop_requested_by"], "deadline");
}

#[test]
fn a_task_may_say_otherwise_than_its_runtime() {
    let world = World::empty(Store::Sqlite);
    let add_runtime = ["runtime", "add", "hasty", "--deadline", "1s", "--quiet", "1s", "--"];
    world.ok(&[add_runtime.as_slice(), &[program(), "scripted-runtime"]].concat());
    let task = add(&world, &json!([{"text": "on"}, {"hang": true}]), &["--deadline", "0", "--quiet", "2h"]);
    let task = id(&task);
    until("it works", || (world.task(&task)["activity"] == "working").then_some(()));
    let policy = &world.task(&task)["policy"];
    assert_eq!((&policy["deadline_seconds"], &policy["quiet_seconds"]), (&json!(0), &json!(7200)));
    assert_eq!(world.task(&task)["deadline_at"], Value::Null);
    let second = add(&world, &json!([{"text": "on"}, {"hang": true}]), &["--deadline", "1h"]);
    let second = id(&second);
    until("it is shown as quiet", || (world.task(&second)["activity"] == "quiet").then_some(()));
    let shown = world.task(&second);
    assert!(shown["quiet_since"].is_string() && shown["deadline_at"].is_string(), "{shown}");
    assert_eq!(world.task(&task)["activity"], "working");
    for task in [task, second] {
        world.ok(&["task", "kill", &task]);
        assert_ne!(world.task(&task)["stop_requested_by"], "deadline");
    }
}

#[test]
fn what_is_no_time_is_refused() {
    let world = World::empty(Store::Sqlite);
    world.scripted("scripted", &[]);
    for (option, given) in
        [("--deadline", "soon"), ("--deadline", "400d"), ("--quiet", "0"), ("--quiet", "-1")]
    {
        let words = ["task", "add", "--project", "default", "x", option, given];
        assert_eq!(world.cli(&words).code, 2, "{option} {given}");
        let words = ["runtime", "add", "other", option, given, "--", "/bin/true"];
        assert_eq!(world.cli(&words).code, 2, "{option} {given}");
    }
    assert_eq!(world.ok(&["task", "list", "--project", "default"])["items"], json!([]));
    assert_eq!(world.ok(&["runtime", "list"])["items"].as_array().map(Vec::len), Some(1));
}
