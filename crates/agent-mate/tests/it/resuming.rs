//! A task that ended is continued by a new one: in its conversation or, said plainly, without it.

use crate::harness::{Process, Store, World, id, json_lines, on_both_stores, stub, until};
use serde_json::{Value, json};

on_both_stores!(
    g05_a_resumed_task_has_its_conversation_and_the_facts_of_the_record,
    f155_a_task_does_not_go_on_without_the_conversation_that_it_continues,
    f11_a_runtime_that_dies_in_its_first_turn_leaves_a_session_that_goes_on_and_says_what_is_lost,
);

/// A task whose runtime ends in the middle of the turn, with nothing uncertain.
fn interrupted(world: &World, text: &str) -> Value {
    let steps =
        json!([{"tool": "note", "args": {"text": text}}, {"text": "half way"}, {"sleep_ms": 100, "exit": 3}]);
    let (ended, code) = world.carry_out(&steps);
    assert_eq!((ended["state"].as_str(), code), (Some("failed"), 5), "{ended}");
    assert!(ended["reason"].as_str().is_some_and(|why| why.starts_with("runtime_lost")), "{ended}");
    ended
}

fn resume(world: &World, task: &str, more: &[&str]) -> Value {
    let mut words = vec!["task", "resume", task];
    words.extend(more);
    world.ok(&words)
}

/// The runtime's own sessions that prompts went to, in order.
fn conversations(world: &World) -> Vec<String> {
    let lines = json_lines(&world.path("prompts.log"));
    lines.iter().map(|line| line["session"].as_str().expect("a session").to_owned()).collect()
}

fn g05_a_resumed_task_has_its_conversation_and_the_facts_of_the_record(store: Store) {
    let world = World::new(store);
    let old = id(&interrupted(&world, "first"));
    let text = stub(&json!([{"tool": "note", "args": {"text": "second"}}]));
    let made = resume(&world, &old, &[&text]);
    assert_eq!((&made["continues"], &made["state"]), (&json!(old), &json!("accepted")), "{made}");
    let (new, code) = world.wait(&id(&made));
    assert_eq!((code, &new["context"]), (0, &json!("loaded")), "{new}");
    assert_eq!((&new["session"], &new["resumes"]), (&world.task(&old)["session"], &json!(0)));

    let before = world.task(&old);
    assert_eq!((&before["state"], &before["continued_by"]), (&json!("failed"), &new["id"]));
    assert!(before["started_at"].is_string(), "{before}");
    let prompts = world.prompts();
    let conversations = conversations(&world);
    assert_eq!(
        (prompts.len(), &conversations[0]),
        (2, &conversations[1]),
        "one prompt each, in one conversation"
    );
    let note = new["note"].as_str().expect("the note");
    assert!(prompts[1].starts_with(note) && prompts[1].ends_with(&text), "{}", prompts[1]);
    let call = id(&world.operations(&old)[0]);
    for fact in [old.as_str(), "failed, runtime_lost", call.as_str(), "\"note\" of \"demo\"", "succeeded"] {
        assert!(note.contains(fact), "{fact} in {note}");
    }
    assert!(!note.contains("half way"), "nothing that the agent said: {note}");
    let events = world.events(&id(&new));
    let noted = events.iter().find(|event| event["type"] == "turn.noted").expect("it is on record");
    assert_eq!(
        (&noted["data"]["continues"], &noted["data"]["counts"]["succeeded"]),
        (&json!([old]), &json!(1))
    );
    assert!(world.event_types(&old).contains(&"task.resumed".to_owned()));
    world.assert_chains_hold(new["session"].as_str().expect("a session"));
}

fn f155_a_task_does_not_go_on_without_the_conversation_that_it_continues(store: Store) {
    let ways: [&[&str]; 7] = [
        &["--no-load"],
        &["--load=error"],
        &["--load=other"],
        &["--load=empty"],
        &["--load=quit"],
        &["--resume", "--load=error"],
        &["--resume", "--load=other"],
    ];
    for way in ways {
        let world = World::empty(store);
        world.scripted("scripted", way);
        world.upstream("demo", &[]);
        world.grant("demo", "*");
        let old = id(&interrupted(&world, "first"));
        let (lost, code) = world.wait(&id(&resume(&world, &old, &[])));
        assert_eq!((code, &lost["context"]), (5, &json!("lost")), "{way:?}: {lost}");
        let why = lost["reason"].as_str().expect("a reason");
        assert!(why.starts_with("context_lost") && why.contains(" --fresh"), "{way:?}: {why}");
        assert_eq!(world.prompts().len(), 1, "{way:?}: nothing was sent");
        assert!(!world.event_types(&id(&lost)).contains(&"turn.prompted".to_owned()));

        let text = stub(&json!([{"tool": "note", "args": {"text": "second"}}]));
        let (fresh, code) = world.wait(&id(&resume(&world, &id(&lost), &["--fresh", &text])));
        assert_eq!((code, &fresh["context"]), (0, &json!("new")), "{way:?}: {fresh}");
        assert!(fresh["session"] != lost["session"]);
        let note = fresh["note"].as_str().expect("the note");
        let call = id(&world.operations(&old)[0]);
        assert!(note.contains(&call) && note.contains("its prompt was never sent"), "{way:?}: {note}");
        assert_eq!((world.prompts().len(), world.count("begin", "note")), (2, 2), "{way:?}");
    }
}

#[test]
fn f155_a_conversation_that_is_told_late_or_resumed_without_its_history_is_not_lost() {
    for way in ["--load=late", "--resume"] {
        let world = World::empty(Store::Sqlite);
        world.scripted("scripted", &[way]);
        world.upstream("demo", &[]);
        world.grant("demo", "*");
        let old = id(&interrupted(&world, "first"));
        let text = stub(&json!([{"text": "well"}]));
        let (new, code) = world.wait(&id(&resume(&world, &old, &[&text])));
        assert_eq!((code, &new["context"]), (0, &json!("loaded")), "{way}: {new}");
        let conversations = conversations(&world);
        assert_eq!(conversations[0], conversations[1], "{way}");
    }
}

/// A session whose runtime was killed in its first turn, and cannot load what it had begun.
fn f11_a_runtime_that_dies_in_its_first_turn_leaves_a_session_that_goes_on_and_says_what_is_lost(
    store: Store,
) {
    let world = World::empty(store);
    world.scripted("scripted", &["--load=error"]);
    let begun = world.path("begun");
    let first = world.submit(&json!([{"once": begun, "sleep_ms": 60000}]));
    let session = first["session"].as_str().expect("a session");
    until("the first prompt", || begun.exists().then_some(()));
    world.processes("scripted-runtime").iter().for_each(Process::kill);
    assert_eq!(world.wait(&id(&first)).1, 5);

    let lost = id(&world.submit_in(session, &json!([{"text": "second"}])));
    let (ended, code) = world.wait(&lost);
    assert_eq!((code, &ended["context"]), (0, &json!("lost")), "{ended}");
    let types = world.event_types(&lost);
    let place =
        |kind: &str| types.iter().position(|one| one == kind).unwrap_or_else(|| panic!("{kind}: {types:?}"));
    assert!(place("session.context_lost") < place("turn.prompted"));
    let shown = crate::harness::run(world.command(&["task", "watch", &lost]), None).stdout;
    assert!(shown.contains("session.context_lost") && shown.contains("context: lost"), "{shown}");
    let report = world.ok(&["task", "report", &lost]);
    assert_eq!(report["task"]["context"], "lost");
    let (third, _) = world.wait(&id(&world.submit_in(session, &json!([{"text": "third"}]))));
    assert_eq!((&third["state"], &third["context"]), (&json!("completed"), &json!("loaded")));

    // What the first task had begun is not there any more, also where the runtime lives and has another conversation.
    let (ended, code) = world.wait(&id(&resume(&world, &id(&first), &[])));
    assert_eq!((code, &ended["context"]), (5, &json!("lost")), "{ended}");
    assert!(ended["reason"].as_str().is_some_and(|why| why.contains("another conversation")), "{ended}");
    assert_eq!(world.prompts().len(), 3, "one prompt for each task that was prompted");
}

#[test]
fn f11_a_worker_that_dies_before_the_first_prompt_leaves_nothing_that_could_be_lost() {
    let world = World::empty(Store::Sqlite);
    // Without a list of tools the first prompt waits for a while.
    world.scripted("scripted", &["--load=error", "--no-list"]);
    world.upstream("demo", &[]);
    world.grant("demo", "*");
    let task = world.submit(&json!([{"text": "here I am"}]));
    let opened = world.user().join(".scripted-runtime/scripted-1.jsonl");
    until("the runtime's session", || opened.exists().then_some(()));
    let worker = world.worker(task["session"].as_str().expect("a session"));
    assert_eq!(world.prompts().len(), 0, "it is not prompted yet");
    worker.kill();
    let (ended, code) = world.wait(&id(&task));
    assert_eq!((code, &ended["context"]), (0, &json!("new")), "{ended}");
    assert!(!world.event_types(&id(&task)).contains(&"session.context_lost".to_owned()));
    assert_eq!(world.prompts().len(), 1);
}

#[test]
fn f29_a_batch_that_is_cut_off_has_three_outcomes_and_none_is_made_again() {
    let world = World::new(Store::Sqlite);
    let note = |text: &str| json!({"tool": "note", "args": {"text": text}});
    let slow = json!({"tool": "slow", "args": {"seconds": 30, "key": "once"}});
    let task = world.submit(&json!([{"tools": [note("a"), note("b"), slow]}]));
    world.until_begun("slow", 1);
    let settled =
        || world.operation_states(&id(&task)).iter().filter(|one| *one == "note:succeeded").count() == 2;
    until("the two outcomes", || settled().then_some(()));
    let worker = world.worker(task["session"].as_str().expect("a session"));
    world.processes("scripted-runtime").iter().for_each(Process::kill);
    worker.kill();
    assert_eq!(world.wait(&id(&task)).1, 6);
    let mut states = world.operation_states(&id(&task));
    states.sort();
    assert_eq!(states, ["note:succeeded", "note:succeeded", "slow:unknown"]);
    let (next, code) = world.wait(&id(&resume(&world, &id(&task), &[&stub(&json!([{"text": "well"}]))])));
    assert_eq!(code, 0, "{next}");
    let note = next["note"].as_str().expect("the note");
    assert_eq!(note.matches("- op_").count(), 3, "{note}");
    assert_eq!(
        (world.count("begin", "note"), world.count("begin", "slow"), world.prompts().len()),
        (2, 1, 2)
    );
}
