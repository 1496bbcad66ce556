//! `connection set`: what is set on a connection is changed, and the next call is judged by it.

use crate::harness::{Store, World, id, on_both_stores, run, until};
use serde_json::json;

on_both_stores!(g07_a_changed_connection_counts_for_the_next_call);

fn g07_a_changed_connection_counts_for_the_next_call(store: Store) {
    let world = World::new(store);
    let task = id(&world.submit(&json!([
        {"tool": "slow", "args": {"seconds": 4}},
        {"tool": "note", "args": {"text": "seen"}},
        {"tool": "echo", "args": {"text": "seen too"}},
    ])));
    world.until_begun("slow", 1);
    let set = world.ok(&["connection", "set", "demo", "--allow-field", "*.text", "--effect", "idempotent"]);
    assert_eq!((&set["allow_fields"], &set["effect"]), (&json!(["*.text"]), &json!("idempotent")), "{set}");
    assert_eq!(world.wait(&task).1, 0);
    let operations = world.operations(&task);
    assert_eq!(operations[0]["effect"], "effect", "it went out before");
    for (operation, text) in operations[1..].iter().zip(["seen", "seen too"]) {
        assert_eq!(operation["effect"], "idempotent", "{operation}");
        assert_eq!(operation["arguments"]["fields"][0]["value"], text, "{operation}");
    }
    let set = world.ok(&["connection", "set", "demo", "--forget-field", "*.text", "--unset-effect"]);
    assert_eq!((&set["allow_fields"], &set["effect"]), (&json!([]), &json!(null)), "{set}");
    let task = id(&world.carry_out(&json!([{"tool": "note", "args": {"text": "unseen"}}])).0);
    let operation = &world.operations(&task)[0];
    assert!(!operation["arguments"].to_string().contains("unseen"), "{operation}");
}

#[test]
fn what_would_do_nothing_is_refused() {
    let world = World::empty(Store::Sqlite);
    world.upstream("demo", &[]);
    for words in [
        &["--allow-field", "no*.text"][..],
        &["--allow-field", "note"],
        &["--forget-field", "note.text"],
        &["--effect", "read", "--unset-effect"],
        &[],
    ] {
        let refused = world.cli(&[&["connection", "set", "demo"], words].concat());
        assert_eq!(refused.code, 2, "{words:?}: {refused:?}");
    }
    assert_eq!(world.cli(&["connection", "set", "absent", "--workspace-root"]).code, 3);
    let patterns = ["connection", "add", "other", "--allow-field", "*.*.text", "--", "/bin/true"];
    assert_eq!(world.cli(&patterns).code, 2);
}

/// Who is asked for leave learns how to see more of the next request.
#[test]
fn a_request_whose_arguments_are_not_kept_says_how_they_would_be() {
    let world = World::empty(Store::Sqlite);
    world.scripted("scripted", &[]);
    world.upstream("demo", &[]);
    let grant = ["grant", "add", "--project", "default", "--connection", "demo", "--tools", "*"];
    world.ok(&[grant.as_slice(), &["--approve", "always"]].concat());
    let asked = |text: &str| {
        let task = id(&world.submit(&json!([{"tool": "note", "args": {"text": text}}])));
        let approval = until("the request", || world.ok(&["approval", "list"])["items"].get(0).map(id));
        let shown = run(world.command(&["approval", "show", &approval]), None);
        assert_eq!(shown.code, 0, "{shown:?}");
        world.ok(&["approval", "deny", &approval]);
        world.wait(&task);
        shown.stdout
    };
    let blind = asked("first");
    assert!(blind.contains("connection set demo --allow-field 'note.text'"), "{blind}");
    world.ok(&["connection", "set", "demo", "--allow-field", "note.text"]);
    let seen = asked("second");
    assert!(seen.contains("second") && !seen.contains("connection set"), "{seen}");
}
