//! Operations over all tasks: what nobody has settled yet is found without knowing its task.

use crate::harness::{Store, World, id, items, on_both_stores, stub};
use serde_json::{Value, json};

on_both_stores!(g08_operations_of_all_tasks_are_listed_page_by_page_and_only_to_members);

fn ids(list: &[Value]) -> Vec<String> {
    list.iter().map(id).collect()
}

fn g08_operations_of_all_tasks_are_listed_page_by_page_and_only_to_members(store: Store) {
    let world = World::new(store);
    let note = |text: &str| json!({"tool": "note", "args": {"text": text}});
    let (first, code) = world.carry_out(&json!([note("a"), note("b"), note("c")]));
    assert_eq!(code, 0, "{first}");
    let lost = world.submit(&json!([note("d"), {"tool": "slow", "args": {"seconds": 40}}]));
    world.until_begun("slow", 1);
    world.worker(lost["session"].as_str().expect("a session")).kill();
    assert_eq!(world.wait(&id(&lost)).1, 6);
    let whole: Vec<String> =
        [&lost, &first].iter().flat_map(|task| ids(&world.operations(&id(task)))).collect();
    assert_eq!(whole.len(), 5, "{whole:?}");
    assert_eq!(ids(&items(&world.ok(&["operation", "list"]))), whole, "newest task first, each in order");
    let unknown = items(&world.ok(&["operation", "list", "--state", "unknown"]));
    assert_eq!(unknown.len(), 1);
    assert_eq!((&unknown[0]["tool"], &unknown[0]["task"]), (&json!("slow"), &lost["id"]));
    for limit in ["1", "2", "3"] {
        let (mut seen, mut cursor) = (Vec::new(), None::<String>);
        loop {
            let mut words = vec!["operation", "list", "--project", "default", "--limit", limit];
            if let Some(cursor) = &cursor {
                words.extend(["--cursor", cursor]);
            }
            let page = world.ok(&words);
            seen.extend(ids(&items(&page)));
            match page["next"].as_str() {
                Some(next) => cursor = Some(next.to_owned()),
                None => break,
            }
            assert!(seen.len() < 10, "pages without end: {seen:?}");
        }
        assert_eq!(seen, whole, "in pages of {limit}");
    }
    world.ok(&["project", "add", "other"]);
    assert_eq!(items(&world.ok(&["operation", "list", "--project", "other"])), Vec::<Value>::new());
    assert_eq!(world.cli(&["operation", "list", "--project", "nowhere"]).code, 3);
    assert_eq!(world.cli(&["operation", "list", "--state", "odd"]).code, 2);
    assert_eq!(world.cli(&["operation", "list", "--cursor", "abc"]).code, 2);
    // Somebody who is no member of the project sees none of it.
    let stranger = world.ok(&["account", "add", "stranger"]);
    let token = world.ok(&["token", "add", "--account", &id(&stranger)]);
    let mut command = world.command(&["operation", "list", "--json"]);
    command.env("AGENT_MATE_TOKEN", token["token"].as_str().expect("a token"));
    let output = command.output().expect("it runs");
    assert_eq!(serde_json::from_slice::<Value>(&output.stdout).expect("a list")["items"], json!([]));
}

/// A member's own way through the lists of two projects.
#[test]
fn leaving_a_project_between_two_pages_hides_nothing_of_the_others() {
    let world = World::new(Store::Sqlite);
    world.ok(&["project", "add", "other"]);
    world.ok(&["grant", "add", "--project", "other", "--connection", "demo", "--tools", "*"]);
    let text =
        stub(&json!([{"tool": "note", "args": {"text": "x"}}, {"tool": "note", "args": {"text": "y"}}]));
    let mut whole = Vec::new();
    for project in ["default", "other"] {
        let task = world.ok(&["task", "add", "--project", project, "--approve", &text]);
        assert_eq!(world.wait(&id(&task)).1, 0);
        whole.extend(ids(&world.operations(&id(&task))));
    }
    let reader = world.ok(&["account", "add", "reader"]);
    for project in ["default", "other"] {
        world.ok(&["project", "member", "add", project, "reader", "--role", "viewer"]);
    }
    let token = world.ok(&["token", "add", "--account", &id(&reader)]);
    let token = token["token"].as_str().expect("a token").to_owned();
    let list = |more: &[&str]| {
        let mut command = world.command(&[&["operation", "list", "--json"], more].concat());
        let output = command.env("AGENT_MATE_TOKEN", &token).output().expect("it runs");
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice::<Value>(&output.stdout).expect("a list")
    };
    assert_eq!(ids(&items(&list(&[]))), whole);
    let first = list(&["--limit", "1"]);
    world.ok(&["project", "member", "remove", "default", "reader"]);
    let rest = list(&["--cursor", first["next"].as_str().expect("more")]);
    assert_eq!(ids(&items(&rest)), whole[2..], "the other project's from its beginning");
}
