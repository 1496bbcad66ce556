//! A stop is a wish until it is proved.

use crate::harness::{Store, World, id, on_both_stores, program, until};
use serde_json::{Value, json};

on_both_stores!(g06_stop_in_a_call_that_is_answered_in_time);

/// Stops the task; what it came to.
fn stop(world: &World, verb: &str, task: &str) -> Value {
    let output = world.cli(&["task", verb, task, "--timeout", "55s"]);
    let (ended, code) = world.wait(task);
    // `stopped` is what was asked for; anything else is told as `task wait` tells it.
    assert_eq!(output.code, if code == 7 { 0 } else { code }, "{output:?}");
    assert_eq!(output.json()["state"], ended["state"]);
    ended
}

fn assert_stopped(world: &World, task: &str, ended: &Value) {
    assert_eq!(ended["state"], "stopped", "{ended}");
    assert_eq!(world.cli(&["task", "wait", task]).code, 7);
    assert!(ended["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "no evidence in {ended}");
    world.events(task);
}

/// The session takes another task after what happened to the one before.
fn assert_usable(world: &World, task: &Value) {
    let session = task["session"].as_str().expect("a session");
    let before = world.count("end", "note");
    let next = world.submit_in(session, &json!([{"tool": "note", "args": {"text": "next"}}]));
    let (ended, code) = world.wait(&id(&next));
    assert_eq!(code, 0, "{ended}");
    assert_eq!(world.count("end", "note"), before + 1);
}

fn until_told(world: &World, task: &str, kind: &str) {
    until(&format!("{kind} of {task}"), || {
        world.event_types(task).iter().any(|one| one == kind).then_some(())
    });
}

fn runtime_is_gone(world: &World) {
    until("the runtime's end", || world.processes("scripted-runtime").is_empty().then_some(()));
}

fn g06_stop_in_a_call_that_is_answered_in_time(store: Store) {
    let world = World::new(store);
    let steps =
        json!([{"tool": "slow", "args": {"seconds": 2}}, {"tool": "note", "args": {"text": "too late"}}]);
    let task = world.submit(&steps);
    world.until_begun("slow", 1);
    assert_stopped(&world, &id(&task), &stop(&world, "stop", &id(&task)));
    assert_eq!(world.operation_states(&id(&task)), ["slow:succeeded"]);
    assert_eq!((world.count("end", "slow"), world.count("begin", "note")), (1, 0));
    assert!(world.event_types(&id(&task)).contains(&"container.empty".to_owned()));
    runtime_is_gone(&world);
    assert_usable(&world, &task);
}

#[test]
fn g06_stop_in_a_call_that_is_not_answered_is_unknown() {
    let world = World::new(Store::Sqlite);
    let task = world.submit(&json!([{"tool": "slow", "args": {"seconds": 40}}]));
    world.until_begun("slow", 1);
    let ended = stop(&world, "stop", &id(&task));
    assert_eq!(ended["state"], "unknown", "{ended}");
    assert_eq!((&ended["uncertain"], &ended["then"]), (&json!("operations"), &json!("stopped")));
    assert_eq!(world.operation_states(&id(&task)), ["slow:unknown"]);
    runtime_is_gone(&world);
    assert_usable(&world, &task);
}

/// The runtime hears nothing, so the word can only be the stop's own.
#[test]
fn g06_a_stop_tells_the_upstream_and_waits_for_its_answer() {
    let world = World::new(Store::Sqlite);
    let settings = world.home().join("config.toml");
    let text = std::fs::read_to_string(&settings).expect("settings");
    std::fs::write(&settings, text.replace("cancel_seconds = 1", "cancel_seconds = 60")).expect("written");
    let slow = json!({"tool": "slow", "args": {"seconds": 3}, "ignore_cancel": true});
    let task = world.submit(&json!([slow, {"text": "done", "ignore_cancel": true}]));
    world.until_begun("slow", 1);
    world.ok(&["task", "stop", &id(&task), "--no-wait"]);
    let told = |line: &Value| line["kind"] == "notification" && line["method"] == "notifications/cancelled";
    until("the upstream is told", || world.effects().iter().any(told).then_some(()));
    assert_eq!(world.count("end", "slow"), 0, "told while the call is out");
    let (ended, _) = world.wait(&id(&task));
    assert_eq!(world.operation_states(&id(&task)), ["slow:succeeded"], "{ended}");
    assert_eq!(world.effects().iter().filter(|line| told(line)).count(), 1);
}

#[test]
fn g06_kill_in_a_call_is_unknown_at_once() {
    let world = World::new(Store::Sqlite);
    let task = world.submit(&json!([{"tool": "slow", "args": {"seconds": 40}}]));
    world.until_begun("slow", 1);
    let ended = stop(&world, "kill", &id(&task));
    assert_eq!(ended["state"], "unknown", "{ended}");
    assert_eq!(world.operation_states(&id(&task)), ["slow:unknown"]);
    runtime_is_gone(&world);
    assert_usable(&world, &task);
}

#[test]
fn g06_stop_while_the_agent_speaks() {
    let world = World::new(Store::Sqlite);
    let long = "word ".repeat(400);
    let task = world.submit(&json!([{"text": long, "chunks": 400, "gap_ms": 50}]));
    until_told(&world, &id(&task), "agent.message");
    assert_stopped(&world, &id(&task), &stop(&world, "stop", &id(&task)));
    runtime_is_gone(&world);
    assert_usable(&world, &task);
}

#[test]
fn g06_stop_while_the_runtime_starts() {
    let world = World::new(Store::Sqlite);
    world.ok(&["runtime", "add", "silent", "--", "/bin/sleep", "1000"]);
    let words = ["task", "add", "--project", "default", "--runtime", "silent", "--approve", "x"];
    let task = id(&world.ok(&words));
    world.the_process("sleep 1000");
    assert_stopped(&world, &task, &stop(&world, "stop", &task));
    until("the runtime's end", || world.processes("sleep 1000").is_empty().then_some(()));
    let types = world.event_types(&task);
    assert!(!types.contains(&"turn.prompted".to_owned()), "{types:?}");
}

#[test]
fn g06_stop_of_what_waits_in_the_queue_and_of_what_has_ended() {
    let world = World::new(Store::Sqlite);
    let first = world.submit(&json!([{"tool": "slow", "args": {"seconds": 1.5}}]));
    let queued =
        world.submit_in(first["session"].as_str().expect("a session"), &json!([{"text": "never said"}]));
    assert_stopped(&world, &id(&queued), &stop(&world, "stop", &id(&queued)));
    assert_eq!(world.wait(&id(&first)).1, 0);
    let again = world.cli(&["task", "stop", &id(&first)]);
    assert_eq!((again.code, again.error_code().as_str()), (4, "final"));
    assert_eq!(world.task(&id(&first))["state"], "completed");
    assert_eq!(world.prompts().len(), 1, "what was stopped in the queue is never prompted");
    let proposed = id(&world.ok(&["task", "add", "--project", "default", "x"]));
    assert_eq!(world.cli(&["task", "stop", &proposed]).code, 4, "it is rejected and not stopped");
}

#[test]
fn g06_a_runtime_that_hears_nothing_is_ended_step_by_step() {
    let world = World::empty(Store::Sqlite);
    // Its shell ignores SIGTERM, and so does what it starts.
    let deaf = format!("trap '' TERM; {} scripted-runtime; sleep 1000", program());
    world.ok(&["runtime", "add", "deaf", "--", "/bin/sh", "-c", &deaf]);
    let task = world.submit(&json!([{"plan": ["hang"]}, {"ignore_cancel": true, "hang": true}]));
    until_told(&world, &id(&task), "agent.plan");
    assert_stopped(&world, &id(&task), &stop(&world, "stop", &id(&task)));
    let events = world.events(&id(&task));
    let steps: Vec<&str> = events.iter().filter_map(|event| event["data"]["step"].as_str()).collect();
    assert_eq!(steps, ["cancel", "close_input", "term", "kill"]);
    runtime_is_gone(&world);
    assert!(world.processes("sleep 1000").is_empty());
    let next = world.submit_in(task["session"].as_str().expect("a session"), &json!([{"text": "next"}]));
    assert_eq!(world.wait(&id(&next)).1, 0);
}

#[test]
fn g06_kill_of_a_hanging_runtime() {
    let world = World::new(Store::Sqlite);
    let task = world.submit(&json!([{"plan": ["hang"]}, {"ignore_cancel": true, "hang": true}]));
    until_told(&world, &id(&task), "agent.plan");
    assert_stopped(&world, &id(&task), &stop(&world, "kill", &id(&task)));
    runtime_is_gone(&world);
    assert_usable(&world, &task);
}

#[test]
fn g06_a_stop_that_was_asked_survives_the_worker() {
    let world = World::new(Store::Sqlite);
    let task = world.submit(&json!([{"plan": ["hang"]}, {"ignore_cancel": true, "hang": true}]));
    let session = task["session"].as_str().expect("a session");
    until_told(&world, &id(&task), "agent.plan");
    world.ok(&["task", "stop", "--no-wait", &id(&task)]);
    world.worker(session).kill();
    assert_stopped(&world, &id(&task), &world.wait(&id(&task)).0);
    world.assert_sessions_are_gone();
    assert_eq!(world.prompts().len(), 1);
}

#[test]
fn f39_children_that_leave_their_group_are_gone_when_stopped_is_shown() {
    let world = World::empty(Store::Sqlite);
    // In a session of its own, double-forked, ignoring every polite signal; started anew when it ends.
    let crawler =
        "(setsid sh -c 'trap \"\" TERM HUP INT; while :; do sleep 7321; done' >/dev/null 2>&1 </dev/null &)";
    let busy = format!("{crawler}; exec {} scripted-runtime", program());
    world.ok(&["runtime", "add", "busy", "--", "/bin/sh", "-c", &busy]);
    let task = id(&world.submit(&json!([{"plan": ["hang"]}, {"hang": true}])));
    world.the_process("sleep 7321 ");
    until_told(&world, &task, "agent.plan");
    assert_stopped(&world, &task, &stop(&world, "stop", &task));
    assert!(world.processes("sleep 7321").is_empty(), "it lives on though `stopped` is shown");
}

/// What a task leaves running is not the task's any more; the session ends it.
#[test]
fn g06_closing_a_session_ends_what_its_last_task_left_running() {
    let world = World::empty(Store::Sqlite);
    let messy = format!("(setsid sleep 7322 >/dev/null 2>&1 &); exec {} scripted-runtime", program());
    world.ok(&["runtime", "add", "messy", "--", "/bin/sh", "-c", &messy]);
    let (ended, code) = world.carry_out(&json!([{"text": "done"}]));
    assert_eq!(code, 0, "{ended}");
    let session = ended["session"].as_str().expect("a session");
    assert_eq!(world.processes("sleep 7322").len(), 1, "the session is idle, and lives");
    let busy = world.submit_in(session, &json!([{"hang": true}]));
    assert_eq!(world.cli(&["session", "close", session]).error_code(), "session_busy");
    world.ok(&["task", "kill", &id(&busy)]);
    assert_eq!(world.wait(&id(&world.submit_in(session, &json!([{"text": "done"}])))).1, 0);
    assert_eq!(world.processes("sleep 7322").len(), 1);
    let closed = world.ok(&["session", "close", session]);
    assert_eq!(closed["state"], "closed", "{closed}");
    assert!(world.processes("sleep 7322").is_empty(), "it lives on though `closed` is shown");
    assert_eq!(world.ok(&["session", "close", session])["state"], "closed", "as often as one likes");
    let words = ["task", "add", "--project", "default", "--session", session, "x"];
    assert_eq!(world.cli(&words).error_code(), "session_closed");
    world.assert_sessions_are_gone();
}

/// Neither the runtime nor process 1 of its container does anything any more.
#[test]
fn g06_a_container_whose_keeper_is_frozen_is_ended_from_outside() {
    let world = World::empty(Store::Sqlite);
    let deaf = format!("trap '' TERM; {} scripted-runtime; sleep 7323", program());
    world.ok(&["runtime", "add", "deaf", "--", "/bin/sh", "-c", &deaf]);
    let task = world.submit(&json!([{"plan": ["hang"]}, {"hang": true, "ignore_cancel": true}]));
    until_told(&world, &id(&task), "agent.plan");
    let outer = world.the_process(" keeper ").pid;
    let children = std::fs::read_to_string(format!("/proc/{outer}/task/{outer}/children")).expect("read");
    let inner = children.split_whitespace().next().and_then(|pid| pid.parse().ok()).expect("process 1");
    let inner = rustix::process::Pid::from_raw(inner).expect("a number");
    rustix::process::kill_process(inner, rustix::process::Signal::STOP).expect("stopped");
    let ended = stop(&world, "kill", &id(&task));
    assert_stopped(&world, &id(&task), &ended);
    assert!(world.processes("scripted-runtime").is_empty() && world.processes("sleep 7323").is_empty());
    assert_usable_anew(&world, &task);
}

/// As [`assert_usable`], where no tool is linked.
fn assert_usable_anew(world: &World, task: &Value) {
    let session = task["session"].as_str().expect("a session");
    let next = world.submit_in(session, &json!([{"text": "done"}]));
    assert_eq!(world.wait(&id(&next)).1, 0);
}
