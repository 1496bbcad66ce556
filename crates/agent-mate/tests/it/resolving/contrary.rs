//! Evidence that says otherwise than what stands.

use super::{count, given_up, killed_in_a_call, resolve};
use crate::harness::{Store, World, on_both_stores, until};
use serde_json::json;

on_both_stores!(
    g05_an_answer_to_the_contrary_changes_nothing_by_itself,
    g12_the_second_word_gets_the_first_answer,
);

fn g05_an_answer_to_the_contrary_changes_nothing_by_itself(store: Store) {
    let world = World::new(store);
    let (task, operation) = given_up(&world);
    world.ok(&resolve(&operation, "failed", "it was not there when I looked"));
    assert_eq!(world.wait(&task).1, 0, "nothing is uncertain any more");
    let contradicted = until("the answer to the contrary", || {
        let seen = world.ok(&["operation", "show", &operation]);
        seen["contradicted_at"].is_string().then_some(seen)
    });
    assert_eq!(contradicted["state"], "failed", "what was first stands");
    let other = &contradicted["contradiction"];
    assert_eq!((&other["as"], &other["evidence"]["kind"]), (&json!("succeeded"), &json!("late_answer")));
    assert_eq!(world.task(&task)["state"], "completed", "final is final");
    assert_eq!(count(&world, &task, "ledger", "operation.contradicted"), 1);
    let told = world.ok(&["task", "report", &task]);
    assert_eq!(told["contradicted"][0]["id"], json!(operation), "{told}");
    let detail = told["contradicted"][0]["detail"].as_str().expect("what it says");
    assert!(detail.starts_with("succeeded: "), "{detail}");
    // A person takes note of it.
    let seen = world.ok(&resolve(&operation, "failed", "it came after I had looked; nothing to be done"));
    assert_eq!(seen["state"], "failed", "still");
    assert!(seen["acknowledged_at"].is_string(), "{seen}");
    assert_eq!(seen["contradiction"]["acknowledgement"], "it came after I had looked; nothing to be done");
    assert_eq!(count(&world, &task, "ledger", "operation.acknowledged"), 1);
    assert_eq!(world.ok(&["task", "report", &task])["contradicted"], json!([]));
    world.events(&task);
}

fn g12_the_second_word_gets_the_first_answer(store: Store) {
    let world = World::new(store);
    let (task, operation, session) = killed_in_a_call(&world);
    let first = world.ok(&resolve(&operation, "failed", "first"));
    let same = world.ok(&resolve(&operation, "failed", "second"));
    assert_eq!((&same["detail"], &same["resolved_at"]), (&json!("first"), &first["resolved_at"]));
    assert_eq!(count(&world, &task, "ledger", "operation.resolved"), 1);
    // Another verdict is evidence to the contrary, once, however often it is said.
    for _ in 0..2 {
        let other = world.ok_code(&resolve(&operation, "succeeded", "no, it is there"), 4);
        assert_eq!((&other["state"], &other["contradiction"]["as"]), (&json!("failed"), &json!("succeeded")));
        assert!(other["acknowledged_at"].is_null());
        assert_eq!(count(&world, &task, "ledger", "operation.contradicted"), 1);
    }
    let seen = world.ok(&resolve(&operation, "failed", "that one is another order's"));
    assert!(seen["acknowledged_at"].is_string() && seen["state"] == "failed", "{seen}");
    assert_eq!(world.wait(&task).1, 5);
    world.assert_chains_hold(&session);
}
