//! Calls that need a person's leave: asked, answered, used once.

mod changed;
mod ends;
mod own;
mod scope;
mod told;

use crate::harness::{Store, World, id, items, on_both_stores, until, while_true};
use serde_json::{Value, json};
use std::time::Duration;

on_both_stores!(
    g03_a_call_that_asks_is_sent_once_and_only_after_leave,
    g04_a_client_that_gives_up_joins_the_call_that_waits,
    g12_an_answer_reaches_a_call_that_outlived_the_coordinator,
    the_first_call_of_a_tool_asks_for_the_rest_of_the_task,
    of_several_that_wait_only_the_answered_one_goes_on,
);

/// A world whose tools of `demo` ask, with these settings of `[approval]`.
fn asking(store: Store, mode: &str, settings: &str) -> World {
    asking_under(store, mode, settings, &[])
}

/// The same, with more terms of the grant.
fn asking_under(store: Store, mode: &str, settings: &str, terms: &[&str]) -> World {
    let world = World::empty(store);
    world.set(&format!("[approval]\n{settings}\n"));
    world.scripted("scripted", &[]);
    world.upstream("demo", &["--linger", "300"]);
    let words = ["grant", "add", "--project", "default", "--connection", "demo", "--tools", "*"];
    world.ok(&[words.as_slice(), &["--approve", mode], terms].concat());
    world
}

fn note(text: &str) -> Value {
    json!({"tool": "demo__note", "args": {"text": text}})
}

impl World {
    fn open_approvals(&self) -> Vec<Value> {
        items(&self.ok(&["approval", "list"]))
    }

    /// Waits until so many wait for an answer.
    fn until_asked(&self, count: usize) -> Vec<Value> {
        until(&format!("{count} to wait for an answer"), || {
            Some(self.open_approvals()).filter(|open| open.len() == count)
        })
    }

    fn until_state(&self, approval: &str, state: &str) -> Value {
        until(&format!("{approval} to be {state}"), || {
            Some(self.ok(&["approval", "show", approval])).filter(|one| one["state"] == state)
        })
    }

    /// What the runtime was told of its calls, in order.
    fn told(&self) -> Vec<String> {
        let lines = crate::harness::json_lines(&self.path("told.log"));
        lines.iter().map(|line| line["text"].as_str().unwrap_or_default().to_owned()).collect()
    }

    fn until_told(&self, what: &str) {
        until(&format!("the runtime to be told {what:?}"), || {
            self.told().iter().any(|text| text.contains(what)).then_some(())
        });
    }
}

fn g03_a_call_that_asks_is_sent_once_and_only_after_leave(store: Store) {
    let world = asking(store, "always", "");
    let task = id(&world.submit(&json!([note("a"), {"text": "done"}])));
    let asked = world.until_asked(1).remove(0);
    assert_eq!((&asked["kind"], &asked["tool"]), (&json!("call"), &json!("note")), "{asked}");
    assert_eq!((&asked["connection_name"], &asked["task"]), (&json!("demo"), &json!(task)));
    assert!(asked["digest"].as_str().is_some_and(|digest| digest.len() >= 32), "{asked}");
    assert!(!asked["arguments"].is_null() && asked["receipt"].is_null());
    assert_eq!(world.task(&task)["activity"], "waiting_approval");
    assert_eq!(world.operation_states(&task), ["note:awaiting_approval"]);
    while_true("nothing is sent without leave", Duration::from_millis(700), || {
        world.effects().is_empty() || world.count("begin", "note") == 0
    });
    let allowed = world.ok(&["approval", "allow", &id(&asked)]);
    assert_eq!(allowed["receipt"]["decision"], "allow");
    let (ended, code) = world.wait(&task);
    assert_eq!(code, 0, "{ended}");
    assert_eq!(
        (world.count("begin", "note"), world.operation_states(&task)),
        (1, vec!["note:succeeded".to_owned()])
    );
    let report = world.ok(&["task", "report", &task]);
    assert_eq!(report["operations"][0]["allowed_by"], "owner", "{report}");
    let used = world.ok(&["approval", "show", &id(&asked)]);
    assert_eq!(
        (&used["state"], &used["receipt"]),
        (&json!("used"), &allowed["receipt"]),
        "the receipt stays"
    );
    assert!(world.open_approvals().is_empty());
    // Who, when, from where, to which exact request, what.
    let events = world.events(&task);
    let find =
        |kind: &str| events.iter().find(|event| event["type"] == kind).unwrap_or_else(|| panic!("no {kind}"));
    let answered = &find("approval.allowed")["data"];
    assert!(answered["by"].as_str().is_some_and(|by| by.starts_with("acc_")), "{answered}");
    assert!(answered["token"].as_str().is_some_and(|token| token.starts_with("tok_")), "{answered}");
    assert_eq!((&answered["digest"], &answered["approval"]), (&asked["digest"], &asked["id"]));
    let journal: Vec<&str> = events
        .iter()
        .filter(|event| event["log"] == "journal")
        .filter_map(|event| event["type"].as_str())
        .filter(|kind| kind.starts_with("operation."))
        .collect();
    assert_eq!(journal, ["operation.awaiting_approval", "operation.admitted", "operation.succeeded"]);
    assert_eq!(find("approval.used")["data"]["digest"], asked["digest"]);
}

fn g04_a_client_that_gives_up_joins_the_call_that_waits(store: Store) {
    let world = asking(store, "always", "caller_seconds = 30");
    // Its MCP client gives up twice and makes the same call again.
    let mut call = note("a");
    call["give_up_ms"] = json!([700, 700]);
    let task = id(&world.submit(&json!([call, {"text": "done"}])));
    let asked = id(&world.until_asked(1)[0]);
    while_true("there is one operation", Duration::from_millis(2500), || {
        world.operation_states(&task) == ["note:awaiting_approval"]
    });
    world.ok(&["approval", "allow", &asked]);
    let (ended, code) = world.wait(&task);
    assert_eq!((code, world.count("begin", "note")), (0, 1), "{ended}");
    assert_eq!(world.operation_states(&task), ["note:succeeded"]);
}

#[test]
fn g04_leave_is_not_used_while_nobody_is_there_to_hear() {
    let world = asking(Store::Sqlite, "always", "caller_seconds = 1");
    let gate = world.path("go");
    let steps = json!([note("a"), {"sleep_ms": 4000, "text": "back"}, note("a"), {"text": "done"}]);
    let task = id(&world.submit(&steps));
    let asked = id(&world.until_asked(1)[0]);
    world.until_told("Call again with exactly the same arguments");
    world.ok(&["approval", "allow", &asked]);
    while_true("nothing is sent with no caller there", Duration::from_millis(1200), || {
        world.count("begin", "note") == 0
    });
    assert_eq!(world.ok(&["approval", "show", &asked])["state"], "allowed");
    let (ended, code) = world.wait(&task);
    assert_eq!((code, world.count("begin", "note")), (0, 1), "{ended}");
    assert_eq!(world.operation_states(&task), ["note:succeeded"], "never a second operation");
    assert!(!gate.exists());
}

fn g12_an_answer_reaches_a_call_that_outlived_the_coordinator(store: Store) {
    let mut world = asking(store, "always", "");
    let task = id(&world.submit(&json!([note("a"), {"text": "done"}])));
    let asked = id(&world.until_asked(1)[0]);
    world.kill_serve();
    world.start_serve();
    // Seen by whoever comes later, with no cursor and with an old one.
    assert_eq!(id(&world.open_approvals()[0]), asked);
    assert!(world.event_types(&task).contains(&"approval.asked".to_owned()));
    world.ok(&["approval", "allow", &asked]);
    let (ended, code) = world.wait(&task);
    assert_eq!((code, world.count("begin", "note")), (0, 1), "{ended}");
}

fn the_first_call_of_a_tool_asks_for_the_rest_of_the_task(store: Store) {
    let world = asking(store, "once", "");
    let echo = |text: &str| json!({"tool": "demo__echo", "args": {"text": text}});
    let steps = json!([note("a"), note("b"), echo("other tool"), {"sleep_ms": 2500, "text": "x"}, note("c"), {"text": "done"}]);
    let task = id(&world.submit(&steps));
    let first = id(&world.until_asked(1)[0]);
    let allowed = world.ok(&["approval", "allow", &first]);
    assert_eq!(allowed["permission"]["state"], "active");
    // The second note went out without being asked about; another tool asks.
    let second = world.until_asked(1).remove(0);
    assert_eq!(second["tool"], "echo");
    assert_eq!(world.operation_states(&task)[..2], ["note:succeeded", "note:succeeded"]);
    let shown = world.task(&task);
    assert_eq!(
        (&shown["permissions"][0]["tool"], &shown["permissions"][0]["id"]),
        (&json!("note"), &json!(first))
    );
    let by = &world.operations(&task)[1]["decision"]["permission"];
    assert_eq!(by, &json!(first), "by whose leave");
    world.ok(&["approval", "allow", &id(&second)]);
    let revoked = world.ok(&["approval", "revoke", &first]);
    assert_eq!(revoked["permission"]["state"], "revoked");
    assert_eq!(world.ok(&["approval", "revoke", &first])["permission"], revoked["permission"]);
    let third = world.until_asked(1).remove(0);
    assert_eq!(third["tool"], "note", "it asks again once leave was taken back");
    world.ok(&["approval", "deny", &id(&third), "--reason", "that is enough"]);
    let (ended, code) = world.wait(&task);
    assert_eq!((code, world.count("begin", "note")), (0, 2), "{ended}");
    world.until_told("that is enough");
}

fn of_several_that_wait_only_the_answered_one_goes_on(store: Store) {
    let world = asking(store, "always", "");
    let steps = json!([{"tools": [note("a"), note("b"), note("c")]}, {"text": "done"}]);
    let task = id(&world.submit(&steps));
    let asked = world.until_asked(3);
    let middle = id(&asked[1]);
    world.ok(&["approval", "deny", &middle]);
    let left: Vec<String> = world.until_asked(2).iter().map(id).collect();
    assert_eq!(left, [id(&asked[0]), id(&asked[2])]);
    let state = |at: usize| world.ok(&["operation", "show", &id(&asked[at])])["state"].clone();
    until("the denial", || (state(1) == "denied").then_some(()));
    assert_eq!((state(0), state(2)), (json!("awaiting_approval"), json!("awaiting_approval")));
    world.ok(&["approval", "allow", &left[0]]);
    world.ok(&["approval", "allow", &left[1]]);
    let (ended, code) = world.wait(&task);
    assert_eq!((code, world.count("begin", "note")), (0, 2), "{ended}");
}

#[test]
fn leave_for_a_tool_covers_the_calls_of_it_that_wait_already() {
    let world = asking(Store::Sqlite, "once", "");
    let task = id(&world.submit(&json!([{"tools": [note("a"), note("b"), note("c")]}, {"text": "done"}])));
    let asked = world.until_asked(3);
    world.ok(&["approval", "allow", &id(&asked[1])]);
    let (ended, code) = world.wait(&task);
    assert_eq!((code, world.count("begin", "note")), (0, 3), "{ended}");
    assert_eq!(world.task(&task)["permissions"].as_array().map(Vec::len), Some(1));
}
