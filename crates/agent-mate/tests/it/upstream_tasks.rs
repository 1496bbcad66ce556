//! Calls that an upstream carries out as tasks (MCP tasks): its record of a call is fetched again after a loss.

mod authority;
mod live;
// Holds processes at fault points.
#[cfg(feature = "faults")]
mod moments;
mod remote;
mod stops;

use crate::harness::{Store, World, id, on_both_stores, until};
use remote::Remote;
use rustix::process::Signal;
use serde_json::{Value, json};

on_both_stores!(
    g05_a_record_settles_a_call_whose_worker_was_killed,
    g05_a_program_that_keeps_its_records_is_asked_again,
    g05_an_upstream_that_has_forgotten_the_call_settles_nothing,
    g05_a_record_that_says_failed_settles_as_failed,
    g05_a_person_who_is_first_stands_against_a_record,
);

/// An installation with the effect server over HTTP as the connection `demo`; its tool `job` is granted.
fn over_http(store: Store, options: &[&str]) -> (World, Remote, String) {
    let world = World::empty(store);
    world.scripted("scripted", &[]);
    let remote = Remote::linked(&world, options);
    let grant = world.grant("demo", "job");
    (world, remote, grant)
}

fn job(key: &str, seconds: u32) -> Value {
    json!({"tool": "demo__job", "args": {"seconds": seconds, "key": key}})
}

/// Submits a task whose call is carried out as a task, and waits until the record names it.
fn named(world: &World, seconds: u32) -> String {
    let task = id(&world.submit(&json!([job("once", seconds), {"text": "done"}])));
    until_told(world, &task, "operation.upstream_task");
    world.until_begun("job", 1);
    task
}

fn until_told(world: &World, task: &str, kind: &str) {
    until(&format!("{kind} of {task}"), || {
        world.event_types(task).iter().any(|known| known == kind).then_some(())
    });
}

fn kill_the_session(world: &World) {
    let (worker, runtime) = (world.the_process("session-worker "), world.the_process("scripted-runtime"));
    runtime.kill();
    worker.kill();
}

/// The task's only operation, once the task has ended as unknown.
fn unknown_of(world: &World, task: &str) -> String {
    until_told(world, task, "task.unknown");
    let operations = world.operations(task);
    assert_eq!(operations.len(), 1, "{operations:?}");
    id(&operations[0])
}

fn until_settled(world: &World, operation: &str) -> Value {
    until("the operation to be settled", || {
        let seen = world.ok(&["operation", "show", operation]);
        (seen["state"] != "unknown").then_some(seen)
    })
}

/// A field of the events of one type, in order.
fn of_events(world: &World, task: &str, kind: &str, field: &str) -> Vec<String> {
    let events = world.events(task);
    let of_kind = events.iter().filter(|event| event["type"] == kind);
    of_kind.map(|event| event["data"][field].as_str().unwrap_or_default().to_owned()).collect()
}

fn assert_by_record(seen: &Value, state: &str) {
    assert_eq!(
        (&seen["state"], &seen["evidence"]["kind"]),
        (&json!(state), &json!("upstream_record")),
        "{seen}"
    );
}

fn told_stored(line: &Value) -> bool {
    let text = line["text"].as_str().unwrap_or_default();
    line["ok"] == true && text.starts_with("job done: once\n(This is the stored result")
}

/// How often the server was asked with a method.
fn asked(world: &World, method: &str) -> usize {
    world.effects().iter().filter(|line| line["kind"] == "asked" && line["method"] == method).count()
}

fn g05_a_record_settles_a_call_whose_worker_was_killed(store: Store) {
    let (world, _remote, _) = over_http(store, &[]);
    let task = named(&world, 3);
    let name = of_events(&world, &task, "operation.upstream_task", "upstream_task").remove(0);
    kill_the_session(&world);
    let operation = unknown_of(&world, &task);
    let seen = until_settled(&world, &operation);
    assert_by_record(&seen, "succeeded");
    assert_eq!(seen["upstream_task"], name.as_str());
    assert_eq!(seen["detail"], format!("the upstream's task {name}: it says completed, with its result"));
    assert!(
        seen["looks"].as_i64().is_some_and(|looks| looks >= 1) && seen["next_look_at"].is_null(),
        "{seen}"
    );
    // The task leaves `unknown` by itself, with the end that it had stored.
    world.until_ended(&task, 5);
    let said = of_events(&world, &task, "operation.verified", "verdict");
    let (last, before) = said.split_last().expect("looks");
    assert_eq!(last, "happened");
    assert!(before.iter().all(|early| early == "working"), "{said:?}");
    assert!(
        of_events(&world, &task, "operation.look_admitted", "upstream_task")
            .iter()
            .all(|asked| *asked == name)
    );
    // The result itself is there for who makes the call again.
    let copied = until("its copy in the journal", || {
        let seen = world.ok(&["operation", "show", &operation]);
        seen["result_size"].is_i64().then_some(seen)
    });
    assert_eq!(copied["result_type"], "text");
    let session = world.task(&task)["session"].as_str().expect("a session").to_owned();
    let again = world.submit_in(&session, &json!([job("once", 3), {"text": "done"}]));
    assert_eq!(world.wait(&id(&again)).1, 0);
    let told = crate::harness::json_lines(&world.path("told.log"));
    assert!(told.iter().any(told_stored), "{told:?}");
    assert_eq!((world.count("begin", "job"), world.count("end", "job")), (1, 1), "never repeated");
    world.assert_chains_hold(&session);
}

fn g05_a_program_that_keeps_its_records_is_asked_again(store: Store) {
    let world = World::empty(store);
    world.scripted("scripted", &[]);
    let records = world.path("tasks.json");
    world.upstream("demo", &["--tasks", records.to_str().expect("text")]);
    world.grant("demo", "job");
    let task = named(&world, 1);
    // The effect comes to its end, and nobody is there to hear of it.
    world.the_process("session-worker ").signal(Signal::STOP);
    until("the effect, on record", || {
        std::fs::read_to_string(&records).is_ok_and(|text| text.contains("completed")).then_some(())
    });
    kill_the_session(&world);
    let operation = unknown_of(&world, &task);
    assert_by_record(&until_settled(&world, &operation), "succeeded");
    world.until_ended(&task, 5);
    assert_eq!(world.count("begin", "job"), 1);
    assert!(
        world.effects().iter().filter(|line| line["kind"] == "start").count() >= 2,
        "another process of it"
    );
}

fn g05_an_upstream_that_has_forgotten_the_call_settles_nothing(store: Store) {
    let (world, mut remote, _) = over_http(store, &[]);
    let task = named(&world, 30);
    world.the_process("session-worker ").signal(Signal::STOP);
    remote.start_again(&world, &[]);
    kill_the_session(&world);
    let operation = unknown_of(&world, &task);
    let said = until("a look", || of_events(&world, &task, "operation.verified", "detail").pop());
    assert!(said.contains("does not know the task"), "{said}");
    let seen = world.ok(&["operation", "show", &operation]);
    assert_eq!((&seen["state"], &seen["evidence"]), (&json!("unknown"), &Value::Null));
    assert_eq!(seen["last_look"], said.as_str());
    assert!(seen["next_look_at"].is_string(), "it is asked again, a few times: {seen}");
    assert!(
        of_events(&world, &task, "operation.verified", "verdict").iter().all(|said| said == "cannot_tell")
    );
    assert_eq!((world.wait(&task).1, world.count("begin", "job")), (6, 1));
}

fn g05_a_record_that_says_failed_settles_as_failed(store: Store) {
    let world = World::empty(store);
    world.scripted("scripted", &[]);
    let records = world.path("tasks.json");
    world.upstream("demo", &["--tasks", records.to_str().expect("text")]);
    world.grant("demo", "job");
    // The program dies with its worker, and says afterwards that it was not done.
    let task = named(&world, 30);
    kill_the_session(&world);
    let operation = unknown_of(&world, &task);
    let seen = until_settled(&world, &operation);
    assert_by_record(&seen, "failed");
    assert_eq!(of_events(&world, &task, "operation.verified", "verdict"), ["failed"]);
    world.until_ended(&task, 5);
    assert_eq!(world.count("end", "job"), 0);
}

fn g05_a_person_who_is_first_stands_against_a_record(store: Store) {
    let (world, _remote, _) = over_http(store, &[]);
    let task = named(&world, 1);
    world.the_process("session-worker ").signal(Signal::STOP);
    until("the effect", || (world.count("end", "job") == 1).then_some(()));
    let upstream = world.the_process("effect-server");
    upstream.signal(Signal::STOP);
    kill_the_session(&world);
    let operation = unknown_of(&world, &task);
    until_told(&world, &task, "operation.look_admitted");
    world.ok(&["operation", "resolve", &operation, "--as", "failed", "--reason", "I did not find it"]);
    world.until_ended(&task, 5);
    upstream.signal(Signal::CONT);
    let seen = until("the record's word beside it", || {
        let seen = world.ok(&["operation", "show", &operation]);
        seen["contradicted_at"].is_string().then_some(seen)
    });
    assert_eq!((&seen["state"], &seen["evidence"]["kind"]), (&json!("failed"), &json!("person")));
    assert_eq!(seen["contradiction"]["as"], "succeeded");
    assert_eq!(seen["contradiction"]["evidence"]["kind"], "upstream_record");
    assert_eq!(of_events(&world, &task, "operation.contradicted", "operation").len(), 1);
    assert_eq!(world.count("begin", "job"), 1);
}
