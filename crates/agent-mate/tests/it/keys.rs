//! What was acknowledged is kept, and is there once.

use crate::harness::{Serve, Store, World, id, items, run, stub};
use rustix::process::Signal;
use serde_json::json;
use std::{thread, time::Duration};

#[test]
fn g12_the_same_idempotency_key_is_the_same_task_also_after_a_restart() {
    let mut world = World::new(Store::Sqlite);
    let script = stub(&json!([{"tool": "note", "args": {"text": "once"}}]));
    let words = ["task", "add", "--project", "default", "--approve", "--key", "k-1", &script];
    let first = id(&world.ok(&words));
    assert_eq!(id(&world.ok(&words)), first);
    assert_eq!(world.wait(&first).1, 0);
    world.kill_serve();
    world.start_serve();
    assert_eq!(id(&world.ok(&words)), first);
    let other =
        world.cli(&["task", "add", "--project", "default", "--approve", "--key", "k-1", "another thing"]);
    assert!([2, 4].contains(&other.code), "{other:?}");
    assert_eq!(items(&world.ok(&["task", "list"])).len(), 1);
    assert_eq!((world.prompts().len(), world.count("begin", "note")), (1, 1));
}

#[test]
fn f123_thirty_two_commands_at_once_all_succeed() {
    let world = World::new(Store::Sqlite);
    let commands: Vec<_> = (0..32)
        .map(|number| {
            let name = format!("project-{number}");
            match number % 4 {
                0 => world.command(&["--json", "project", "add", &name]),
                1 => world.command(&["--json", "task", "add", "--project", "default", "wait for approval"]),
                2 => world.command(&["--json", "account", "add", &format!("person-{number}")]),
                _ => world.command(&["--json", "task", "list"]),
            }
        })
        .collect();
    let running: Vec<_> =
        commands.into_iter().map(|command| thread::spawn(move || run(command, None))).collect();
    for one in running {
        let output = one.join().expect("it ran");
        assert_eq!(output.code, 0, "{output:?}");
    }
    assert_eq!(items(&world.ok(&["project", "list"])).len(), 9);
    assert_eq!(items(&world.ok(&["task", "list"])).len(), 8);
    assert_eq!(items(&world.ok(&["account", "list"])).len(), 9);
}

#[test]
fn f127_a_coordinator_that_stands_still_is_not_replaced() {
    let mut world = World::new(Store::Sqlite);
    let serve = world.serve.as_ref().expect("a coordinator");
    serve.signal(Signal::STOP);
    let waiting = world.command(&["--json", "task", "list"]);
    let waiting = thread::spawn(move || run(waiting, None));
    let mut second = world.command(&["serve", "--listen", "127.0.0.1:0", "--json"]);
    second.env("AGENT_MATE_LOG", "error");
    let refused = run(second, None);
    assert!(refused.code != 0 && format!("{refused:?}").contains("another"), "{refused:?}");
    thread::sleep(Duration::from_secs(2));
    assert!(!waiting.is_finished(), "nobody can have answered");
    serve.signal(Signal::CONT);
    assert_eq!(waiting.join().expect("it ran").code, 0, "the same coordinator answers late");
    assert_eq!(world.carry_out(&json!([{"text": "x"}])).1, 0);
    // The lock goes with its holder, however that ends.
    world.kill_serve();
    world.serve = Some(Serve::start(&world.home(), &world.user(), &world.path("serve.log"), &[]));
    assert_eq!(items(&world.ok(&["task", "list"])).len(), 1);
}
