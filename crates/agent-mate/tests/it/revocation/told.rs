//! Who revokes is told what was on its way, in one breath; an administrator keeps a way in, also against itself; and a
//! change of two things is one change.

use super::{Ann, revoke};
use crate::harness::{Request, Store, World, id, items, on_both_stores};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};

on_both_stores!(
    g07_who_revokes_is_told_what_was_in_flight,
    two_revokes_at_once_leave_the_administrator_a_token,
    a_token_goes_with_those_that_were_made_with_it_when_that_is_asked,
    g07_what_is_being_revoked_makes_no_token_that_stays,
    a_project_is_set_whole_or_not_at_all,
);

fn g07_who_revokes_is_told_what_was_in_flight(store: Store) {
    for kind in ["grant", "account", "token", "member", "connection"] {
        let world = World::new(store);
        let ann = Ann::of(&world);
        let grant = items(&world.ok(&["grant", "list"]))[0]["id"].as_str().expect("an id").to_owned();
        let task = ann.submit(&world, None, &json!([{"tool": "slow", "args": {"seconds": 30}}]));
        world.until_begun("slow", 1);
        let told = revoke(&world, kind, &grant, &ann).remove(0);
        let calls = told["in_flight"]["calls"].as_array().cloned().unwrap_or_default();
        assert_eq!(calls.len(), 1, "{kind}: {told}");
        assert_eq!((&calls[0]["tool"], &calls[0]["task"]), (&json!("slow"), &task["id"]), "{kind}");
        assert_eq!(calls[0]["id"], world.operations(&id(&task))[0]["id"], "{kind}");
        world.cli(&["task", "kill", &id(&task)]);
    }
}

fn two_revokes_at_once_leave_the_administrator_a_token(store: Store) {
    for _ in 0..4 {
        let world = World::new(store);
        let mine = id(&items(&world.ok(&["token", "list"]))[0]);
        let other = world.ok(&["token", "add"]);
        let with = other["token"].as_str().expect("a secret").to_owned();
        let racer = |token: &str| {
            let mut command = world.command(&["token", "revoke", token, "--json"]);
            command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
            command
        };
        // Each is revoked with the other one.
        let first = racer(&id(&other)).spawn().expect("it starts");
        let second = racer(&mine).env("AGENT_MATE_TOKEN", &with).spawn().expect("it starts");
        let ends = [first, second].map(|child| child.wait_with_output().expect("it ends").status.success());
        assert!(ends[0] ^ ends[1], "one is revoked, and one is left: {ends:?}");
    }
}

fn a_token_goes_with_those_that_were_made_with_it_when_that_is_asked(store: Store) {
    let world = World::new(store);
    let parent = world.ok(&["token", "add"]);
    let made = |secret: &Value| {
        let mut command = world.command(&["token", "add", "--json"]);
        command.env("AGENT_MATE_TOKEN", secret.as_str().expect("a secret"));
        let output = command.output().expect("it runs");
        serde_json::from_slice::<Value>(&output.stdout).expect("a token")
    };
    let child = made(&parent["token"]);
    let grandchild = made(&child["token"]);
    assert_eq!((&child["made_with"], &grandchild["made_with"]), (&parent["id"], &child["id"]));
    let state = |token: &Value| {
        let all = items(&world.ok(&["token", "list"]));
        all.iter().find(|one| one["id"] == token["id"]).expect("listed")["state"].clone()
    };
    let alone = made(&parent["token"]);
    world.ok(&["token", "revoke", &id(&alone)]);
    assert_eq!((state(&child), state(&grandchild)), (json!("active"), json!("active")));
    let gone = world.ok(&["token", "revoke", &id(&parent), "--with-children"]);
    assert_eq!(gone["also_revoked"], json!([child["id"], grandchild["id"]]), "{gone}");
    assert_eq!((state(&child), state(&grandchild)), (json!("revoked"), json!("revoked")));
    // Also when it was revoked by itself before.
    let parent = world.ok(&["token", "add"]);
    let child = made(&parent["token"]);
    world.ok(&["token", "revoke", &id(&parent)]);
    assert_eq!(state(&child), json!("active"));
    let gone = world.ok(&["token", "revoke", &id(&parent), "--with-children"]);
    assert_eq!(gone["also_revoked"], json!([child["id"]]), "{gone}");
    assert_eq!(state(&child), json!("revoked"));
    // The whole of it is refused where it would lock the administrator out.
    let mine = items(&world.ok(&["token", "list"]))[0].clone();
    let under = world.ok(&["token", "add"]);
    assert_eq!(world.cli(&["token", "revoke", &id(&mine), "--with-children"]).code, 4);
    assert_eq!((state(&mine), state(&under)), (json!("active"), json!("active")));
}

/// A token that makes others as fast as it can leaves none behind.
fn g07_what_is_being_revoked_makes_no_token_that_stays(store: Store) {
    let world = World::new(store);
    for _ in 0..8 {
        let parent = world.ok(&["token", "add"]);
        let secret = parent["token"].as_str().expect("a secret").to_owned();
        let post = |token: &str, target: &str, body| {
            world.send(&Request { token, method: "POST", target, headers: &[], body: Some(body) }).status
        };
        let begun = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while post(&secret, "/api/v1/tokens", "{}") == 201 {
                        begun.store(true, Ordering::Relaxed);
                    }
                });
            }
            crate::harness::until("a token is made", || begun.load(Ordering::Relaxed).then_some(()));
            let revoke = format!("/api/v1/tokens/{}/revoke", id(&parent));
            assert_eq!(post(&world.own_token(), &revoke, r#"{"with_children":true}"#), 200);
        });
        let left = items(&world.ok(&["token", "list", "--limit", "500"]))
            .into_iter()
            .filter(|token| token["made_with"] == parent["id"] && token["state"] == "active")
            .count();
        assert_eq!(left, 0);
    }
}

fn a_project_is_set_whole_or_not_at_all(store: Store) {
    let world = World::new(store);
    let both = |quota: &str| {
        world.cli(&["project", "set", "default", "--distinct-approver", "--artifact-quota", quota])
    };
    assert_eq!(both("2000T").code, 2, "more than a pebibyte");
    let project = world.ok(&["project", "show", "default"]);
    assert_eq!(project["distinct_approver"], false, "nothing is half done: {project}");
    assert_eq!(both("1M").code, 0);
    let project = world.ok(&["project", "show", "default"]);
    assert_eq!((&project["distinct_approver"], &project["artifact_quota"]), (&json!(true), &json!(1 << 20)));
}
