//! Outcomes while the journal cannot take them: held, told, and taken in later.

use crate::harness::{Store, World, id, until, while_true};
use mate_testkit::{
    mounts,
    postgres::{Cluster, TestDatabase},
    sqlite::WriteLock,
};
use serde_json::{Value, json};
use std::{fs, path::PathBuf, time::Duration};

/// A call that is answered while the journal is away, and a word of the runtime when it has heard the answer.
fn steps() -> Value {
    json!([
        {"tool": "demo__slow", "args": {"seconds": 2, "key": "once"}},
        {"stderr": "the answer was heard"},
        {"tool": "demo__note", "args": {"text": "new"}},
        {"stderr": "the refusal was heard"},
        {"text": "done"},
    ])
}

/// Submits the task and waits until its call is at the upstream; the task and its session.
fn in_the_call(world: &World) -> (String, String) {
    let task = world.submit(&steps());
    world.until_begun("slow", 1);
    (id(&task), task["session"].as_str().expect("a session").to_owned())
}

/// Waits until the runtime has said something on its standard error.
fn until_heard(world: &World, session: &str, words: &str) {
    let log = world.session_folder(session).join("worker.log");
    until(words, || fs::read_to_string(&log).is_ok_and(|text| text.contains(words)).then_some(()));
}

/// Whether a slot of the session's spill file is filled.
fn something_is_held(world: &World, session: &str) -> bool {
    fs::read(world.session_folder(session).join("held"))
        .is_ok_and(|bytes| bytes.iter().any(|byte| *byte != 0))
}

fn until_held(world: &World, session: &str) {
    until("a held outcome", || something_is_held(world, session).then_some(()));
}

/// The view says that the outcome is held.
fn assert_shown_as_held(world: &World, task: &str) {
    let operation = world.operations(task).remove(0);
    assert_eq!((&operation["state"], &operation["held"]), (&json!("in_flight"), &json!(true)), "{operation}");
}

/// The task completed, its call succeeded once, what was asked meanwhile was not done, and nothing is held any more.
fn assert_taken_in(world: &World, task: &str, session: &str) {
    let (ended, code) = world.wait(task);
    assert_eq!((ended["state"].as_str(), code), (Some("completed"), 0), "{ended}");
    let operations = world.operations(task);
    assert_eq!((&operations[0]["state"], &operations[0]["held"]), (&json!("succeeded"), &json!(false)));
    assert!(operations[0]["answered_at"].is_string() && operations[0]["result_size"].is_number());
    assert!(operations[1..].iter().all(|one| one["state"] == "not_sent"), "{operations:?}");
    assert_eq!((world.count("begin", "slow"), world.count("begin", "note")), (1, 0));
    let said = agent_said(world, task);
    assert!(said.contains("slow done: once") && said.contains("NOT made"), "{said}");
    until("a free slot", || (!something_is_held(world, session)).then_some(()));
    world.assert_chains_hold(session);
}

/// What the runtime said, which names the answers that it heard.
fn agent_said(world: &World, task: &str) -> String {
    let events = world.events(task);
    let messages = events.iter().filter(|event| event["type"] == "agent.message");
    messages.filter_map(|event| event["data"]["text"].as_str()).collect()
}

/// The worker was lost with the outcome in its hands: the call has its proof, only the turn is lost.
fn assert_recovered_from_the_spill(world: &World, task: &str, session: &str) {
    let (ended, code) = world.wait(task);
    assert_eq!((ended["state"].as_str(), code), (Some("failed"), 5), "{ended}");
    assert!(ended["reason"].as_str().is_some_and(|reason| reason.starts_with("runtime_lost")), "{ended}");
    assert_eq!(world.operation_states(task)[0], "slow:succeeded", "it was answered, and the answer was held");
    assert_eq!((world.count("begin", "slow"), world.count("end", "slow")), (1, 1));
    assert!(!something_is_held(world, session));
    world.events(task);
    world.assert_chains_hold(session);
}

#[test]
fn g05_an_answer_to_a_locked_journal_is_held_told_and_taken_in() {
    let world = World::new(Store::Sqlite);
    let (task, session) = in_the_call(&world);
    let lock = WriteLock::take(&world.session_folder(&session).join("journal.db")).expect("locked");
    until_held(&world, &session);
    assert_shown_as_held(&world, &task);
    until_heard(&world, &session, "the answer was heard");
    until_heard(&world, &session, "the refusal was heard");
    // The turn's end waits as well.
    while_true("the worker lives", Duration::from_secs(1), || !world.processes("session-worker").is_empty());
    drop(lock);
    assert_taken_in(&world, &task, &session);
}

#[test]
fn g05_a_worker_killed_with_a_held_outcome_leaves_its_proof() {
    let world = World::new(Store::Sqlite);
    let (task, session) = in_the_call(&world);
    let lock = WriteLock::take(&world.session_folder(&session).join("journal.db")).expect("locked");
    until_held(&world, &session);
    world.worker(&session).kill();
    drop(lock);
    assert_recovered_from_the_spill(&world, &task, &session);
}

/// A home on a database server of its own.
fn on_a_server() -> (World, Cluster) {
    let cluster = Cluster::start().expect("a server");
    let database = TestDatabase::make(cluster.url()).expect("a database");
    (World::on(Some(database), "h").with_demo(), cluster)
}

#[test]
fn g05_an_answer_without_a_database_is_held_told_and_taken_in() {
    let (world, mut cluster) = on_a_server();
    let (task, session) = in_the_call(&world);
    cluster.stop().expect("it ends");
    until_held(&world, &session);
    until_heard(&world, &session, "the answer was heard");
    until_heard(&world, &session, "the refusal was heard");
    cluster.start_again().expect("it serves again");
    assert_taken_in(&world, &task, &session);
    drop(world);
}

#[test]
fn g05_a_worker_killed_without_a_database_leaves_its_proof() {
    let (world, mut cluster) = on_a_server();
    let (task, session) = in_the_call(&world);
    cluster.stop().expect("it ends");
    until_held(&world, &session);
    world.worker(&session).kill();
    cluster.start_again().expect("it serves again");
    assert_recovered_from_the_spill(&world, &task, &session);
    drop(world);
}

/// Runs the other test where only its processes see what it mounts.
#[test]
fn g13_a_full_disk_holds_answers_and_refuses_what_is_new() {
    mounts::run_with_own_mounts("held::child_fills_the_disk").expect("it passes");
}

#[test]
#[ignore = "a child process of the test above"]
fn child_fills_the_disk() {
    let world = World::new(Store::Sqlite);
    let sessions = world.home().join("sessions");
    mounts::mount_small_disk(&sessions, "4m").expect("mounted");
    let (task, session) = in_the_call(&world);
    let filler = fill(sessions.join("filler"));
    until_held(&world, &session);
    assert_shown_as_held(&world, &task);
    while_true("the worker lives", Duration::from_secs(1), || !world.processes("session-worker").is_empty());
    fs::remove_file(filler).expect("removed");
    let (ended, code) = world.wait(&task);
    assert_eq!((ended["state"].as_str(), code), (Some("completed"), 0), "{ended}");
    assert_eq!(world.operation_states(&task)[0], "slow:succeeded");
    assert!(agent_said(&world, &task).contains("slow done: once"));
    until("a free slot", || (!something_is_held(&world, &session)).then_some(()));
    assert_eq!(world.count("begin", "slow"), 1);
    world.assert_chains_hold(&session);
}

/// Fills the disk to its last byte.
fn fill(path: PathBuf) -> PathBuf {
    use std::io::Write as _;
    let mut file = fs::File::create(&path).expect("made");
    while file.write_all(&[7; 4096]).is_ok() {}
    while file.write_all(&[7]).is_ok() {}
    path
}
