//! An approved task runs end to end, and everything about it is on record.

use crate::harness::{Store, World, id, on_both_stores};
use serde_json::json;

on_both_stores!(first_light_a_task_runs_and_is_recorded);

fn first_light_a_task_runs_and_is_recorded(store: Store) {
    let world = World::new(store);
    let (task, code) = world.carry_out(&json!([
        {"plan": ["note one", "note two"]},
        {"tool": "note", "args": {"text": "one"}},
        {"tools": [{"tool": "echo", "args": {"text": "hello"}}, {"tool": "note", "args": {"text": "two"}}]},
        {"tool": "fail", "args": {"text": "no luck"}},
        {"tool": "agent_mate__report", "args": {"status": "done", "summary": "two notes are written"}},
        {"text": "done"},
    ]));
    assert_eq!((task["state"].as_str(), code), (Some("completed"), 0), "{task}");
    assert_eq!((&task["result"], &task["report"]), (&json!("reported"), &json!("done")));
    assert_each_call_is_recorded_once(&world, &id(&task));

    let types = world.event_types(&id(&task));
    let ledger = ["task.submitted", "task.approved", "task.started", "task.completed"];
    let journal =
        ["turn.started", "turn.prompted", "operation.admitted", "operation.succeeded", "turn.ended"];
    for expected in [&ledger[..], &journal] {
        let mut rest = types.iter();
        for one in expected {
            assert!(rest.any(|kind| kind == one), "{one} is not in its place in {types:?}");
        }
    }
    let report = world.ok(&["task", "report", &id(&task)]);
    assert_eq!(report["counts"], json!({"failed": 1, "succeeded": 3}));
    assert_eq!(report["summary"], "two notes are written");
    assert_eq!(report["unknown"], json!([]));
    world.assert_chains_hold(task["session"].as_str().expect("a session"));
}

fn assert_each_call_is_recorded_once(world: &World, task: &str) {
    let operations = world.operations(task);
    assert_eq!(operations.len(), 4);
    for operation in &operations {
        let expected = if operation["tool"] == "fail" { "failed" } else { "succeeded" };
        assert_eq!(operation["state"], expected, "{operation}");
        for field in [
            "requested_at",
            "admitted_at",
            "sent_at",
            "answered_at",
            "recorded_at",
            "digest",
            "trace",
            "grant",
        ] {
            assert!(operation[field].is_string(), "{field} is missing in {operation}");
        }
        // What the upstream saw names the operation, and was seen once.
        for kind in ["begin", "end"] {
            let seen = world
                .effects()
                .iter()
                .filter(|line| {
                    line["kind"] == kind && line["meta"]["agent-mate/operation"] == operation["id"]
                })
                .count();
            assert_eq!(seen, 1, "{kind} of {operation}");
        }
        // Arguments are a shape and not their values.
        let mut shown = world.ok(&["operation", "show", &id(operation)]);
        assert!(!shown["arguments"].to_string().contains("luck"), "{shown}");
        // Alone it says as well what was kept of its result (nothing, of so little), and by whose leave it went out.
        assert_eq!(shown["artifacts"].take(), serde_json::json!([]), "{shown}");
        let authority = shown["authority"].take();
        let authority = authority.as_str().expect("words");
        let grant = operation["grant"].as_str().expect("a grant");
        assert!(authority.contains(grant) && authority.contains("given by owner"), "{authority}");
        assert_eq!(&shown, operation);
    }
    assert_eq!(world.effects().iter().filter(|line| line["kind"] == "begin").count(), 4);
}

#[test]
fn a_task_waits_for_its_approval() {
    let world = World::new(Store::Sqlite);
    let words =
        ["task", "add", "--project", "default", "STUB[[ [{\"tool\":\"note\",\"args\":{\"text\":\"x\"}}] ]]"];
    let (refused, approved) = (world.ok(&words), world.ok(&words));
    assert_eq!(refused["state"], "proposed");
    let rejected = world.ok(&["task", "reject", &id(&refused), "--reason", "not now"]);
    assert_eq!((&rejected["state"], &rejected["reason"]), (&json!("rejected"), &json!("not now")));
    assert_eq!(world.cli(&["task", "wait", &id(&refused)]).code, 7);
    assert_eq!(world.cli(&["task", "approve", &id(&refused)]).code, 4, "what was rejected stays rejected");
    assert_eq!(world.count("begin", "note"), 0);
    world.ok(&["task", "approve", &id(&approved)]);
    assert_eq!(world.wait(&id(&approved)).1, 0);
    assert_eq!(world.count("begin", "note"), 1);
    assert_eq!(world.prompts().len(), 1, "a task without approval never reached the runtime");
}

#[test]
fn a_waiting_command_ends_when_its_time_is_over() {
    let world = World::new(Store::Sqlite);
    let task = id(&world.submit(&json!([{"hang": true}])));
    let output = world.cli(&["task", "wait", &task, "--timeout", "1s"]);
    assert_eq!((output.code, output.error_code().as_str()), (8, "timeout"));
    assert_eq!(world.ok(&["task", "kill", &task])["state"], "stopped");
}
