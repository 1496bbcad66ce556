//! What a revocation leaves on record, what waits, and what listens.

use super::{Ann, revoke};
use crate::harness::{Request, Store, World, id, on_both_stores, run, until};
use serde_json::{Value, json};
use std::{io::Read as _, thread};

on_both_stores!(g07_what_was_in_flight_is_named_and_not_undone, g07_a_disabled_account_ends_at_once);

/// A call that is in flight for a while, and one after that.
fn steps() -> Value {
    json!([
        {"tool": "demo__slow", "args": {"seconds": 3}},
        {"tool": "demo__note", "args": {"text": "not any more"}, "unlisted": true},
        {"text": "done"},
    ])
}

fn changes(world: &World, task: &str) -> Vec<Value> {
    let events = world.events(task);
    events.into_iter().filter(|event| event["type"] == "authority.changed").collect()
}

fn g07_what_was_in_flight_is_named_and_not_undone(store: Store) {
    for kind in ["grant", "token", "connection"] {
        let world = World::empty(store);
        world.scripted("scripted", &[]);
        world.upstream("demo", &[]);
        let (grant, ann) = (world.grant("demo", "*"), Ann::of(&world));
        let task = id(&ann.submit(&world, None, &steps()));
        world.until_begun("slow", 1);
        revoke(&world, kind, &grant, &ann);
        world.wait(&task);
        let changes = changes(&world, &task);
        assert_eq!(changes.len(), 1, "{kind}: {changes:?}");
        let (data, operations) = (&changes[0]["data"], world.operations(&task));
        assert_eq!(data["in_flight"].as_array().map(Vec::len), Some(1), "{kind}: {data}");
        let named = &data["in_flight"][0];
        assert_eq!((&named["operation"], &named["tool"]), (&operations[0]["id"], &json!("slow")), "{kind}");
        assert!(named["admitted_at_us"].is_i64(), "{kind}: {data}");
        assert_eq!(data["lost"].is_string(), kind == "token", "{kind}: {data}");
        if kind == "grant" {
            assert_eq!(
                (&data["grants"][0]["grant"], &data["grants"][0]["why"]),
                (&json!(grant), &json!("revoked"))
            );
        }
        assert_eq!(operations[0]["state"], "succeeded", "what was sent before is not undone");
        assert_eq!((world.count("begin", "slow"), world.count("begin", "note")), (1, 0));
    }
}

fn g07_a_disabled_account_ends_at_once(store: Store) {
    let world = World::new(store);
    let ann = Ann::of(&world);
    let first = ann.submit(&world, None, &steps());
    let (task, session) = (id(&first), first["session"].as_str().expect("a session").to_owned());
    let queued = id(&ann.submit(&world, Some(&session), &json!([{"text": "never"}])));
    world.until_begun("slow", 1);
    let target = format!("/api/v1/tasks/{task}/events");
    let headers = [("Accept", "text/event-stream")];
    let request =
        Request { token: &ann.token, method: "GET", target: &target, headers: &headers, body: None };
    let mut stream = world.connect(&request);
    let listening = thread::spawn(move || {
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("the stream ends");
        text
    });
    let disabled = world.ok(&["account", "disable", "ann"]);
    assert_eq!(disabled["state"], "disabled");
    // The call is in flight still: the stream did not wait for the task.
    let heard = listening.join().expect("read");
    assert_eq!(world.count("end", "slow"), 0, "the stream ended before the call");
    assert!(heard.contains("event: closed") && heard.contains("not_authenticated"), "{heard}");
    let refused = world.send(&request);
    assert_eq!(refused.status, 401, "{refused:?}");
    assert_eq!((world.wait(&task).1, world.operation_states(&task)[1].as_str()), (0, "note:denied"));
    let (ended, code) = world.wait(&queued);
    assert_eq!((ended["state"].as_str(), code), (Some("failed"), 5), "{ended}");
    assert!(ended["reason"].as_str().is_some_and(|reason| reason.contains("disabled")), "{ended}");
    assert_eq!(world.prompts().len(), 1, "what waited was never prompted");
    let again = world.cli(&["account", "disable", "owner"]);
    assert_eq!((again.code, again.error_code().as_str()), (4, "last_administrator"));
    world.ok(&["account", "enable", "ann"]);
    world.asked(&ann.token, "GET", "/api/v1/projects", "", 200);
}

#[test]
fn a_follower_is_told_why_it_ends() {
    let world = World::new(Store::Sqlite);
    let ann = Ann::of(&world);
    let task = id(&ann.submit(&world, None, &steps()));
    world.until_begun("slow", 1);
    let mut watch = world.command(&["--json", "task", "events", &task, "--follow"]);
    watch.env("AGENT_MATE_TOKEN", &ann.token);
    let watching = thread::spawn(move || run(watch, None));
    until("the token's use to be noted", || {
        let page = world.ok(&["token", "list", "--account", "ann"]);
        page["items"][0]["last_used_at"].as_str().map(str::to_owned)
    });
    world.ok(&["token", "revoke", &ann.token_id]);
    let told = watching.join().expect("ran");
    assert_eq!(told.code, 3, "{told:?}");
}
