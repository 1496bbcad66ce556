//! The process zoo in whole sessions: at every moment of a stop, in each means of containment, whether the worker lives
//! or is killed. Nothing survives, and what is said is true.

use crate::harness::{Process, Store, World, id, program, until};
use rustix::process::Signal;
use serde_json::{Value, json};

const ZOO: &str = include_str!("../../../mate-runtime/tests/real/zoo.py");

/// What a runtime is asked to do when it is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    Starting,
    InACall,
    Streaming,
    JustEnded,
}

impl Moment {
    const ALL: [Self; 4] = [Self::Starting, Self::InACall, Self::Streaming, Self::JustEnded];
}

/// A home in which sessions are contained so, or `None` when the machine does not offer it.
fn world(means: &str) -> Option<World> {
    let mut world = World::empty(Store::Sqlite);
    world.set(&format!("[containment]\nmeans = \"{means}\"\n"));
    world.kill_serve();
    world.start_serve();
    let zoo = world.path("zoo");
    std::fs::create_dir(&zoo).expect("made");
    std::fs::write(zoo.join("open"), "").expect("written");
    std::fs::write(zoo.join("zoo.py"), ZOO).expect("written");
    let animals = format!("cd {0} && python3 {0}/zoo.py tame mark <&- & cd {0}; ", zoo.display());
    let scripted = format!("{animals} exec {} scripted-runtime", program());
    world.ok(&["runtime", "add", "scripted", "--", "/bin/sh", "-c", &scripted]);
    let silent = format!("{animals} exec sleep 1000");
    world.ok(&["runtime", "add", "silent", "--", "/bin/sh", "-c", &silent]);
    world.upstream("demo", &[]);
    world.grant("demo", "*");
    let doctor = world.cli(&["doctor"]).json();
    let contained = doctor["items"]
        .as_array()
        .or_else(|| doctor["checks"].as_array())
        .and_then(|checks| checks.iter().find(|check| check["name"] == "containment"))
        .unwrap_or_else(|| panic!("no such check in {doctor}"))
        .clone();
    if contained["ok"] == json!(false) {
        eprintln!("NOT TESTED: this machine does not offer {means}: {contained}");
        return None;
    }
    Some(world)
}

fn animals(world: &World) -> Vec<Process> {
    world.processes(world.path("zoo").to_str().expect("text"))
}

fn begin(world: &World, moment: Moment) -> Value {
    let runtime = if moment == Moment::Starting { "silent" } else { "scripted" };
    let steps = match moment {
        Moment::Starting => json!([]),
        Moment::InACall => json!([{"tool": "slow", "args": {"seconds": 40}}]),
        Moment::Streaming => json!([{"text": "word ".repeat(400), "chunks": 400, "gap_ms": 50}]),
        Moment::JustEnded => json!([{"text": "done"}]),
    };
    let text = crate::harness::stub(&steps);
    world.ok(&["task", "add", "--project", "default", "--runtime", runtime, "--approve", &text])
}

/// Waits until the task is where it is to be stopped, with the zoo about it.
fn reach(world: &World, moment: Moment, task: &str, begun: usize) {
    until("the zoo is open", || (animals(world).len() >= 12).then_some(()));
    match moment {
        Moment::Starting => {}
        Moment::InACall => world.until_begun("slow", begun),
        Moment::Streaming => until("it speaks", || {
            world.event_types(task).iter().any(|kind| kind == "agent.message").then_some(())
        }),
        Moment::JustEnded => assert_eq!(world.wait(task).1, 0),
    }
}

fn judge(world: &World, moment: Moment, means: &str, task: &str, ended: &Value) {
    match moment {
        Moment::Starting | Moment::Streaming => assert_eq!(ended["state"], "stopped", "{moment:?}: {ended}"),
        Moment::InACall => {
            assert_eq!(ended["state"], "unknown", "{ended}");
            assert_eq!((&ended["uncertain"], &ended["then"]), (&json!("operations"), &json!("stopped")));
        }
        Moment::JustEnded => assert_eq!(ended["state"], "completed", "{ended}"),
    }
    let events = world.events(task);
    if let Some(started) = events.iter().find(|event| event["type"] == "runtime.started") {
        assert_eq!(started["data"]["means"], means, "{started}");
    }
    let proved = events.iter().filter(|event| event["type"] == "container.empty");
    for event in proved {
        assert_eq!(event["data"]["proof"]["means"], means, "{event}");
    }
}

fn stopped_at_every_moment(means: &str, worker_killed: bool) {
    let Some(world) = world(means) else { return };
    for moment in Moment::ALL {
        let task = begin(&world, moment);
        let (session, task) = (task["session"].as_str().expect("a session").to_owned(), id(&task));
        reach(&world, moment, &task, 1);
        let shown = world.ok(&["session", "show", &session]);
        assert_eq!(shown["containment"]["means"], means, "{shown}");
        if worker_killed {
            if moment != Moment::JustEnded {
                world.ok(&["task", "stop", "--no-wait", &task]);
            }
            world.worker(&session).kill();
        } else if moment == Moment::JustEnded {
            assert_eq!(world.cli(&["task", "stop", &task]).code, 4, "it is over already");
            // A normal end: the worker is asked to leave and does it at its leisure.
            world.worker(&session).signal(Signal::KILL);
        } else {
            world.cli(&["task", "stop", &task, "--timeout", "55s"]);
        }
        let ended = world.wait(&task).0;
        if moment != Moment::JustEnded {
            assert_eq!(animals(&world).len(), 0, "{means} {moment:?}: {:?} live on", animals(&world));
        }
        judge(&world, moment, means, &task, &ended);
        if moment == Moment::JustEnded {
            until("nothing lives", || animals(&world).is_empty().then_some(()));
        }
    }
}

macro_rules! table {
    ($($name:ident: $means:literal, $killed:literal;)*) => {
        $(#[test] fn $name() { stopped_at_every_moment($means, $killed); })*
    };
}

table! {
    g06_zoo_and_moments_in_a_pid_namespace: "pid_namespace", false;
    g06_zoo_and_moments_in_a_cgroup: "cgroup", false;
    g06_zoo_and_moments_under_a_subreaper: "subreaper", false;
    g06_zoo_and_moments_in_a_pid_namespace_worker_killed: "pid_namespace", true;
    g06_zoo_and_moments_in_a_cgroup_worker_killed: "cgroup", true;
    g06_zoo_and_moments_under_a_subreaper_worker_killed: "subreaper", true;
}

#[test]
fn g06_zoo_is_gone_after_a_normal_end_in_each_means() {
    for means in ["pid_namespace", "cgroup", "subreaper"] {
        let Some(world) = world(means) else { continue };
        world.set_session("idle_seconds = 1");
        let task = begin(&world, Moment::JustEnded);
        let session = task["session"].as_str().expect("a session").to_owned();
        assert_eq!(world.wait(&id(&task)).1, 0);
        until("the session is given back", || {
            (world.ok(&["session", "show", &session])["state"] == "idle").then_some(())
        });
        assert_eq!(animals(&world).len(), 0, "{means}: {:?} live on", animals(&world));
        world.assert_sessions_are_gone();
    }
}

#[test]
fn g06_without_its_keeper_nothing_is_called_stopped_until_somebody_states_it() {
    let Some(world) = world("subreaper") else { return };
    let task = begin(&world, Moment::Streaming);
    let (session, task) = (task["session"].as_str().expect("a session").to_owned(), id(&task));
    reach(&world, Moment::Streaming, &task, 1);
    world.ok(&["task", "stop", "--no-wait", &task]);
    let record =
        std::fs::read_to_string(world.session_folder(&session).join("container.json")).expect("a record");
    let record: Value = serde_json::from_str(&record).expect("JSON");
    for part in ["keeper", "init"] {
        let pid = i32::try_from(record[part]["pid"].as_i64().expect("a number")).expect("small");
        Process { pid, command: String::new() }.kill();
    }
    world.worker(&session).kill();
    let said = until("it is said", || {
        let log = std::fs::read_to_string(world.path("serve.log")).unwrap_or_default();
        log.contains("nothing proves").then_some(log)
    });
    assert!(said.contains("confirm-ended"), "{said}");
    assert_ne!(world.task(&task)["state"], "stopped");
    animals(&world).iter().for_each(Process::kill);
    let state = ["session", "confirm-ended", &session, "--reason"];
    assert_eq!(world.cli(&[state.as_slice(), &[" "]].concat()).code, 2);
    world.ok(&[state.as_slice(), &["looked at the process table"]].concat());
    let ended = world.wait(&task).0;
    assert_eq!(ended["state"], "stopped", "{ended}");
    assert!(
        ended["reason"].to_string().contains("looked at")
            || world
                .events(&task)
                .iter()
                .any(|event| { event["data"].to_string().contains("looked at the process table") })
    );
    assert_eq!(world.cli(&[state.as_slice(), &["again"]].concat()).code, 4);
}
