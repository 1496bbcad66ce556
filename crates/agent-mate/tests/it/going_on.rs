//! Tasks that go on by themselves after an interruption: once, as often as they may, and never over an unknown effect.

use crate::harness::{Process, Store, World, id, items, on_both_stores, stub, until, while_true};
use serde_json::{Value, json};
use std::time::Duration;

on_both_stores!(
    g05_an_interrupted_task_goes_on_by_itself_as_often_as_its_policy_allows,
    g12_a_coordinator_killed_around_the_automatic_resume_makes_one_continuation,
    g04_an_interrupted_task_with_an_unknown_effect_does_not_go_on_by_itself,
    g05_an_interrupted_task_goes_on_when_its_last_uncertainty_is_settled_and_known,
);

/// Submits a task that goes on by itself.
fn submit(world: &World, most: &str, steps: &Value) -> String {
    let text = stub(steps);
    let words = [
        "task",
        "add",
        "--project",
        "default",
        "--approve",
        "--on-interruption",
        "resume",
        "--max-resumes",
        most,
        &text,
    ];
    id(&world.ok(&words))
}

/// The task that continues this one, once it has ended.
fn continuation(world: &World, task: &str) -> Value {
    let next = until("a continuation", || world.task(task)["continued_by"].as_str().map(str::to_owned));
    world.wait(&next).0
}

fn tasks(world: &World) -> usize {
    items(&world.ok(&["task", "list", "--project", "default"])).len()
}

fn held(world: &World, task: &str) -> String {
    until("that it is held", || {
        let events = world.events(task);
        let held = events.iter().find(|event| event["type"] == "task.held")?;
        held["data"]["reason"].as_str().map(str::to_owned)
    })
}

fn g05_an_interrupted_task_goes_on_by_itself_as_often_as_its_policy_allows(store: Store) {
    let world = World::new(store);
    let first = submit(
        &world,
        "2",
        &json!([{"tool": "note", "args": {"text": "again"}}, {"sleep_ms": 50, "exit": 3}]),
    );
    let second = continuation(&world, &first);
    let third = continuation(&world, &id(&second));
    for (task, resumes) in [(&second, 1), (&third, 2)] {
        assert_eq!((&task["state"], &task["resumes"]), (&json!("failed"), &json!(resumes)), "{task}");
        assert_eq!((&task["context"], &task["proposer"]), (&json!("loaded"), &second["proposer"]));
    }
    assert!(held(&world, &id(&third)).contains("as often as its policy allows: 2"));
    while_true("it does not go on any more", Duration::from_secs(1), || tasks(&world) == 3);
    assert_eq!((world.prompts().len(), world.count("begin", "note")), (3, 3), "one prompt for each task");
    // By hand it may still go on.
    let (fourth, _) =
        world.wait(&id(&world.ok(&["task", "resume", &id(&third), &stub(&json!([{"text": "well"}]))])));
    assert_eq!((&fourth["state"], &fourth["resumes"]), (&json!("completed"), &json!(2)));
    world.assert_chains_hold(fourth["session"].as_str().expect("a session"));
}

fn g12_a_coordinator_killed_around_the_automatic_resume_makes_one_continuation(store: Store) {
    let mut world = World::new(store);
    let (begun, left) = (world.path("begun"), world.path("left"));
    let task = submit(
        &world,
        "3",
        &json!([
            {"once": begun, "sleep_ms": 1},
            {"tool": "note", "args": {"text": "x"}},
            {"once": left, "sleep_ms": 300, "exit": 3},
            {"text": "done"},
        ]),
    );
    until("the prompt", || begun.exists().then_some(()));
    world.kill_serve();
    until("the end of the runtime", || left.exists().then_some(()));
    // The end is written without a coordinator; the next ones die at any point of what follows from it.
    for pause in [0, 15, 40, 80, 160] {
        world.start_serve();
        std::thread::sleep(Duration::from_millis(pause));
        world.kill_serve();
    }
    world.start_serve();
    let next = continuation(&world, &task);
    assert_eq!((&next["state"], &next["resumes"]), (&json!("completed"), &json!(1)), "{next}");
    assert_eq!(tasks(&world), 2);
    assert_eq!((world.prompts().len(), world.count("begin", "note")), (2, 2));
    let types = world.event_types(&task);
    assert_eq!(types.iter().filter(|kind| *kind == "task.resumed").count(), 1, "{types:?}");
    world.assert_chains_hold(next["session"].as_str().expect("a session"));
}

fn g04_an_interrupted_task_with_an_unknown_effect_does_not_go_on_by_itself(store: Store) {
    let world = World::new(store);
    let task = submit(
        &world,
        "3",
        &json!([{"tool": "slow", "args": {"seconds": 30, "key": "once"}}, {"text": "done"}]),
    );
    world.until_begun("slow", 1);
    let session = world.task(&task)["session"].as_str().expect("a session").to_owned();
    let worker = world.worker(&session);
    world.processes("scripted-runtime").iter().for_each(Process::kill);
    worker.kill();
    assert_eq!(world.wait(&task).1, 6);
    while_true("it holds", Duration::from_secs(2), || tasks(&world) == 1);
    // A person may let it go on; the note says what must not be repeated, and the guard sees to it.
    let text = stub(&json!([{"tool": "slow", "args": {"seconds": 30, "key": "once"}}, {"text": "well"}]));
    let (next, code) = world.wait(&id(&world.ok(&["task", "resume", &task, &text])));
    assert_eq!((code, &next["context"]), (0, &json!("loaded")), "{next}");
    let call = id(&world.operations(&task)[0]);
    let note = next["note"].as_str().expect("the note");
    let told = note.split("MAY HAVE HAPPENED").nth(1).expect("what may have happened");
    assert!(told.contains(&call), "{note}");
    assert_eq!(world.operation_states(&id(&next)), ["slow:denied"]);
    assert_eq!((world.count("begin", "slow"), world.prompts().len()), (1, 2));
}

#[test]
fn g05_a_task_whose_worker_was_killed_between_two_calls_goes_on_by_itself() {
    let world = World::new(Store::Sqlite);
    let (first, hung) = (world.path("first"), world.path("hung"));
    let task = submit(
        &world,
        "1",
        &json!([
            {"once": first, "tool": "note", "args": {"text": "first"}},
            {"once": hung, "hang": true},
            {"tool": "note", "args": {"text": "second"}},
        ]),
    );
    until("the pause", || hung.exists().then_some(()));
    until("the first outcome", || (world.operation_states(&task) == ["note:succeeded"]).then_some(()));
    world.worker(world.task(&task)["session"].as_str().expect("a session")).kill();
    let next = continuation(&world, &task);
    assert_eq!(next["state"], "completed", "{next}");
    assert!(next["note"].as_str().expect("a note").contains(&id(&world.operations(&task)[0])));
    assert_eq!((world.count("begin", "note"), world.prompts().len()), (2, 2));
    assert_eq!(world.operation_states(&id(&next)), ["note:succeeded"]);
}

#[test]
fn g07_a_task_whose_token_was_revoked_does_not_go_on_by_itself() {
    let world = World::new(Store::Sqlite);
    let begun = world.path("begun");
    let made = world.ok(&["token", "add"]);
    let secret = made["token"].as_str().expect("a token").to_owned();
    let text = stub(&json!([{"once": begun, "text": "x"}, {"sleep_ms": 1500, "exit": 3}]));
    let mut command = world.command(&[
        "--json",
        "task",
        "add",
        "--project",
        "default",
        "--approve",
        "--on-interruption",
        "resume",
        &text,
    ]);
    command.env("AGENT_MATE_TOKEN", secret);
    let task = id(&crate::harness::run(command, None).json());
    until("the prompt", || begun.exists().then_some(()));
    world.ok(&["token", "revoke", made["id"].as_str().expect("an id")]);
    assert_eq!(world.wait(&task).1, 5);
    assert!(held(&world, &task).contains("revoked"));
    while_true("it holds", Duration::from_secs(1), || tasks(&world) == 1);
}

fn g05_an_interrupted_task_goes_on_when_its_last_uncertainty_is_settled_and_known(store: Store) {
    let world = World::new(store);
    for (verdict, goes_on) in [("succeeded", true), ("abandoned", false)] {
        let steps = json!([
            {"once": world.path(verdict), "tool": "demo__slow", "args": {"seconds": 30, "key": verdict}},
            {"text": "done"},
        ]);
        let begun = world.count("begin", "slow");
        let task = submit(&world, "3", &steps);
        world.until_begun("slow", begun + 1);
        let worker = world.worker(world.task(&task)["session"].as_str().expect("a session"));
        worker.kill();
        assert_eq!(world.wait(&task).1, 6);
        let call = id(&world.operations(&task)[0]);
        world.ok(&[
            "operation",
            "resolve",
            &call,
            "--as",
            verdict,
            "--reason",
            "the tool server's log says so",
        ]);
        if goes_on {
            let next = continuation(&world, &task);
            assert_eq!((&next["state"], &next["resumes"]), (&json!("completed"), &json!(1)), "{next}");
            let note = next["note"].as_str().expect("the note");
            let told = note.split("These calls succeeded").nth(1).expect("what succeeded");
            assert!(told.contains(&call) && !note.contains("MAY HAVE HAPPENED"), "{note}");
        } else {
            assert!(held(&world, &task).contains(&call));
            assert!(world.task(&task)["continued_by"].is_null());
        }
        assert_eq!(world.count("begin", "slow"), begun + 1, "{verdict}: it is never called again");
    }
}

/// The deadline passed while nobody was there to act on it.
#[test]
fn f99_a_task_whose_deadline_has_passed_does_not_go_on_by_itself() {
    let mut world = World::new(Store::Sqlite);
    let text = stub(&json!([{"text": "on"}, {"hang": true}]));
    let words = ["task", "add", "--project", "default", "--approve", "--on-interruption", "resume"];
    let task = id(&world.ok(&[&words[..], &["--deadline", "8s", text.as_str()]].concat()));
    until("the prompt", || world.event_types(&task).contains(&"turn.prompted".to_owned()).then_some(()));
    let worker = world.the_process("session-worker ");
    world.kill_serve();
    worker.kill();
    std::thread::sleep(Duration::from_secs(8));
    world.start_serve();
    let (ended, code) = world.wait(&task);
    assert_eq!(code, 5, "{ended}");
    assert_eq!(held(&world, &task), "its deadline of 8 s has passed");
    while_true("it holds", Duration::from_secs(1), || tasks(&world) == 1);
}
