//! A look beside a person, and a look that is killed.

use super::{killed_in_a_call, looks, recipe, until_settled, verdicts, world};
use crate::harness::{Store, on_both_stores, until};
use rustix::process::Signal;
use serde_json::{Value, json};

on_both_stores!(g05_a_person_who_is_first_stands_against_a_look, g05_a_look_that_is_killed_is_taken_again);

/// A look that takes a while, and proves at once that a call was not done.
fn lingering() -> Value {
    let mut lingering = recipe();
    lingering["arguments"]["seconds"] = json!(3);
    lingering["after_seconds"] = json!(0);
    lingering
}

fn g05_a_person_who_is_first_stands_against_a_look(store: Store) {
    let world = world(store, &lingering());
    let (task, operation) = killed_in_a_call(&world);
    world.until_begun("was_done", 1);
    let upstream = world.the_process("effect-server");
    upstream.signal(Signal::STOP);
    world.ok(&["operation", "resolve", &operation, "--as", "succeeded", "--reason", "it is there"]);
    world.until_ended(&task, 5);
    upstream.signal(Signal::CONT);
    let seen = until("the look's word beside it", || {
        let seen = world.ok(&["operation", "show", &operation]);
        seen["contradicted_at"].is_string().then_some(seen)
    });
    assert_eq!((&seen["state"], &seen["evidence"]["kind"]), (&json!("succeeded"), &json!("person")));
    assert_eq!(seen["contradiction"]["as"], "failed");
    assert_eq!(seen["contradiction"]["evidence"]["kind"], "verification");
    let count = |kind: &str| looks(&world, &task, kind, "operation").len();
    assert_eq!((count("operation.resolved"), count("operation.contradicted")), (1, 1));
    until("no further look", || {
        world.ok(&["operation", "show", &operation])["next_look_at"].is_null().then_some(())
    });
}

fn g05_a_look_that_is_killed_is_taken_again(store: Store) {
    let world = world(store, &lingering());
    let (task, operation) = killed_in_a_call(&world);
    world.until_begun("was_done", 1);
    world.the_process("session-worker ").kill();
    let seen = until_settled(&world, &operation);
    assert_eq!((&seen["state"], &seen["evidence"]["kind"]), (&json!("failed"), &json!("verification")));
    assert_eq!(verdicts(&world, &task), ["did_not_happen"]);
    assert_eq!(looks(&world, &task, "operation.look_admitted", "tool").len(), 2, "the first one counts");
    assert_eq!((world.count("begin", "slow"), world.count("end", "slow")), (1, 0));
    world.until_ended(&task, 5);
}
