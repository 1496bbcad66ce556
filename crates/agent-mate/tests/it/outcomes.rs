//! How a turn ended, and what the task is said to be because of that.

use crate::harness::{Store, World, id, stub};
use serde_json::{Value, json};

#[test]
fn g05_each_way_a_turn_ends_has_its_outcome() {
    let world = World::new(Store::Sqlite);
    let table = [
        (json!([{"text": "x", "stop": "end_turn"}]), "completed", "", 0),
        (json!([{"text": "x", "stop": "max_tokens"}]), "failed", "limit_reached", 5),
        (json!([{"text": "x", "stop": "max_turn_requests"}]), "failed", "limit_reached", 5),
        (json!([{"text": "x", "stop": "refusal"}]), "failed", "refused", 5),
        (json!([{"text": "x", "stop": "cancelled"}]), "failed", "cancelled_by_runtime", 5),
        (json!([{"text": "x", "stop": "as_it_pleased"}]), "failed", "runtime_error", 5),
        (json!([{"text": "x", "exit": 0}]), "failed", "runtime_lost", 5),
        (json!([{"text": "x", "exit": 3}]), "failed", "runtime_lost", 5),
        (json!([{"text": "x", "crash": true}]), "failed", "runtime_lost", 5),
        (json!([]), "failed", "empty_turn", 5),
        (json!([{"text": " \n "}]), "failed", "empty_turn", 5),
        (json!([{"text": "x", "error": "out of order"}]), "failed", "runtime_error", 5),
    ];
    let tasks: Vec<String> = table.iter().map(|(steps, ..)| id(&world.submit(steps))).collect();
    for ((steps, state, reason, code), task) in table.iter().zip(&tasks) {
        let (ended, got) = world.wait(task);
        assert_eq!((ended["state"].as_str(), got), (Some(*state), *code), "{steps}: {ended}");
        let said = ended["reason"].as_str().unwrap_or_default();
        assert!(said.starts_with(reason) && said.is_empty() == reason.is_empty(), "{steps}: {ended}");
        world.events(task);
    }
    assert_eq!(world.prompts().len(), table.len());
}

#[test]
fn a_session_takes_the_next_task_after_each_kind_of_failure() {
    let world = World::new(Store::Sqlite);
    let first = world.submit(&json!([{"text": "x", "exit": 3}]));
    let session = first["session"].as_str().expect("a session");
    let next = [
        (json!([{"text": "y", "error": "no"}]), 5),
        (json!([{"text": "z", "stop": "cancelled"}]), 5),
        (json!([{"tool": "note", "args": {"text": "well"}}]), 0),
    ];
    let tasks: Vec<Value> = next.iter().map(|(steps, _)| world.submit_in(session, steps)).collect();
    assert_eq!(world.wait(&id(&first)).1, 5);
    for ((steps, code), task) in next.iter().zip(&tasks) {
        assert_eq!(world.wait(&id(task)).1, *code, "{steps}");
    }
    assert_eq!(world.prompts().len(), 4);
    assert_eq!(world.count("end", "note"), 1);
}

#[test]
fn a_runtime_that_cannot_be_started_fails_the_task_before_any_prompt() {
    let world = World::empty(Store::Sqlite);
    let runtimes: [(&str, &[&str]); 4] = [
        ("missing", &["/nonexistent/agent"]),
        ("ends", &["/bin/false"]),
        ("echoes", &["/bin/cat"]),
        ("babbles", &["/bin/sh", "-c", "echo hello; echo {; echo 7; exit 3"]),
    ];
    for (name, command) in runtimes {
        let mut words = vec!["runtime", "add", name, "--"];
        words.extend(command);
        world.ok(&words);
        let task = world.ok(&["task", "add", "--project", "default", "--runtime", name, "--approve", "do"]);
        let (ended, code) = world.wait(&id(&task));
        assert_eq!((ended["state"].as_str(), code), (Some("failed"), 5), "{name}: {ended}");
        assert!(
            ended["reason"].as_str().is_some_and(|why| why.starts_with("start_failed")),
            "{name}: {ended}"
        );
        assert!(!world.event_types(&id(&task)).contains(&"turn.prompted".to_owned()));
    }
}

#[test]
fn a_task_that_wants_a_report_fails_without_one() {
    let world = World::new(Store::Sqlite);
    let words = ["task", "add", "--project", "default", "--approve", "--require-report"];
    let add = |script: &str| {
        let mut all = words.to_vec();
        all.push(script);
        id(&world.ok(&all))
    };
    let without = add("STUB[[ [{\"text\":\"done\"}] ]]");
    let with = add(
        "STUB[[ [{\"tool\":\"agent_mate__report\",\"args\":{\"status\":\"blocked\",\"summary\":\"no key\"}}] ]]",
    );
    let (ended, code) = world.wait(&without);
    assert_eq!(code, 5);
    assert!(ended["reason"].as_str().is_some_and(|why| why.starts_with("report_missing")), "{ended}");
    let (ended, code) = world.wait(&with);
    assert_eq!((code, &ended["report"]), (0, &json!("blocked")), "{ended}");
}

#[test]
fn odd_output_of_a_runtime_does_no_harm() {
    let world = World::new(Store::Sqlite);
    let odd =
        "a\u{2028}b\u{85}c\u{feff}\u{1b}[31mred\u{1b}[0m\r\u{7} \u{1f469}\u{200d}\u{1f469}\u{200d}\u{1f466}";
    let steps = stub(&json!([
        {"raw_line": "this is no JSON"},
        {"raw_line": "{\"jsonrpc\":\"2.0\",\"id\":999,\"result\":{}}"},
        {"raw": {"sessionUpdate": "of_a_kind_yet_unknown", "x": [1, 2]}},
        {"stderr": "something on standard error"},
        {"text": odd, "chunks": 7},
        {"permission": "rm -rf /"},
        {"tool": "note", "args": {"text": odd}},
    ]));
    let words = ["task", "add", "--project", "default", "--approve", "--on-approval", "deny", &steps];
    let (ended, code) = world.wait(&id(&world.ok(&words)));
    assert_eq!(code, 0, "{ended}");
    assert_eq!(
        world.effects().iter().filter(|line| line["kind"] == "begin" && line["key"] == odd).count(),
        1
    );
    let events = world.events(&id(&ended));
    let answered = events.iter().find(|event| event["type"] == "permission.answered").expect("an answer");
    assert_eq!(answered["data"]["allowed"], false, "nobody is there to allow it");
    // What goes to a terminal has no control characters.
    let shown = crate::harness::run(world.command(&["task", "events", &id(&ended)]), None);
    assert!(!shown.stdout.chars().any(|c| c.is_control() && c != '\n'), "{:?}", shown.stdout);
}
