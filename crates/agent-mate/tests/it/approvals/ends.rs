//! How a request ends that is not allowed, and that an answer after that has no effect.

use super::{asking, asking_under, note};
use crate::harness::{Store, World, id, on_both_stores, until};
use serde_json::json;

on_both_stores!(
    g06_a_stop_withdraws_what_waits,
    g07_what_was_revoked_is_not_sent_although_it_was_allowed,
    g12_a_worker_that_dies_leaves_nothing_that_could_be_sent_later,
);

/// An answer is refused, and says what stands.
fn assert_useless(world: &World, approval: &str, code: &str) {
    let refused = world.cli(&["approval", "allow", approval]);
    assert_eq!((refused.code, refused.error_code().as_str()), (4, code), "{refused:?}");
    assert_eq!(world.count("begin", "note"), 0);
}

#[test]
fn g05_a_refusal_is_told_to_the_agent_with_its_reason() {
    let world = asking(Store::Sqlite, "always", "");
    let task = id(&world.submit(&json!([note("a"), {"text": "done"}])));
    let asked = id(&world.until_asked(1)[0]);
    let denied = world.ok(&["approval", "deny", &asked, "--reason", "not on a Friday"]);
    assert_eq!(denied["receipt"]["reason"], "not on a Friday");
    let (ended, code) = world.wait(&task);
    assert_eq!((code, world.count("begin", "note")), (0, 0), "{ended}");
    let operation = &world.operations(&task)[0];
    assert_eq!((&operation["state"], &operation["deny_reason"]), (&json!("denied"), &json!("by_person")));
    world.until_told("not on a Friday");
    // The same answer again: the same receipt. The other one: what stands.
    assert_eq!(world.ok(&["approval", "deny", &asked])["receipt"], denied["receipt"]);
    assert_useless(&world, &asked, "approval_answered");
}

#[test]
fn a_refusal_that_nobody_heard_is_told_to_the_next_identical_call() {
    let world = asking(Store::Sqlite, "always", "caller_seconds = 1");
    let steps = json!([note("a"), {"sleep_ms": 2500, "text": "x"}, note("a"), {"text": "done"}]);
    let task = id(&world.submit(&steps));
    let asked = id(&world.until_asked(1)[0]);
    world.until_told("Call again with exactly the same arguments");
    world.ok(&["approval", "deny", &asked, "--reason", "never"]);
    let (ended, code) = world.wait(&task);
    assert_eq!((code, world.operation_states(&task)), (0, vec!["note:denied".to_owned()]), "{ended}");
    world.until_told("refused this call: never");
}

#[test]
fn leave_is_not_spent_on_a_call_that_only_came_too_early() {
    let world = asking_under(Store::Sqlite, "always", "", &["--rate", "1/h"]);
    let task = id(&world.submit(&json!([note("a"), note("b"), {"text": "done"}])));
    for number in 0..2 {
        let asked = id(&world.until_asked(1)[0]);
        world.ok(&["approval", "allow", &asked]);
        if number == 0 {
            world.until_state(&asked, "used");
            continue;
        }
        world.until_told("1/h calls in this session, and the next one in");
        let (ended, code) = world.wait(&task);
        assert_eq!((code, world.count("begin", "note")), (0, 1), "{ended}");
        world.until_state(&asked, "withdrawn");
    }
    assert_eq!(world.operation_states(&task), ["note:succeeded", "note:withdrawn"]);
}

#[test]
fn a_request_expires_with_nobody_there() {
    let mut world = asking(Store::Sqlite, "always", "expire_seconds = 2");
    let task = id(&world.submit(&json!([note("a"), {"text": "done"}])));
    let asked = id(&world.until_asked(1)[0]);
    // Without a client, and without a coordinator.
    world.kill_serve();
    world.until_told("has expired");
    world.start_serve();
    let (ended, code) = world.wait(&task);
    assert_eq!(code, 0, "{ended}");
    assert_eq!(world.ok(&["approval", "show", &asked])["state"], "expired");
    assert_eq!(world.operation_states(&task), ["note:expired"]);
    assert_useless(&world, &asked, "approval_over");
}

#[test]
fn leave_that_nobody_uses_expires_too() {
    let world = asking(Store::Sqlite, "always", "caller_seconds = 1\nexpire_seconds = 4");
    let task = id(&world.submit(&json!([note("a"), {"sleep_ms": 6000, "text": "done"}])));
    let asked = id(&world.until_asked(1)[0]);
    world.until_told("Call again with exactly the same arguments");
    let allowed = world.ok(&["approval", "allow", &asked]);
    let expired = world.until_state(&asked, "expired");
    assert_eq!(expired["receipt"], allowed["receipt"]);
    assert_eq!(world.ok(&["approval", "allow", &asked])["receipt"], allowed["receipt"]);
    world.wait(&task);
    assert_eq!(
        (world.count("begin", "note"), world.operation_states(&task)),
        (0, vec!["note:expired".to_owned()])
    );
}

#[test]
fn a_task_that_is_not_to_wait_is_refused_at_once() {
    let world = asking(Store::Sqlite, "always", "");
    let steps = crate::harness::stub(&json!([note("a"), {"permission": "rm"}, {"text": "done"}]));
    let words = ["task", "add", "--project", "default", "--approve", "--on-approval", "deny", &steps];
    let (ended, code) = world.wait(&id(&world.ok(&words)));
    assert_eq!(code, 0, "{ended}");
    let operation = &world.operations(&id(&ended))[0];
    assert_eq!((&operation["state"], &operation["deny_reason"]), (&json!("denied"), &json!("nobody_there")));
    assert_eq!(ended["policy"]["on_approval"], "deny");
    assert!(world.ok(&["approval", "list", "--all"])["items"].as_array().is_some_and(Vec::is_empty));
}

fn g06_a_stop_withdraws_what_waits(store: Store) {
    let world = asking(store, "always", "");
    let task = id(&world.submit(&json!([note("a"), {"text": "done"}])));
    let asked = id(&world.until_asked(1)[0]);
    let stopped = world.cli(&["task", "stop", &task]);
    assert_eq!(stopped.code, 0, "{stopped:?}");
    assert_eq!(world.task(&task)["state"], "stopped");
    assert_eq!(world.operation_states(&task), ["note:withdrawn"]);
    world.until_state(&asked, "withdrawn");
    assert_useless(&world, &asked, "approval_over");
}

#[test]
fn the_end_of_a_turn_withdraws_what_waits() {
    let world = asking(Store::Sqlite, "always", "caller_seconds = 1");
    let task = id(&world.submit(&json!([note("a"), {"text": "gave up"}])));
    let asked = id(&world.until_asked(1)[0]);
    let (ended, code) = world.wait(&task);
    assert_eq!((code, &ended["state"]), (0, &json!("completed")), "nothing is uncertain: {ended}");
    assert_eq!(world.operation_states(&task), ["note:withdrawn"]);
    assert_eq!(world.ok(&["approval", "show", &asked])["state"], "withdrawn");
    assert_useless(&world, &asked, "approval_over");
    // The same call in a later task of the session asks anew.
    let session = ended["session"].as_str().expect("a session");
    let next = id(&world.submit_in(session, &json!([note("a"), {"text": "done"}])));
    let again = id(&world.until_asked(1)[0]);
    assert_ne!(again, asked);
    world.ok(&["approval", "allow", &again]);
    assert_eq!(world.wait(&next).1, 0);
    assert_eq!(world.count("begin", "note"), 1);
}

fn g07_what_was_revoked_is_not_sent_although_it_was_allowed(store: Store) {
    let world = World::empty(store);
    world.set("[approval]\ncaller_seconds = 1\n");
    world.scripted("scripted", &[]);
    world.upstream("demo", &[]);
    let words = ["grant", "add", "--project", "default", "--connection", "demo", "--tools", "*"];
    let grant = id(&world.ok(&[words.as_slice(), &["--approve", "always"]].concat()));
    let call = |text: &str| json!({"tool": "demo__note", "args": {"text": text}, "unlisted": true});
    let steps = json!([{"tools": [call("a"), call("b")]}, {"sleep_ms": 3000, "text": "x"}, call("a"), {"text": "done"}]);
    let task = id(&world.submit(&steps));
    let asked = world.until_asked(2);
    let (first, second) = (id(&asked[0]), id(&asked[1]));
    until("both callers to have given up", || {
        (world.told().iter().filter(|text| text.contains("Call again")).count() == 2).then_some(())
    });
    world.ok(&["approval", "allow", &first]);
    world.ok(&["grant", "revoke", &grant]);
    // What waits without an answer ends at once; an answer to it has no effect.
    world.until_state(&second, "withdrawn");
    assert_useless(&world, &second, "approval_over");
    world.wait(&task);
    assert_eq!(world.count("begin", "note"), 0, "allowed, and not sent all the same");
    let states = world.operation_states(&task);
    assert!(states.iter().all(|state| state == "note:denied" || state == "note:withdrawn"), "{states:?}");
}

fn g12_a_worker_that_dies_leaves_nothing_that_could_be_sent_later(store: Store) {
    let world = asking(store, "always", "caller_seconds = 1");
    let submitted = world.submit(&json!([{"tools": [note("a"), note("b")]}, {"hang": true}]));
    let (task, session) = (id(&submitted), submitted["session"].as_str().expect("a session").to_owned());
    let asked = world.until_asked(2);
    world.until_told("Call again");
    world.ok(&["approval", "allow", &id(&asked[0])]);
    world.worker(&session).kill();
    let (ended, code) = world.wait(&task);
    assert_eq!(code, 5, "{ended}");
    assert_eq!(world.operation_states(&task), ["note:withdrawn", "note:withdrawn"]);
    for one in &asked {
        assert_eq!(world.ok(&["approval", "show", &id(one)])["state"], "withdrawn");
    }
    assert_useless(&world, &id(&asked[1]), "approval_over");
    assert!(world.open_approvals().is_empty());
    // The session goes on, and asks anew.
    let next = id(&world.submit_in(&session, &json!([note("a"), {"text": "done"}])));
    world.ok(&["approval", "allow", &id(&world.until_asked(1)[0])]);
    assert_eq!(world.wait(&next).1, 0);
    assert_eq!(world.count("begin", "note"), 1);
}
