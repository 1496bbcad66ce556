//! What is said of a task whose session lost its files, or cannot be given a worker.

use crate::harness::{Process, Store, World, id};
use serde_json::{Value, json};
use std::fs;

fn note(text: &str) -> Value {
    json!([{"tool": "demo__note", "args": {"text": text}}, {"text": "done"}])
}

/// A task that was in a call when everything was killed; its session.
fn killed_in_a_call(world: &mut World) -> (String, String) {
    let task = world.submit(&json!([{"tool": "demo__slow", "args": {"seconds": 30, "key": "once"}}]));
    world.until_begun("slow", 1);
    world.kill_serve();
    world.processes("").iter().for_each(Process::kill);
    world.assert_sessions_are_gone();
    (id(&task), task["session"].as_str().expect("a session").to_owned())
}

fn assert_lost_and_usable(world: &World, task: &str, session: &str) {
    let (ended, code) = world.wait(task);
    assert_eq!((ended["state"].as_str(), code), (Some("unknown"), 6), "{ended}");
    assert_eq!(ended["uncertain"], "journal_lost");
    let next = world.submit_in(session, &note("next"));
    assert_eq!(world.wait(&id(&next)).1, 0, "the session can be used again");
    assert_eq!((world.count("begin", "slow"), world.count("begin", "note")), (1, 1));
}

#[test]
fn g05_a_damaged_journal_makes_its_task_uncertain_and_is_put_aside() {
    let mut world = World::new(Store::Sqlite);
    let (task, session) = killed_in_a_call(&mut world);
    let folder = world.session_folder(&session);
    fs::write(folder.join("journal.db"), "no database\n".repeat(4096)).expect("overwritten");
    for part in ["journal.db-wal", "journal.db-shm"] {
        fs::remove_file(folder.join(part)).ok();
    }
    world.start_serve();
    assert_lost_and_usable(&world, &task, &session);
    let kept = fs::read_dir(&folder).expect("the folder").flatten();
    let kept = kept.filter(|entry| entry.file_name().to_string_lossy().contains("damaged")).count();
    assert_eq!(kept, 1, "what is left of it is kept for people to look at");
}

#[test]
fn g05_a_lost_session_folder_makes_its_task_uncertain() {
    let mut world = World::new(Store::Sqlite);
    let (task, session) = killed_in_a_call(&mut world);
    fs::remove_dir_all(world.session_folder(&session)).expect("removed");
    world.start_serve();
    assert_lost_and_usable(&world, &task, &session);
}

#[test]
fn g11_a_task_that_no_worker_can_start_fails_and_says_where_to_look() {
    let world = World::new(Store::Sqlite);
    let config = world.home().join("config.toml");
    let before = fs::read_to_string(&config).unwrap_or_default();
    // The coordinator has read its settings; each new worker finds these.
    fs::write(&config, "[session]\nno_such_setting = 1\n").expect("written");
    let (ended, code) = world.carry_out(&note("never"));
    assert_eq!((ended["state"].as_str(), code), (Some("failed"), 5), "{ended}");
    let reason = ended["reason"].as_str().unwrap_or_default();
    assert!(reason.starts_with("start_failed") && reason.contains("worker.log"), "{reason}");
    fs::write(&config, before).expect("written");
    assert_eq!(world.carry_out(&note("now")).1, 0);
    assert_eq!(world.count("begin", "note"), 1);
}
