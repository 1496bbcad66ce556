//! What administrators forbid and permit, and what is recorded of it.

use crate::harness::{Store, World, id, on_both_stores, run};
use serde_json::{Value, json};
use std::fs;

on_both_stores!(g07_a_forbid_takes_effect_at_the_very_next_call_and_its_removal_too,);

impl World {
    /// Writes a policy's text into a file; gives it as an argument.
    fn policy_file(&self, text: &str) -> String {
        let path = self.path("policy.cedar");
        fs::write(&path, text).expect("written");
        format!("@{}", path.display())
    }

    /// Adds a policy.
    pub(crate) fn policy(&self, name: &str, text: &str) -> Value {
        self.ok(&["policy", "add", name, &self.policy_file(text)])
    }
}

/// What was recorded of an operation's decision: its effect, and the policies.
fn decided(operation: &Value) -> (&str, Vec<&str>) {
    let decision = &operation["decision"];
    let policies = decision["policies"].as_array().expect("policies");
    let policies = policies.iter().map(|name| name.as_str().expect("a name")).collect();
    (decision["effect"].as_str().expect("an effect"), policies)
}

const FORBID: &str = r#"forbid (principal in Project::"default", action, resource == Tool::"demo/note");"#;

fn g07_a_forbid_takes_effect_at_the_very_next_call_and_its_removal_too(store: Store) {
    let world = World::empty(store);
    world.scripted("scripted", &[]);
    world.upstream("demo", &[]);
    let grant = world.grant("demo", "*");
    let note = |text: &str| json!({"tool": "demo__note", "args": {"text": text}, "unlisted": true});
    let slow = json!({"tool": "demo__slow", "args": {"seconds": 3}});
    let task = id(&world.submit(&json!([note("a"), slow, note("b"), slow, note("c")])));
    world.until_begun("slow", 1);
    world.policy("no-notes", FORBID);
    world.until_begun("slow", 2);
    world.ok(&["policy", "remove", "no-notes"]);
    world.wait(&task);
    assert_eq!(
        world.operation_states(&task),
        ["note:succeeded", "slow:succeeded", "note:denied", "slow:succeeded", "note:succeeded"]
    );
    assert_eq!(world.count("begin", "note"), 2);
    let operations = world.operations(&task);
    let by_grant = format!("grant:{grant}");
    assert_eq!(decided(&operations[0]), ("permit", vec![by_grant.as_str()]));
    assert_eq!(operations[0]["decision"]["grant"], grant);
    assert_eq!(operations[2]["deny_reason"], "forbidden");
    assert_eq!(decided(&operations[2]), ("forbid", vec!["policy:no-notes"]));
    let told = fs::read_to_string(world.path("told.log")).expect("told");
    assert!(told.contains("policy:no-notes forbids it"), "{told}");
    let explained = world.ok(&["policy", "explain", &id(&operations[2])]);
    assert_eq!(explained["recorded"], operations[2]["decision"]);
    assert_eq!(
        (&explained["deny_reason"], &explained["now"]["permitted"]),
        (&json!("forbidden"), &json!(true))
    );
    assert_eq!(explained["now"]["decision"]["policies"], json!([by_grant]));
}

/// Held between the intent and the second read: the call is judged once more, and not sent.
#[cfg(feature = "faults")]
#[test]
fn g07_a_forbid_after_the_intent_is_seen_by_the_second_read_and_recorded() {
    let world = World::new(Store::Sqlite);
    let faults = world.path("faults");
    fs::create_dir_all(&faults).expect("made");
    fs::write(faults.join("admit.intended"), "session-worker 1").expect("armed");
    let task = id(&world.submit(&json!([{"tool": "demo__note", "args": {"text": "a"}}])));
    let held = |name: &str| name.starts_with("admit.intended.hit.");
    crate::harness::until("the intent", || {
        let names = fs::read_dir(&faults).expect("there").flatten();
        names.map(|name| name.file_name()).any(|name| held(&name.to_string_lossy())).then_some(())
    });
    world.policy("no-notes", FORBID);
    fs::write(faults.join("admit.intended.go"), "").expect("let go");
    world.wait(&task);
    let operation = &world.operations(&task)[0];
    assert_eq!(operation["state"], "not_sent");
    assert_eq!(decided(operation).0, "permit", "the first read");
    let second = &operation["decision"]["second_read"];
    assert_eq!((&second["effect"], &second["policies"]), (&json!("forbid"), &json!(["policy:no-notes"])));
    assert_eq!(world.count("begin", "note"), 0);
}

#[test]
fn g07_a_forbidden_tool_is_not_listed() {
    let world = World::new(Store::Sqlite);
    world.policy("no-notes", FORBID);
    let (task, _) = world.carry_out(&json!([
        {"tool": "note", "args": {"text": "the script sees that it is not listed"}},
        {"tool": "echo", "args": {"text": "this one is"}},
    ]));
    let states: Vec<String> = world.operation_states(&id(&task));
    assert_eq!(states.last().map(String::as_str), Some("echo:succeeded"), "{states:?}");
    assert_eq!(world.count("begin", "note"), 0);
}

/// A policy about arguments says nothing of a tool before it is called.
#[test]
fn g07_a_tool_whose_arguments_a_policy_bounds_is_listed_and_judged_by_them() {
    let world = World::empty(Store::Sqlite);
    world.scripted("scripted", &[]);
    let log = world.path("effects.log");
    let add = ["connection", "add", "demo", "--allow-field", "note.text", "--"];
    let server = [crate::harness::program(), "effect-server", "--log", log.to_str().expect("text")];
    world.ok(&[&add[..], &server].concat());
    world.grant("demo", "*");
    world.policy(
        "bounded",
        r#"forbid (principal, action, resource == Tool::"demo/note")
            unless { context.texts.hasTag("text") && context.texts.getTag("text") == "small" };"#,
    );
    let note = |text: &str| json!({"tool": "demo__note", "args": {"text": text}});
    let (task, _) = world.carry_out(&json!([note("small"), note("large"), {"text": "done"}]));
    assert_eq!(world.operation_states(&id(&task)), ["note:succeeded", "note:denied"]);
    assert_eq!(world.operations(&id(&task))[1]["deny_reason"], "forbidden");
}

#[test]
fn g07_a_grant_that_needs_a_permit_is_good_only_where_a_policy_permits() {
    let world = World::empty(Store::Sqlite);
    world.scripted("scripted", &[]);
    world.upstream("demo", &[]);
    let words =
        ["grant", "add", "--project", "default", "--connection", "demo", "--tools", "*", "--needs-permit"];
    let grant = id(&world.ok(&words));
    let call = json!([{"tool": "demo__note", "args": {"text": "a"}, "unlisted": true}]);
    let (task, _) = world.carry_out(&call);
    let refused = &world.operations(&id(&task))[0];
    assert_eq!((&refused["deny_reason"], decided(refused)), (&json!("forbidden"), ("none", vec![])));
    world.policy(
        "notes",
        &format!(
            r#"permit (principal, action, resource in Grant::"{grant}") when {{ resource.name == "note" }};"#
        ),
    );
    let (task, _) = world.carry_out(&call);
    let permitted = &world.operations(&id(&task))[0];
    assert_eq!(permitted["state"], "succeeded");
    assert_eq!(decided(permitted), ("permit", vec!["policy:notes"]));
    assert_eq!(permitted["grant"], grant);
}

/// A permit gives no tool that no grant gives.
#[test]
fn g07_a_permit_alone_gives_nothing() {
    let world = World::empty(Store::Sqlite);
    world.scripted("scripted", &[]);
    world.upstream("demo", &[]);
    world.grant("demo", "echo");
    world.policy("all", "permit (principal, action, resource);");
    let (task, _) =
        world.carry_out(&json!([{"tool": "demo__note", "args": {"text": "a"}, "unlisted": true}]));
    let refused = &world.operations(&id(&task))[0];
    assert_eq!((&refused["state"], &refused["deny_reason"]), (&json!("denied"), &json!("not_granted")));
}

#[test]
fn policies_are_checked_with_line_and_column_and_changed_in_one_step() {
    let world = World::empty(Store::Sqlite);
    let wrong = world.policy_file("permit (principal, action, resource)\nwhen { principal.mood == 1 };");
    let report = world.ok_code(&["policy", "check", &wrong], 2);
    assert_eq!(
        (&report["good"], &report["faults"][0]["line"], &report["faults"][0]["column"]),
        (&json!(false), &json!(2), &json!(8))
    );
    let refused = world.cli(&["policy", "add", "wrong", &wrong]);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.stdout.contains("line 2, column 8"), "{refused:?}");
    let typo = world.policy_file("forbid (principal, action,\n resource in Connection::\"githbu\");");
    let report = world.ok(&["policy", "check", &typo]);
    assert_eq!((&report["good"], &report["warnings"][0]["line"]), (&json!(true), &json!(2)), "{report}");
    assert_eq!(world.ok(&["policy", "list"])["items"], json!([]), "a check changes nothing");
    let first = world.policy("house", "forbid (principal, action, resource);");
    let again = world.cli(&["policy", "add", "house", &typo]);
    assert_eq!((again.code, again.error_code().as_str()), (4, "name_taken"));
    let second = world.ok(&["policy", "add", "house", "--replace", &typo]);
    assert_ne!(id(&first), id(&second));
    let listed = world.ok(&["policy", "list"]);
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(1));
    assert_eq!(listed["items"][0]["id"], second["id"]);
    world.ok(&["policy", "remove", "house"]);
    assert_eq!(world.cli(&["policy", "show", "house"]).code, 3);
    assert_eq!(world.cli(&["policy", "remove", "house"]).code, 3);
    assert_eq!(world.cli(&["policy", "add", "house", "forbid (principal, action, resource);"]).code, 2);
}

/// Administrators change policies; who sees a project sees what decided there, and nobody else does.
#[test]
fn g08_policies_are_the_administrators() {
    let world = World::new(Store::Sqlite);
    let (task, _) = world.carry_out(&json!([{"tool": "note", "args": {"text": "a"}}]));
    let operation = id(&world.operations(&id(&task))[0]);
    world.policy("house", r#"permit (principal in Project::"default", action, resource);"#);
    world.ok(&["account", "add", "ann"]);
    let token = world.ok(&["token", "add", "--account", "ann"]);
    let token = token["token"].as_str().expect("a secret");
    let file = world.policy_file("forbid (principal, action, resource);");
    let ann = |words: &[&str]| {
        let mut command = world.command(&[&["--json"], words].concat());
        command.env("AGENT_MATE_TOKEN", token);
        run(command, None)
    };
    for words in [
        &["policy", "list"] as &[&str],
        &["policy", "show", "house"],
        &["policy", "show", "other"],
        &["policy", "remove", "house"],
        &["policy", "add", "mine", &file],
        &["policy", "check", &file],
    ] {
        assert_eq!(ann(words).code, 3, "{words:?}");
    }
    assert_eq!(ann(&["policy", "explain", &operation]).code, 3);
    world.ok(&["project", "member", "add", "default", "ann", "--role", "viewer"]);
    let explained = ann(&["policy", "explain", &operation]);
    assert_eq!((explained.code, &explained.json()["recorded"]["effect"]), (0, &json!("permit")));
}
