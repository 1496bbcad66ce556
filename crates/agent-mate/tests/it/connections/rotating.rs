//! `connection rotate`: new secrets reach sessions that live, at the next process or request; no call is cut off for it.

use crate::harness::{Store, World, id, on_both_stores, program, run, until};
use serde_json::json;
use std::fs;

on_both_stores!(g09_a_rotated_secret_reaches_a_session_that_lives);

fn canary(which: &str) -> String {
    format!("canary-{which}-{}-{}", "c3a1f7", std::process::id())
}

/// The environment of the one upstream that lives.
fn environment(world: &World) -> (i32, String) {
    let upstream = world.the_process("effect-server");
    let bytes = fs::read(format!("/proc/{}/environ", upstream.pid)).unwrap_or_default();
    (upstream.pid, String::from_utf8_lossy(&bytes).into_owned())
}

fn g09_a_rotated_secret_reaches_a_session_that_lives(store: Store) {
    let world = World::empty(store);
    world.scripted("scripted", &[]);
    let (old, new) = (canary("old"), canary("new"));
    let log = world.path("effects.log");
    let line = format!("echo \"key $API_KEY\" >&2; exec {} effect-server --log {}", program(), log.display());
    let mut add = world.command(&["--json", "connection", "add", "demo", "--secret-env", "API_KEY"]);
    add.args(["--", "/bin/sh", "-c", &line]).env("API_KEY", &old);
    assert_eq!(run(add, None).code, 0);
    world.grant("demo", "*");
    let task = world.submit(&json!([
        {"tool": "slow", "args": {"seconds": 4}},
        {"tool": "note", "args": {"text": "after"}},
    ]));
    world.until_begun("slow", 1);
    let (before, environ) = environment(&world);
    assert!(environ.contains(&old));
    let mut rotate = world.command(&["--json", "connection", "rotate", "demo", "--secret-env", "API_KEY"]);
    rotate.env("API_KEY", &new);
    let rotated = run(rotate, None);
    assert_eq!(rotated.code, 0, "{rotated:?}");
    assert!(!rotated.stdout.contains(&new) && !rotated.stderr.contains(&new));
    assert_eq!(world.count("end", "slow"), 0, "the call goes on");
    let (ended, code) = world.wait(&id(&task));
    assert_eq!(code, 0, "{ended}");
    assert_eq!(world.operation_states(&id(&task)), ["slow:succeeded", "note:succeeded"]);
    let (after, environ) = environment(&world);
    assert!(
        before != after && environ.contains(&new) && !environ.contains(&old),
        "the next call met the new one"
    );
    let told = world.events(&id(&task)).iter().map(ToString::to_string).collect::<String>();
    assert!(!told.contains(&old) && !told.contains(&new), "{told}");
    until("the program's words", || told.contains("key [redacted]").then_some(()));
}

#[test]
fn rotation_replaces_what_is_named_and_leaves_the_rest() {
    let world = World::empty(Store::Sqlite);
    let mut add =
        world.command(&["--json", "connection", "add", "two", "--secret-env", "A", "--secret-env", "B"]);
    add.args(["--", "/bin/sh", "-c", "echo \"$A $B $C\" | tr a-z A-Z >&2; exit 1"])
        .env("A", "first-a")
        .env("B", "first-b");
    assert_eq!(run(add, None).code, 0);
    let mut rotate =
        world.command(&["--json", "connection", "rotate", "two", "--secret-env", "B", "--secret-env", "C"]);
    rotate.env("B", "second-b").env("C", "first-c");
    // A slip of the pen adds nothing, and replaces nothing either.
    let slip = run(rotate, None);
    assert_eq!((slip.code, slip.error_code().as_str()), (2, "invalid"), "{slip:?}");
    assert!(slip.stdout.contains("has C, and") && slip.stdout.contains("it has: A, B"), "{slip:?}");
    assert_eq!(world.ok(&["connection", "show", "two"])["secret_env"], json!(["A", "B"]));
    let rotate = |words: &[&str], json: bool| {
        let mut command = world.command(if json { &["--json"] } else { &[] });
        command.args(["connection", "rotate", "two"]).args(words);
        command.env("B", "second-b").env("C", "first-c").env("D", "first-d");
        run(command, None)
    };
    let done = rotate(&["--secret-env", "B", "--secret-env", "C", "--secret-env", "D", "--add"], true).json();
    assert_eq!((&done["replaced"], &done["added"]), (&json!(["B"]), &json!(["C", "D"])), "{done}");
    let gone = rotate(&["--remove", "D"], false);
    assert!(gone.code == 0 && gone.stdout.contains("removed: D"), "{gone:?}");
    assert_eq!(rotate(&["--remove", "D"], true).code, 2, "it is gone already");
    assert_eq!(world.ok(&["connection", "show", "two"])["secret_env"], json!(["A", "B", "C"]));
    let found = world.ok_code(&["connection", "check", "two"], 4);
    // One that ends when it is asked what it speaks is started a second time.
    let said = found["said"].as_array().expect("its words");
    assert!(!said.is_empty() && said.iter().all(|line| line == "FIRST-A SECOND-B FIRST-C"), "{said:?}");
    let nothing = world.cli(&["connection", "rotate", "two"]);
    assert_eq!((nothing.code, nothing.error_code().as_str()), (2, "invalid"));
    let mut header = world.command(&["--json", "connection", "rotate", "two", "--header", "X"]);
    header.env("X", "y");
    assert_eq!(run(header, None).code, 2, "a program has no headers");
    assert_eq!(world.cli(&["connection", "rotate", "absent"]).code, 2);
}

/// No program and no MCP session is shared: not between sessions, not between projects.
#[test]
fn g08_each_session_has_an_upstream_of_its_own() {
    let world = World::new(Store::Sqlite);
    world.ok(&["project", "add", "other"]);
    world.ok(&["grant", "add", "--project", "other", "--connection", "demo", "--tools", "*"]);
    let slow = crate::harness::stub(&json!([{"tool": "slow", "args": {"seconds": 5}}]));
    let tasks: Vec<_> = ["default", "default", "other"]
        .iter()
        .map(|project| world.ok(&["task", "add", "--project", project, "--approve", &slow]))
        .collect();
    world.until_begun("slow", 3);
    let upstreams = world.processes("effect-server");
    let pids: std::collections::BTreeSet<_> = upstreams.iter().map(|upstream| upstream.pid).collect();
    assert_eq!(pids.len(), 3, "one program for each session");
    let sessions: std::collections::BTreeSet<_> =
        tasks.iter().map(|task| task["session"].to_string()).collect();
    assert_eq!(sessions.len(), 3);
    for task in &tasks {
        assert_eq!(world.wait(&id(task)).1, 0);
    }
}
