//! One active turn for each session.

use crate::harness::{Store, World, id, on_both_stores};
use serde_json::json;

on_both_stores!(g02_one_active_turn_prompts_never_overlap);

fn g02_one_active_turn_prompts_never_overlap(store: Store) {
    let world = World::new(store);
    let first =
        world.submit(&json!([{"tool": "slow", "args": {"seconds": 1.5, "key": "a"}}, {"text": "first"}]));
    let session = first["session"].as_str().expect("a session").to_owned();
    world.until_begun("slow", 1);
    let refused = world.cli(&[
        "task",
        "add",
        "--project",
        "default",
        "--session",
        &session,
        "--approve",
        "--no-queue",
        "x",
    ]);
    assert_eq!((refused.code, refused.error_code().as_str()), (4, "session_busy"));
    let next: Vec<String> = ["second", "third"]
        .iter()
        .map(|text| id(&world.submit_in(&session, &json!([{"text": text}]))))
        .collect();
    assert_eq!(world.task(&next[0])["state"], "accepted");
    for task in &next {
        // The runtime answers a prompt that comes too early with an error.
        assert_eq!(world.wait(task).1, 0);
    }
    let prompts = world.prompts();
    assert_eq!(prompts.len(), 3);
    assert!(prompts[1].contains("second") && prompts[2].contains("third"), "{prompts:?}");
    let moment = |task: &str, field: &str| world.task(task)[field].as_str().expect("a time").to_owned();
    assert!(moment(&id(&first), "ended_at") <= moment(&next[0], "ended_at"));
    let seq = |task: &str, kind: &str| {
        let events = world.events(task);
        let event = events.iter().find(|event| event["type"] == kind).unwrap_or_else(|| panic!("no {kind}"));
        event["seq"].as_i64().expect("a number")
    };
    assert!(seq(&id(&first), "turn.ended") < seq(&next[0], "turn.prompted"));
    assert!(seq(&next[0], "turn.ended") < seq(&next[1], "turn.prompted"));
}

#[test]
fn f121_tasks_without_a_session_do_not_share_one() {
    let world = World::new(Store::Sqlite);
    let tasks: Vec<_> =
        (0..3).map(|_| world.submit(&json!([{"tool": "slow", "args": {"seconds": 1}}]))).collect();
    for task in &tasks {
        assert_eq!(world.wait(&id(task)).1, 0);
    }
    assert!(tasks[0]["session"] != tasks[1]["session"] && tasks[1]["session"] != tasks[2]["session"]);
    assert_eq!(world.count("end", "slow"), 3, "equal calls of different sessions are different calls");
}
