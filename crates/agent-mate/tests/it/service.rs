//! The coordinator under a terminal and under a service manager, and limits of sessions.

use crate::harness::{Store, World, id, until};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::json;
use std::{
    io::{BufRead as _, BufReader, Read as _},
    os::unix::{net::UnixDatagram, process::CommandExt as _},
    process::Stdio,
    time::Duration,
};

/// As a terminal does at Ctrl-C: everything in the foreground gets the signal.
#[test]
fn g01_ctrl_c_leaves_sessions_running_and_says_how_to_stop_them() {
    let mut world = World::new(Store::Sqlite);
    world.kill_serve();
    let manager = UnixDatagram::bind(world.path("notify")).expect("a socket");
    manager.set_read_timeout(Some(Duration::from_secs(60))).expect("set");
    let mut serve = world
        .command(&["serve", "--listen", "127.0.0.1:0"])
        .env("NOTIFY_SOCKET", world.path("notify"))
        .stdout(Stdio::piped())
        .process_group(0)
        .spawn()
        .expect("it starts");
    let mut out = BufReader::new(serve.stdout.take().expect("piped"));
    let mut line = String::new();
    out.read_line(&mut line).expect("a ready line");
    assert!(line.contains("Ctrl-C ends this; sessions go on"), "{line}");
    let hear = || {
        let mut bytes = [0; 64];
        let length = manager.recv(&mut bytes).expect("the service manager hears");
        String::from_utf8_lossy(&bytes[..length]).into_owned()
    };
    assert_eq!(hear(), "READY=1");
    let doctor = world.cli(&["doctor"]).json();
    assert!(doctor["checks"].to_string().contains("\"service\""), "{doctor}");
    let tasks: Vec<String> =
        (0..2).map(|_| id(&world.submit(&json!([{"plan": ["hang"]}, {"hang": true}])))).collect();
    for task in &tasks {
        until("it is at work", || {
            world.event_types(task).iter().any(|kind| kind == "agent.plan").then_some(())
        });
    }
    kill_process_group(Pid::from_child(&serve), Signal::INT).expect("sent");
    let mut rest = String::new();
    out.read_to_string(&mut rest).expect("its last words");
    assert!(serve.wait().expect("its end").success());
    assert!(rest.contains("Sessions that were at work go on") && rest.contains("task stop --all"), "{rest}");
    assert_eq!(hear(), "STOPPING=1");
    assert_eq!(world.processes("scripted-runtime").len(), 2, "they do not go on");
    world.start_serve();
    for task in &tasks {
        assert_eq!(world.task(task)["state"], "running");
    }
    let stopped = world.ok(&["task", "stop", "--all", "--timeout", "55s"]);
    let states: Vec<_> =
        stopped["items"].as_array().expect("items").iter().map(|task| &task["state"]).collect();
    assert_eq!(states, [&json!("stopped"), &json!("stopped")], "{stopped}");
    until("the runtimes' end", || world.processes("scripted-runtime").is_empty().then_some(()));
    assert_eq!(world.ok(&["task", "stop", "--all"])["items"], json!([]));
    assert_eq!(world.cli(&["task", "stop"]).code, 2);
    assert_eq!(world.cli(&["task", "stop", "--all", &tasks[0]]).code, 2);
}

#[test]
fn limits_are_kept_shown_and_told_as_they_are_held() {
    let world = World::new(Store::Sqlite);
    let many = "for i in $(seq 40); do sleep 600 & done; exec sleep 600";
    let words =
        ["--max-memory", "2G", "--max-processes", "12", "--max-cpu", "150%", "--", "/bin/sh", "-c", many];
    let runtime = world.ok(&[["runtime", "add", "greedy"].as_slice(), &words].concat());
    assert_eq!(
        runtime["limits"],
        json!({"memory": 2_147_483_648_u64, "processes": 12, "cpu": 150}),
        "{runtime}"
    );
    for wrong in
        [["--max-memory", "2GB"], ["--max-processes", "0"], ["--max-cpu", "much"], ["--max-memory", "1K"]]
    {
        let command = [["runtime", "add", "wrong"].as_slice(), &wrong, &["--", "true"]].concat();
        assert_eq!(world.cli(&command).code, 2, "{wrong:?}");
    }
    let task = world.ok(&["task", "add", "--project", "default", "--runtime", "greedy", "--approve", "x"]);
    let (ended, _) = world.wait(&id(&task));
    assert_eq!(ended["state"], "failed", "{ended}");
    let session = world.ok(&["session", "show", task["session"].as_str().expect("a session")]);
    let limits = session["containment"]["limits"].as_array().expect("limits").clone();
    assert_eq!(limits.len(), 3, "{session}");
    let held = |kind: &str| {
        limits.iter().find(|limit| limit["kind"] == kind).expect("a limit")["enforced_by"].clone()
    };
    assert_ne!(held("processes"), json!(null), "somebody counts processes in any case");
    eprintln!("memory is held by {}, processor time by {}", held("memory"), held("cpu"));
    let events = world.events(&id(&task));
    let reached = events.iter().find(|event| event["type"] == "container.limit_reached");
    let reached = reached.unwrap_or_else(|| panic!("the limit was not reached in {events:?}"));
    assert_eq!(reached["data"]["kind"], "processes");
    assert_eq!(reached["data"]["enforced_by"], held("processes"));
    until("nothing of it lives", || world.processes("sleep 600").is_empty().then_some(()));
}
