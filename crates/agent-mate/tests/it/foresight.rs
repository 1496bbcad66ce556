//! What is said before anything happens: what a call would meet, and what a pattern, a field or a command is likely to be.

use crate::harness::{Request, Store, World, id, on_both_stores};
use serde_json::json;

on_both_stores!(g07_a_call_is_judged_before_anybody_makes_it);

fn g07_a_call_is_judged_before_anybody_makes_it(store: Store) {
    let world = World::new(store);
    let words = |tool: &'static str| {
        ["policy", "try", "--project", "default", "--connection", "demo", "--tool", tool]
    };
    let tried = world.ok(&words("note"));
    assert_eq!((&tried["now"]["permitted"], &tried["approve"]), (&json!(true), &json!("never")), "{tried}");
    assert!(tried["grant"].is_string() && tried["effect"].is_string());
    world.ok(&["account", "add", "reader"]);
    let as_reader = [words("note").as_slice(), &["--as", "reader"]].concat();
    assert_eq!(world.cli(&as_reader).code, 2, "who is no member is nobody here");
    world.ok(&["project", "member", "add", "default", "reader", "--role", "viewer"]);
    let tried = world.ok_code(&as_reader, 4);
    assert!(tried["now"]["why"].as_str().is_some_and(|why| why.contains("no operator")), "{tried}");
    // A viewer may ask as well, of what is granted here.
    let reader = world.ok(&["token", "add", "--account", "reader", "--project", "default"]);
    let ask = |connection: &str| {
        let body = json!({ "connection": connection, "tool": "note" }).to_string();
        let token = reader["token"].as_str().expect("a secret");
        let target = "/api/v1/projects/default/policies/try";
        world.send(&Request { token, method: "POST", target, headers: &[], body: Some(&body) }).status
    };
    assert_eq!((ask("demo"), ask("nowhere")), (200, 422));
    let policy = world.path("no-notes.cedar");
    std::fs::write(&policy, "forbid (principal, action, resource) when { resource.name == \"note\" };")
        .expect("written");
    let policy = format!("@{}", policy.display());
    if world.cli(&["policy", "add", "no-notes", &policy]).code == 0 {
        let tried = world.ok_code(&words("note"), 4);
        assert_eq!(tried["now"]["decision"]["policies"], json!(["policy:no-notes"]), "{tried}");
    }
    let grant = id(&crate::harness::items(&world.ok(&["grant", "list"]))[0]);
    world.ok(&["grant", "revoke", &grant]);
    let tried = world.ok_code(&words("slow"), 4);
    assert_eq!((&tried["grant"], &tried["now"]["permitted"]), (&json!(null), &json!(false)), "{tried}");
    let task = crate::harness::items(&world.ok(&["operation", "list"]));
    assert!(task.is_empty(), "nothing was called");
}

#[test]
fn what_matches_nothing_is_told_with_what_was_meant() {
    let world = World::new(Store::Sqlite);
    let said = |words: &[&str]| {
        let output = world.command(words).output().expect("it runs");
        String::from_utf8(output.stdout).expect("text")
    };
    let words = ["grant", "add", "--project", "default", "--connection", "demo", "--tools", "nota,slow"];
    let shown = said(&words);
    assert!(shown.contains("mind: nota matches no tool that demo offers now; did you mean note"), "{shown}");
    assert!(!shown.contains("slow matches"), "{shown}");
    let shown =
        said(&["connection", "set", "demo", "--allow-field", "note.txt", "--allow-field", "slow.key"]);
    assert!(shown.contains("mind: note has no argument txt that it tells of; did you mean text?"), "{shown}");
    assert!(!shown.contains("slow has"), "{shown}");
}

#[test]
fn all_connections_are_looked_at_and_names_that_clash_are_told() {
    let world = World::new(Store::Sqlite);
    let demo = world.ok(&["connection", "show", "demo"]);
    let command: Vec<String> = serde_json::from_value(demo["command"].clone()).expect("a command");
    let command: Vec<&str> = command.iter().map(String::as_str).collect();
    for name in ["left", "right"] {
        world.ok(&[&["connection", "add", name, "--bare", "--"], command.as_slice()].concat());
    }
    let all = world.ok(&["connection", "check", "--all"]);
    assert_eq!(all["items"].as_array().map(Vec::len), Some(3), "{all}");
    let clash = &all["clashes"].as_array().expect("clashes")[0];
    assert_eq!(clash["connections"], json!(["left", "right"]), "{all}");
    world.ok(&["connection", "add", "gone", "--", "/nowhere/at-all"]);
    assert_eq!(world.cli(&["connection", "check", "--all"]).code, 4, "one is ill");
    for words in [&["x", "--token", "abcd1234efgh"][..], &["x", "ghp_0123456789abcdefghij0123456789abcdef"]] {
        let add = [&["connection", "add", "leaky", "--"], words].concat();
        let refused = world.cli(&add);
        assert_eq!(refused.code, 2);
        assert!(refused.stderr.contains("--secret-env") || refused.stdout.contains("--secret-env"));
        let forced = [&["connection", "add", "leaky", "--force", "--"], words].concat();
        assert_eq!(world.cli(&forced).code, 0);
        world.ok(&["connection", "remove", "leaky"]);
    }
}
