//! Each real runtime, confined, is stopped in the middle of a tool call: nothing of it lives on.

use super::Kit;
use crate::harness::{id, until};
use serde_json::json;

#[test]
fn real_opencode_is_stopped_in_a_call() {
    is_stopped_in_a_call("opencode", &["opencode"]);
}

/// Its adapter starts an inner process that outlives it, and would run the turn to its end.
#[test]
fn real_claude_is_stopped_in_a_call() {
    is_stopped_in_a_call("claude", &["node22", "claude"]);
}

/// It starts its tool servers in process groups of their own.
#[test]
fn real_codex_is_stopped_in_a_call() {
    is_stopped_in_a_call("codex", &["codex"]);
}

fn is_stopped_in_a_call(runtime: &str, packages: &[&str]) {
    let kit = Kit::of(runtime, packages);
    let steps = json!([
        {"tool": "note", "args": {"text": "before"}},
        {"tool": "slow", "args": {"seconds": 40, "key": "once"}},
        {"tool": "note", "args": {"text": "never"}},
        {"text": "done"},
    ]);
    let task = id(&kit.world.submit(&steps));
    kit.until_begun("slow");
    let started = kit.world.events(&task).into_iter().find(|event| event["type"] == "runtime.started");
    assert_eq!(started.expect("started")["data"]["confined"]["means"], "mount_namespace");
    let stopped = kit.world.cli(&["task", "stop", &task, "--timeout", "55s"]);
    let (ended, code) = kit.world.wait(&task);
    // The call was at the upstream, which never answered: nobody knows.
    assert_eq!((ended["state"].as_str(), code), (Some("unknown"), 6), "{ended} {stopped:?}");
    assert_eq!((&ended["uncertain"], &ended["then"]), (&json!("operations"), &json!("stopped")));
    assert_eq!(kit.world.operation_states(&task), ["note:succeeded", "slow:unknown"]);
    assert!(kit.world.event_types(&task).contains(&"container.empty".to_owned()));
    until("the end of the runtime and its upstream", || {
        let left = [runtime, "mcp_probe.py"].map(|word| kit.world.processes(word).len());
        (left == [0, 0]).then_some(())
    });
    assert_eq!((kit.probe("call_begin", "slow"), kit.probe("call_end", "slow")), (1, 0));
    assert_eq!(kit.probe("call_begin", "note"), 1);
}
