//! Runtimes that take their tools over standard streams only.

use crate::harness::{Store, World, id, until};
use serde_json::json;
use std::{
    io::{Read as _, Write as _},
    process::Stdio,
};

#[test]
fn a_runtime_without_http_reaches_its_tools_through_the_relay() {
    let world = World::empty(Store::Sqlite);
    world.scripted("plain", &["--no-http"]);
    world.upstream("demo", &[]);
    world.grant("demo", "*");
    let (task, code) = world.carry_out(&json!([{"tool": "note", "args": {"text": "relayed"}}]));
    assert_eq!(code, 0, "{task}");
    assert_eq!(world.operation_states(&id(&task)), ["note:succeeded"]);
    let ready = world.events(&id(&task)).into_iter().find(|event| event["type"] == "runtime.ready");
    assert_eq!(ready.expect("ready")["data"]["tools_via"], "stdio");
    assert_eq!(world.count("end", "note"), 1);
}

#[test]
fn a_relay_outside_the_container_is_refused() {
    let world = World::new(Store::Sqlite);
    let task = world.submit(&json!([{"tool": "slow", "args": {"seconds": 60}}]));
    world.until_begun("slow", 1);
    let socket = world.session_folder(task["session"].as_str().expect("a session")).join("bridge.sock");
    let mut command = world.command(&["bridge", socket.to_str().expect("text")]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut relay = command.spawn().expect("starts");
    // Its input stays open: it must end because nobody serves it.
    let mut input = relay.stdin.take().expect("piped");
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}});
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "demo__note", "arguments": {"text": "x"}}});
    // It may be gone already.
    let _ = writeln!(input, "{hello}\n{call}");
    let status = until("the relay's end", || relay.try_wait().expect("it can be waited for"));
    let mut said = String::new();
    relay.stdout.take().expect("piped").read_to_string(&mut said).expect("read");
    assert!(!status.success() && said.is_empty(), "{status}: {said}");
    assert_eq!(world.count("begin", "note"), 0);
    assert_eq!(world.operations(&id(&task)).len(), 1);
    world.ok_code(&["task", "kill", &id(&task)], 6);
}
