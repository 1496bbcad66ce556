//! Who sees and answers approvals, and what is no answer.

use super::{asking, note};
use crate::harness::{Output, Store, World, id, run};
use serde_json::json;

/// Runs a command with another token.
fn with(world: &World, token: &str, words: &[&str]) -> Output {
    let mut command = world.command(&[&["--json"], words].concat());
    command.env("AGENT_MATE_TOKEN", token);
    run(command, None)
}

fn member(world: &World, name: &str, project: &str, role: &str) -> String {
    world.ok(&["account", "add", name]);
    world.ok(&["project", "member", "add", project, name, "--role", role]);
    world.ok(&["token", "add", "--account", name])["token"].as_str().expect("a secret").to_owned()
}

#[test]
fn g08_approvals_of_others_do_not_exist() {
    let world = asking(Store::Sqlite, "always", "");
    world.ok(&["project", "add", "other"]);
    let viewer = member(&world, "vera", "default", "viewer");
    let stranger = member(&world, "sam", "other", "owner");
    let operator = member(&world, "olga", "default", "operator");
    let task = id(&world.submit(&json!([note("a"), {"text": "done"}])));
    let asked = id(&world.until_asked(1)[0]);
    for words in [
        &["approval", "show", &asked][..],
        &["approval", "allow", &asked],
        &["approval", "deny", &asked],
        &["approval", "revoke", &asked],
        &["approval", "list", "--project", "default"],
    ] {
        let hidden = with(&world, &stranger, words);
        assert_eq!((hidden.code, hidden.error_code().as_str()), (3, "not_found"), "{words:?}");
    }
    assert_eq!(with(&world, &stranger, &["approval", "list"]).json()["items"], json!([]));
    assert_eq!(with(&world, &viewer, &["approval", "list"]).json()["items"][0]["id"], json!(asked));
    let refused = with(&world, &viewer, &["approval", "allow", &asked]);
    assert_eq!((refused.code, refused.error_code().as_str()), (3, "not_allowed"), "{refused:?}");
    // Two answer at the same time with the same word: both have the one receipt.
    let first = with(&world, &operator, &["approval", "allow", &asked]);
    assert_eq!(first.code, 0, "{first:?}");
    assert_eq!(world.ok(&["approval", "allow", &asked])["receipt"], first.json()["receipt"]);
    let other = world.cli(&["approval", "deny", &asked]);
    assert_eq!((other.code, other.error_code().as_str()), (4, "approval_answered"), "{other:?}");
    assert_eq!(world.wait(&task).1, 0);
    assert_eq!(world.count("begin", "note"), 1);
}

#[test]
fn what_is_no_answer_is_refused_and_changes_nothing() {
    let world = asking(Store::Sqlite, "always", "");
    world.submit(&json!([note("a"), {"text": "done"}]));
    let asked = id(&world.until_asked(1)[0]);
    for odd in ["op_1", "own_1_2_3", "tsk_0193", "own_00000000000000000000000000000007_3_1"] {
        assert_eq!(world.cli(&["approval", "show", odd]).code, 3, "{odd}");
    }
    let long = "x".repeat(5000);
    let refused = world.cli(&["approval", "deny", &asked, "--reason", &long]);
    assert_eq!((refused.code, refused.error_code().as_str()), (2, "invalid"), "{refused:?}");
    let nothing = world.cli(&["approval", "revoke", &asked]);
    assert_eq!((nothing.code, nothing.error_code().as_str()), (4, "nothing_to_revoke"));
    assert_eq!(world.until_asked(1)[0]["id"], json!(asked));
}

#[test]
fn who_submits_a_task_does_not_approve_it_where_the_project_wants_another() {
    let world = asking(Store::Sqlite, "always", "");
    let operator = member(&world, "olga", "default", "operator");
    assert_eq!(world.ok(&["project", "set", "default", "--distinct-approver"])["distinct_approver"], true);
    let refused = |words: &[&str]| {
        let output = world.cli(words);
        assert_eq!(
            (output.code, output.error_code().as_str()),
            (4, "distinct_approver"),
            "{words:?}: {output:?}"
        );
    };
    let steps = crate::harness::stub(&json!([note("a"), {"text": "gone", "exit": 3}]));
    refused(&["task", "add", "--project", "default", "--approve", &steps]);
    let task = id(&world.ok(&["task", "add", "--project", "default", &steps]));
    refused(&["task", "approve", &task]);
    assert_eq!(with(&world, &operator, &["task", "approve", &task]).code, 0);
    let asked = id(&world.until_asked(1)[0]);
    refused(&["approval", "allow", &asked]);
    assert_eq!(with(&world, &operator, &["approval", "allow", &asked]).code, 0);
    assert_eq!(world.wait(&task).1, 5, "its runtime left");
    assert_eq!(world.count("begin", "note"), 1);
    // Whoever continues a task proposes it.
    let resumed = world.ok(&["task", "resume", &task, "--fresh"]);
    assert_eq!(resumed["state"], "proposed", "{resumed}");
    refused(&["task", "approve", &id(&resumed)]);
    // A refusal is anybody's.
    let by_default = world.ok(&["project", "add", "other", "--distinct-approver"]);
    assert_eq!(by_default["distinct_approver"], true);
    world.ok(&["project", "set", "default", "--distinct-approver", "false"]);
    assert_eq!(world.ok(&["task", "approve", &id(&resumed)])["state"], "accepted");
}
