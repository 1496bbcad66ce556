//! Bad input to any command is refused with a clear word, and changes nothing.

use crate::harness::{Store, World, id, program, run};
use serde_json::{Value, json};
use std::process::Command;

/// Everything that can be listed.
fn everything(world: &World) -> Vec<Value> {
    ["runtime", "project", "connection", "grant", "task", "session", "account", "token"]
        .iter()
        .map(|noun| world.ok(&[noun, "list"]))
        .collect()
}

fn assert_refused(world: &World, words: &[&str], code: i32) {
    let output = world.cli(words);
    assert_eq!(output.code, code, "{words:?}: {output:?}");
    let said = format!("{}{}", output.stdout, output.stderr);
    assert!(said.trim().len() > 10, "{words:?} says nothing");
    assert!(!said.contains("panicked") && !said.contains("RUST_BACKTRACE"), "{words:?}: {said}");
}

const NOWHERE: &str = "tsk_01a228057b7e74f1bf82d6c31d8579fc";

#[test]
fn bad_input_to_each_command_is_refused_and_changes_nothing() {
    let world = World::new(Store::Sqlite);
    let (ended, _) = world.carry_out(&json!([{"text": "done"}]));
    let task = id(&ended);
    let before = everything(&world);
    let long = "n".repeat(300);
    let usage: &[&[&str]] = &[
        &[],
        &["no-such-noun"],
        &["task"],
        &["task", "add", "--project", "default", ""],
        &["task", "add", "--project", "default", "   "],
        &["task", "add", "--project", "default", "@/nonexistent/file"],
        &["task", "add", "--project", "default", "--runtime", "nobody", "x"],
        &["task", "add", "--project", "default", "--session", "no-session", "x"],
        &["task", "add", "--project", "default", "--session", "ses_01a228057b7e74f1bf82d6c4e0c36a30", "x"],
        &["task", "add", "--project", "default", "--queue", "--no-queue", "x"],
        &["task", "events", &task, "--after", "yesterday"],
        &["task", "events", &task, "--limit", "0"],
        &["task", "events", &task, "--limit", "1000000"],
        &["task", "list", "--project", "default", "--state", "lost"],
        &["task", "list", "--project", "default", "--cursor", "!"],
        &["task", "wait", &task, "--timeout", "soon"],
        &["runtime", "add", "other"],
        &["runtime", "add", "other", "--preset", "no-such-preset"],
        &["runtime", "add", "", "--", "/bin/true"],
        &["runtime", "add", "two words", "--", "/bin/true"],
        &["runtime", "add", "../up", "--", "/bin/true"],
        &["runtime", "add", &long, "--", "/bin/true"],
        &["runtime", "add", "other", "--", ""],
        &["project", "add", ""],
        &["project", "add", "a/b"],
        &["project", "add", "other", "--workspace", "/nonexistent/place"],
        &["project", "member", "add", "default", "owner", "--role", "king"],
        &["connection", "add", "other"],
        &["connection", "add", "other", "--url", "ftp://x"],
        &["connection", "add", "other", "--url", "not an address"],
        &["connection", "add", "other", "--url", "http://u:p@127.0.0.1/mcp"],
        &["connection", "add", "agent_mate", "--", "/bin/true"],
        &["connection", "add", "other", "--secret-env", "NOT_SET_ANYWHERE", "--", "/bin/true"],
        &["connection", "add", "other", "--secret-env", "A=value-in-the-open", "--", "/bin/true"],
        &["connection", "add", "other", "--secret-env", "A=-", "--secret-env", "B=-", "--", "/bin/true"],
        &["connection", "add", "other", "--effect", "harmless", "--", "/bin/true"],
        &["grant", "add", "--project", "default", "--connection", "demo"],
        &["grant", "add", "--project", "default", "--connection", "demo", "--tools", ""],
        &["grant", "add", "--project", "default", "--connection", "demo", "--tools", "x", "--max-calls", "0"],
        &[
            "grant",
            "add",
            "--project",
            "default",
            "--connection",
            "demo",
            "--tools",
            "x",
            "--expires",
            "whenever",
        ],
        &[
            "grant",
            "add",
            "--project",
            "default",
            "--connection",
            "demo",
            "--tools",
            "x",
            "--expires",
            "2001-01-01T00:00:00Z",
        ],
        &[
            "grant",
            "add",
            "--project",
            "default",
            "--connection",
            "demo",
            "--tools",
            "x",
            "--approve",
            "maybe",
        ],
        &["account", "add", ""],
        &["token", "add", "--role", "king"],
        &["token", "add", "--expires", "-1d"],
        &["completions", "no-such-shell"],
        &["serve", "--listen", "everywhere"],
    ];
    for words in usage {
        assert_refused(&world, words, 2);
    }
    let absent: &[&[&str]] = &[
        &["task", "show", NOWHERE],
        &["task", "wait", NOWHERE],
        &["task", "events", NOWHERE],
        &["task", "report", NOWHERE],
        &["task", "approve", NOWHERE],
        &["task", "stop", NOWHERE],
        &["task", "kill", NOWHERE],
        &["task", "show", "not-an-id"],
        &["task", "show", "../../accounts"],
        &["task", "add", "--project", "nowhere", "x"],
        &["task", "list", "--project", "nowhere"],
        &["runtime", "show", "nobody"],
        &["runtime", "remove", "nobody"],
        &["project", "show", "nowhere"],
        &["project", "archive", "nowhere"],
        &["project", "member", "list", "nowhere"],
        &["connection", "show", "nobody"],
        &["connection", "remove", "nobody"],
        &["grant", "revoke", "grt_a6b76912fb76880986739e2b2e26548e"],
        &["session", "show", "ses_01a228057b7e74f1bf82d6c4e0c36a30"],
        &["operation", "show", "op_01a228057b7e74f1bf82d6c4e0c36a30_1"],
        &["operation", "list", "--task", NOWHERE],
        &["token", "revoke", "tok_a6b76912fb76880986739e2b2e26548e"],
    ];
    for words in absent {
        assert_refused(&world, words, 3);
    }
    let refused: &[&[&str]] = &[
        &["init"],
        &["task", "stop", &task],
        &["task", "reject", &task],
        &["runtime", "add", "scripted", "--", "/bin/true"],
        &["project", "add", "default"],
        &["connection", "add", "demo", "--", "/bin/true"],
        &["account", "add", "owner"],
    ];
    for words in refused {
        assert_refused(&world, words, 4);
    }
    assert_eq!(everything(&world), before, "something changed");
}

#[test]
fn a_command_without_authority_is_refused_and_says_so() {
    let world = World::new(Store::Sqlite);
    let before = everything(&world);
    for token in ["am_nonsense", "am_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "\u{e9}"] {
        let mut command = world.command(&["--json", "task", "add", "--project", "default", "--approve", "x"]);
        command.env("AGENT_MATE_TOKEN", token);
        let output = run(command, None);
        assert!([2, 3].contains(&output.code), "{token}: {output:?}");
    }
    let viewer = world.ok(&["token", "add", "--project", "default", "--role", "viewer"]);
    let as_viewer = |words: &[&str]| {
        let mut command = world.command(words);
        command.env("AGENT_MATE_TOKEN", viewer["token"].as_str().expect("a secret"));
        run(command, None).code
    };
    assert_eq!(as_viewer(&["task", "list", "--project", "default"]), 0);
    for words in [
        &["task", "add", "--project", "default", "--approve", "x"][..],
        &["grant", "add", "--project", "default", "--connection", "demo", "--tools", "*"],
        &["runtime", "add", "mine", "--", "/bin/true"],
        &["connection", "add", "mine", "--", "/bin/true"],
        &["account", "add", "friend"],
        &["token", "add", "--role", "owner"],
        &["project", "archive", "default"],
    ] {
        assert_eq!(as_viewer(words), 3, "{words:?}");
    }
    let after = everything(&world);
    for (noun, (before, after)) in
        ["runtime", "project", "connection", "grant"].iter().zip(before.iter().zip(&after))
    {
        assert_eq!(before, after, "{noun}");
    }
}

#[test]
fn a_home_that_is_not_set_up_or_set_up_wrongly_is_refused() {
    let mut world = World::new(Store::Sqlite);
    world.kill_serve();
    for noun in ["task", "project"] {
        assert_eq!(world.cli(&[noun, "list"]).code, 9, "no coordinator");
    }
    let elsewhere = world.path("elsewhere");
    for words in [&["serve", "--json"][..], &["task", "list"]] {
        let mut command = Command::new(program());
        command.env_clear().env("HOME", world.user()).arg("--home").arg(&elsewhere).args(words);
        let output = run(command, None);
        assert!(output.code != 0, "{output:?}");
        assert!(output.stderr.contains("init") || output.stdout.contains("init"), "{output:?}");
    }
    assert!(!elsewhere.exists(), "nothing was made");
    std::fs::write(world.home().join("config.toml"), "[session]\nidel_seconds = 1\n").expect("written");
    let output = world.cli(&["serve"]);
    assert!(output.code != 0 && format!("{output:?}").contains("line 2"), "{output:?}");
    std::fs::write(world.home().join("config.toml"), "[serve]\nlisten = \"0.0.0.0:0\"\n").expect("written");
    let output = world.cli(&["serve"]);
    assert!(output.code != 0, "an open address without TLS is refused: {output:?}");
}
