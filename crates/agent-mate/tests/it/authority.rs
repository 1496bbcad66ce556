//! Each call is judged as things stand when it is made.

use crate::harness::{Store, World, id, on_both_stores, run, stub};
use serde_json::{Value, json};

on_both_stores!(g07_a_grant_that_is_revoked_in_a_turn_ends_with_the_next_call);

/// One call, long enough for authority to be lost meanwhile, and one after that. The runtime knows the tool's name
/// from before, whatever is listed by then.
fn steps() -> Value {
    json!([
        {"tool": "demo__slow", "args": {"seconds": 3}},
        {"tool": "demo__note", "args": {"text": "not any more"}, "unlisted": true},
        {"text": "done"},
    ])
}

/// The second call was refused for this reason, is on record, and never reached the upstream.
fn assert_refused(world: &World, task: &str, reason: &str) {
    world.wait(task);
    let operations = world.operations(task);
    assert_eq!(operations[0]["state"], "succeeded", "what was admitted before is not undone");
    assert_eq!((&operations[1]["state"], &operations[1]["deny_reason"]), (&json!("denied"), &json!(reason)));
    assert!(operations[1]["sent_at"].is_null() && operations.len() == 2);
    assert_eq!((world.count("begin", "slow"), world.count("begin", "note")), (1, 0));
}

fn g07_a_grant_that_is_revoked_in_a_turn_ends_with_the_next_call(store: Store) {
    let world = World::empty(store);
    world.scripted("scripted", &[]);
    world.upstream("demo", &[]);
    let grant = world.grant("demo", "*");
    let task = id(&world.submit(&steps()));
    world.until_begun("slow", 1);
    world.ok(&["grant", "revoke", &grant]);
    assert_refused(&world, &task, "not_granted");
}

#[test]
fn g07_the_token_behind_a_task_is_revoked() {
    let world = World::new(Store::Sqlite);
    let token = world.ok(&["token", "add", "--project", "default"]);
    let mut add =
        world.command(&["--json", "task", "add", "--project", "default", "--approve", &stub(&steps())]);
    add.env("AGENT_MATE_TOKEN", token["token"].as_str().expect("a secret"));
    let task = id(&run(add, None).json());
    world.until_begun("slow", 1);
    world.ok(&["token", "revoke", &id(&token)]);
    assert_refused(&world, &task, "not_authorised");
}

#[test]
fn g07_the_project_is_archived() {
    let world = World::new(Store::Sqlite);
    let task = id(&world.submit(&steps()));
    world.until_begun("slow", 1);
    world.ok(&["project", "archive", "default"]);
    assert_refused(&world, &task, "not_authorised");
    let refused = world.cli(&["task", "add", "--project", "default", "--approve", "x"]);
    assert_eq!((refused.code, refused.error_code().as_str()), (4, "project_archived"));
}

#[test]
fn g07_the_member_loses_the_role() {
    let world = World::new(Store::Sqlite);
    world.ok(&["account", "add", "ann"]);
    world.ok(&["project", "member", "add", "default", "ann", "--role", "operator"]);
    let token = world.ok(&["token", "add", "--account", "ann"]);
    let mut add =
        world.command(&["--json", "task", "add", "--project", "default", "--approve", &stub(&steps())]);
    add.env("AGENT_MATE_TOKEN", token["token"].as_str().expect("a secret"));
    let task = id(&run(add, None).json());
    world.until_begun("slow", 1);
    world.ok(&["project", "member", "remove", "default", "ann"]);
    assert_refused(&world, &task, "not_authorised");
}

#[test]
fn g07_what_was_never_granted_is_neither_listed_nor_sent() {
    let world = World::empty(Store::Sqlite);
    world.scripted("scripted", &[]);
    world.upstream("demo", &[]);
    world.grant("demo", "echo,no*");
    let (task, _) = world.carry_out(&json!([
        {"tool": "slow", "args": {"seconds": 0}},
        {"tool": "demo__slow", "args": {"seconds": 0}, "unlisted": true},
        {"tool": "nothing__of_the_kind", "args": {}, "unlisted": true},
        {"tool": "note", "args": {"text": "granted"}},
    ]));
    let task = id(&task);
    assert_eq!(world.count("begin", "slow"), 0);
    let states: Vec<(Value, Value)> = world
        .operations(&task)
        .iter()
        .map(|operation| (operation["state"].clone(), operation["deny_reason"].clone()))
        .collect();
    assert_eq!(states.len(), 3, "{states:?}");
    assert_eq!((states[0].0.as_str(), states[1].0.as_str()), (Some("denied"), Some("denied")), "{states:?}");
    assert_eq!(states[1].1, "unknown_tool");
    assert_eq!(states[2], (json!("succeeded"), Value::Null));
}

#[test]
fn arguments_that_do_not_fit_the_schema_are_refused_before_the_intent() {
    let world = World::new(Store::Sqlite);
    let (task, _) = world.carry_out(&json!([
        {"tool": "note", "args": {"text": 5}},
        {"tool": "note", "args": {}},
        {"tool": "slow", "args": {"seconds": -1}},
        {"tool": "note", "args": {"text": "well"}},
    ]));
    let operations = world.operations(&id(&task));
    for operation in &operations[..3] {
        assert_eq!(
            (&operation["state"], &operation["deny_reason"]),
            (&json!("denied"), &json!("bad_arguments"))
        );
    }
    assert_eq!(operations[3]["state"], "succeeded");
    assert_eq!((world.count("begin", "note"), world.count("begin", "slow")), (1, 0));
}

#[test]
fn a_grant_for_so_many_calls_is_good_for_no_more() {
    let world = World::empty(Store::Sqlite);
    world.scripted("scripted", &[]);
    world.upstream("demo", &[]);
    let words = [
        "grant",
        "add",
        "--project",
        "default",
        "--connection",
        "demo",
        "--tools",
        "note",
        "--max-calls",
        "2",
    ];
    world.ok(&words);
    let note = |text: &str| json!({"tool": "note", "args": {"text": text}});
    let (task, _) = world.carry_out(&json!([note("a"), note("b"), note("c")]));
    assert_eq!(world.operation_states(&id(&task)), ["note:succeeded", "note:succeeded", "note:denied"]);
    assert_eq!(world.count("begin", "note"), 2);
}

#[test]
fn g07_what_waits_in_an_archived_project_does_not_start() {
    let world = World::new(Store::Sqlite);
    world.ok(&["project", "add", "other"]);
    let proposed = id(&world.ok(&["task", "add", "--project", "other", "x"]));
    let first = world.submit(&steps());
    let session = first["session"].as_str().expect("a session").to_owned();
    world.until_begun("slow", 1);
    let queued = id(&world.submit_in(&session, &json!([{"text": "never"}])));
    world.ok(&["project", "archive", "other"]);
    let refused = world.cli(&["task", "approve", &proposed]);
    assert_eq!((refused.code, refused.error_code().as_str()), (4, "project_archived"));
    world.ok(&["project", "archive", "default"]);
    let (ended, code) = world.wait(&queued);
    assert_eq!((ended["state"].as_str(), code), (Some("failed"), 5), "{ended}");
    assert!(ended["reason"].as_str().is_some_and(|reason| reason.contains("archived")), "{ended}");
    assert_eq!(world.prompts().len(), 1, "what waited was never prompted");
}

#[test]
fn only_an_administrator_makes_projects_and_the_report_says_by_whose_leave() {
    let world = World::new(Store::Sqlite);
    let account = id(&world.ok(&["account", "add", "dan"]));
    let token = world.ok(&["token", "add", "--account", &account]);
    let mut add = world.command(&["--json", "project", "add", "dans"]);
    add.env("AGENT_MATE_TOKEN", token["token"].as_str().expect("a secret"));
    assert_eq!(run(add, None).code, 3);
    let task = id(&world.submit(&json!([{"tool": "demo__note", "args": {"text": "x"}}, {"text": "done"}])));
    world.wait(&task);
    let report = world.ok(&["task", "report", &task]);
    assert_eq!((&report["submitted_by"], &report["approved_by"]), (&json!("owner"), &json!("owner")));
    assert!(
        report["operations"][0]["grant"].as_str().is_some_and(|grant| grant.starts_with("grt_")),
        "{report}"
    );
}
