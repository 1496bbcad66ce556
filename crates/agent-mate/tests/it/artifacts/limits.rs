//! Quotas, removal, and memory.

use super::PICTURE;
use crate::harness::{Store, World, id, on_both_stores, until};
use serde_json::json;
use std::{fs, thread};

on_both_stores!(a_full_quota_fails_no_call, what_is_removed_is_gone_and_stays_on_record);

fn text(letter: &str) -> serde_json::Value {
    json!({"type": "text", "text": letter.repeat(80_000)})
}

fn a_full_quota_fails_no_call(store: Store) {
    let world = World::new(store);
    let set = world.ok(&["project", "set", "default", "--artifact-quota", "100K"]);
    assert_eq!(set["artifact_quota"], 102_400);
    let content = json!([text("a"), text("b"), {"type": "image", "data": PICTURE}]);
    let (task, code) =
        world.carry_out(&json!([{"tool": "demo__give", "args": {"content": content}}, {"text": "done"}]));
    assert_eq!(code, 0, "{task}");
    let task = id(&task);
    assert_eq!(world.operation_states(&task), ["give:succeeded"]);
    let states: Vec<_> = world
        .artifacts(&task)
        .iter()
        .map(|one| one["state"].as_str().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(states, ["kept", "not_kept", "kept"], "{states:?}");
    let left = &world.artifacts(&task)[1];
    assert!(left["reason"].as_str().is_some_and(|why| why.starts_with("over_quota")), "{left}");
    let into = world.path("none");
    let refused = world.cli(&["artifact", "get", &id(left), "-o", into.to_str().expect("text")]);
    assert_eq!((refused.code, refused.error_code().as_str()), (4, "not_kept"));
    assert!(!into.exists());
}

fn what_is_removed_is_gone_and_stays_on_record(store: Store) {
    let world = World::new(store);
    let steps =
        |letter: &str| json!([{"tool": "demo__give", "args": {"content": [text(letter)]}}, {"text": "done"}]);
    let first = id(&world.carry_out(&steps("r")).0);
    let second = id(&world.carry_out(&steps("r")).0);
    let (one, other) = (id(&world.artifacts(&first)[0]), id(&world.artifacts(&second)[0]));
    let sealed = world.sealed_files().len();
    let removed = world.ok(&["artifact", "remove", &one]);
    assert_eq!(
        (&removed["state"], removed["removed_at"].is_string()),
        (&json!("removed"), true),
        "{removed}"
    );
    assert_eq!(world.content(&other).len(), 80_000, "the other one holds the same content");
    assert_eq!(world.ok(&["project", "show", "default"])["artifact_bytes"], 80_000);
    world.ok(&["artifact", "remove", &other]);
    assert_eq!(world.ok(&["project", "show", "default"])["artifact_bytes"], 0);
    assert!(store == Store::Postgres || world.sealed_files().len() == sealed - 1);
    let refused = world.cli(&["artifact", "get", &one, "-o", world.path("x").to_str().expect("text")]);
    assert_eq!((refused.code, refused.error_code().as_str()), (4, "removed"));
    assert_eq!(world.ok(&["artifact", "remove", &one])["state"], "removed", "asked again, nothing changes");
    assert!(world.event_types(&first).contains(&"artifact.removed".to_owned()));
    // And the same content can be kept anew.
    let third = id(&world.carry_out(&steps("r")).0);
    assert_eq!(world.content(&id(&world.artifacts(&third)[0])).len(), 80_000);
}

/// The most memory that a process has ever held, in MiB.
fn peak(pid: i32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("it lives");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("a line");
    line.split_whitespace().nth(1).and_then(|word| word.parse::<u64>().ok()).expect("a number") / 1024
}

#[test]
fn f79_the_largest_result_needs_bounded_memory_and_is_kept() {
    let world = World::new(Store::Sqlite);
    let bytes: u64 = 30 << 20;
    let task = world.submit(&json!([
        {"tool": "demo__big", "args": {"bytes": bytes}, "silent": true},
        {"tool": "demo__slow", "args": {"seconds": 5}},
        {"text": "done"},
    ]));
    let session = task["session"].as_str().expect("a session").to_owned();
    let task = id(&task);
    let worker = world.worker(&session).pid;
    let found = until("the artifact", || world.artifacts(&task).into_iter().next());
    assert_eq!((&found["size"], &found["state"]), (&json!(bytes), &json!("kept")), "{found}");
    // The result is held a few times on its way: as it came, for the record, for the runtime, decoded.
    let worker = peak(worker);
    assert!(worker < 500, "the worker held {worker} MiB for a result of 30 MiB");
    assert_eq!(world.wait(&task).1, 0);
}

#[test]
fn f81_twenty_downloads_at_once_need_bounded_memory() {
    let world = World::new(Store::Sqlite);
    let bytes: u64 = 8 << 20;
    let (task, code) = world.carry_out(
        &json!([{"tool": "demo__big", "args": {"bytes": bytes}, "silent": true}, {"text": "done"}]),
    );
    assert_eq!(code, 0, "{task}");
    let found = world.artifacts(&id(&task)).remove(0);
    let serve = world.serve.as_ref().expect("a coordinator").pid().as_raw_nonzero().get();
    let path = format!("/api/v1/artifacts/{}/content", id(&found));
    assert_eq!(world.http(&path, "").2.len() as u64, bytes);
    let before = peak(serve);
    thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| assert_eq!(world.http(&path, "").2.len() as u64, bytes));
        }
    });
    let after = peak(serve);
    assert!(after < before + 40, "20 downloads of 8 MiB took the coordinator from {before} to {after} MiB");
}
