//! Between a call's intent and its second read.

use super::{Ann, revoke};
use crate::{
    crash::Faults,
    harness::{Store, World, id, on_both_stores},
};
use serde_json::json;

on_both_stores!(g07_a_grant, g07_an_account);

/// The intent is on record when the authority goes; the call is never sent, and that is proved.
fn not_sent(store: Store, kind: &str) {
    let world = World::empty(store);
    world.scripted("scripted", &[]);
    world.upstream("demo", &[]);
    let grant = world.grant("demo", "*");
    let (ann, faults) = (Ann::of(&world), Faults::of(&world));
    faults.arm("admit.intended", "session-worker", 1);
    let steps = json!([{"tool": "demo__note", "args": {"text": "never"}}, {"text": "done"}]);
    let task = id(&ann.submit(&world, None, &steps));
    faults.until_held("admit.intended");
    assert_eq!(world.operation_states(&task), ["note:in_flight"], "the intent is durable");
    revoke(&world, kind, &grant, &ann);
    faults.go("admit.intended");
    world.wait(&task);
    let operations = world.operations(&task);
    assert_eq!(operations[0]["state"], "not_sent", "{kind}: {operations:?}");
    assert!(operations[0]["sent_at"].is_null() && operations.len() == 1, "{operations:?}");
    assert_eq!(world.count("begin", "note"), 0, "{kind}: it reached the upstream");
}

fn g07_a_grant(store: Store) {
    not_sent(store, "grant");
}

fn g07_an_account(store: Store) {
    not_sent(store, "account");
}

#[test]
fn g07_a_token() {
    not_sent(Store::Sqlite, "token");
}

#[test]
fn g07_a_member() {
    not_sent(Store::Sqlite, "member");
}

#[test]
fn g07_a_role() {
    not_sent(Store::Sqlite, "role");
}

#[test]
fn g07_a_connection() {
    not_sent(Store::Sqlite, "connection");
}

#[test]
fn g07_a_project() {
    not_sent(Store::Sqlite, "project");
}
