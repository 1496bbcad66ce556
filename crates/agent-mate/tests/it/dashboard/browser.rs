//! The dashboard in a real browser (`tests/kit/dashboard`): journeys of people, and a look for what bars people out.

use crate::harness::{Store, World, id, program};
use serde_json::json;
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

fn agents() -> PathBuf {
    PathBuf::from(std::env::var_os("ACP_AGENTS").expect("ACP_AGENTS: run this by ./test"))
}

#[test]
fn people_get_along_with_the_dashboard_alone() {
    let world = World::new(Store::Sqlite);
    // First: it looks for the one runtime that there is.
    let (_, operation, _) = crate::resolving::killed_in_a_call(&world);
    let (task, _) = world.carry_out(&json!([{"tool": "note", "args": {"text": "kept"}}, {"text": "done"}]));
    let file = world.session_folder(task["session"].as_str().expect("text")).join("workspace/file.txt");
    fs::write(file, "what was kept").expect("written");
    let wish = json!({ "path": "file.txt" }).to_string();
    let address = format!("/api/v1/tasks/{}/artifacts", id(&task));
    world.asked(&world.own_token(), "POST", &address, &wish, 201);
    let account = id(&world.ok(&["account", "add", "stranger"]));
    let stranger = world.ok(&["token", "add", "--account", &account]);
    let given = json!({
        "url": world.serve.as_ref().expect("a coordinator").url.trim_end_matches('/'),
        "program": program(),
        "home": world.home(),
        "effects": world.path("by-hand.log"),
        "shots": Path::new(env!("CARGO_TARGET_TMPDIR")).join("dashboard"),
        "project": world.project,
        "connection": id(&world.ok(&["connection", "show", "demo"])),
        "operation": operation,
        "kept": { "task": id(&task), "content": "what was kept" },
        "stranger": stranger["token"],
        "events": 20_000,
    });
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/kit/dashboard/journeys.cjs");
    let mut node = Command::new("node");
    node.arg(script)
        .arg(given.to_string())
        .env("MODULES", agents().join("browser"))
        .env_remove("NODE_OPTIONS");
    let done = node.stdin(Stdio::null()).output().expect("node starts");
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "{said}\n{}", String::from_utf8_lossy(&done.stderr));
    assert_eq!(said.lines().count(), 9, "{said}");
    eprintln!("{said}");
}
