//! Faults that were mended, each with what it would break.

use crate::harness::{Store, World, id};
use serde_json::{Value, json};
use std::{fs, path::Path};

#[test]
fn g05_a_turn_that_showed_nothing_but_called_or_reported_is_not_empty() {
    let world = World::new(Store::Sqlite);
    let report = json!({"status": "done", "summary": "all is well"});
    for (step, state, reason) in [
        (json!({"tool": "demo__note", "args": {"text": "x"}, "silent": true}), "completed", ""),
        (json!({"tool": "agent_mate__report", "args": report, "silent": true}), "completed", ""),
        (json!({"sleep_ms": 1, "silent": true}), "failed", "empty_turn"),
    ] {
        let (ended, _) = world.carry_out(&json!([step]));
        assert_eq!(ended["state"], state, "{step}: {ended}");
        assert!(ended["reason"].as_str().unwrap_or_default().starts_with(reason), "{ended}");
    }
}

/// The task after the runtime showed a tool call at work and went away.
fn lost_at(world: &World, title: &str, kind: &str) -> Value {
    let call = json!({
        "sessionUpdate": "tool_call", "toolCallId": "t1", "title": title, "kind": kind, "status": "in_progress",
    });
    world.carry_out(&json!([{"raw": call}, {"sleep_ms": 300, "exit": 0}])).0
}

#[test]
fn g05_a_title_does_not_make_an_own_tool_one_of_the_bridges() {
    let world = World::new(Store::Sqlite);
    for (title, kind) in
        [("demo__note", "execute"), ("cat demo__note", "other"), ("rm -r / demo__note", "other")]
    {
        let ended = lost_at(&world, title, kind);
        assert_eq!(
            (&ended["state"], &ended["uncertain"]),
            (&json!("unknown"), &json!("own_activity")),
            "{title}"
        );
    }
    for title in ["demo__note", "mcp__agent-mate__demo__note"] {
        let ended = lost_at(&world, title, "other");
        assert_eq!(ended["state"], "failed", "{title}: the bridge knows what became of it: {ended}");
    }
}

/// What stands between two words in the files below a folder.
fn between(folder: &Path, before: &str, after: &str, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            between(&path, before, after, found);
            continue;
        }
        let text = String::from_utf8_lossy(&fs::read(&path).unwrap_or_default()).into_owned();
        for part in text.split(before).skip(1) {
            found.extend(part.split_once(after).map(|(middle, _)| middle.to_owned()));
        }
    }
}

#[test]
fn g09_the_bridges_bearer_is_in_no_log_when_a_runtime_prints_it() {
    let mut world = World::new(Store::Sqlite);
    let (ended, code) = world.carry_out(&json!([
        {"stderr": "they gave me {bearer} for it"},
        {"stderr": "they gave me {bearer_hex} for it"},
        {"sleep_ms": 300, "text": "done"},
    ]));
    assert_eq!(code, 0, "{ended}");
    world.kill_serve();
    let mut found = Vec::new();
    between(&world.home(), "they gave me ", " for it", &mut found);
    assert!(found.len() >= 2, "what it printed is recorded: {found:?}");
    for middle in found {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let longest = middle.split(|c| !plain(c)).map(str::len).max().unwrap_or(0);
        assert!(!middle.is_empty() && longest < 16, "{middle}");
    }
}

#[test]
fn g09_a_session_goes_on_with_a_new_worker_when_the_grants_name_another_connection() {
    let world = World::new(Store::Sqlite);
    let (first, code) = world.carry_out(&json!([{"tool": "demo__note", "args": {"text": "a"}}]));
    assert_eq!(code, 0, "{first}");
    let session = first["session"].as_str().expect("a session").to_owned();
    let before = world.worker(&session).pid;
    world.upstream("other", &[]);
    world.grant("other", "*");
    let next = world.submit_in(&session, &json!([{"tool": "other__note", "args": {"text": "b"}}]));
    assert_eq!(world.wait(&id(&next)).1, 0);
    assert_eq!(world.operation_states(&id(&next)), ["note:succeeded"]);
    assert_ne!(world.worker(&session).pid, before, "the old one does not know the new connection's secrets");
}
