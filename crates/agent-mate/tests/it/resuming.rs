//! A task that ended is continued by a new one: in its conversation or, said plainly, without it.

use crate::harness::{Store, World, id, json_lines, on_both_stores, stub};
use serde_json::{Value, json};

on_both_stores!(
    g05_a_resumed_task_has_its_conversation_and_the_facts_of_the_record,
    f155_a_task_does_not_go_on_without_the_conversation_that_it_continues,
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
    let ways: [&[&str]; 5] =
        [&["--no-load"], &["--load=error"], &["--load=other"], &["--load=empty"], &["--load=quit"]];
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
