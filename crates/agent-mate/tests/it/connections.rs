//! Looking at connections: what they offer, what is wrong with them, and that a look leaves nothing behind.

mod importing;
mod rotating;
mod setting;

use crate::harness::{Store, World, items, run, until};
use std::fs;

/// A coordinator whose looks have little patience.
fn world() -> World {
    let world = World::empty(Store::Sqlite);
    world.set_session("start_seconds = 3");
    world
}

/// Links a line of shell.
fn shell(world: &World, name: &str, line: &str) {
    world.ok(&["connection", "add", name, "--", "/bin/sh", "-c", line]);
}

/// Nothing of any look lives or lies about.
fn assert_cleared(world: &World) {
    world.assert_sessions_are_gone();
    let checks = world.home().join("checks");
    let left = || fs::read_dir(&checks).map_or(0, Iterator::count);
    until("the end of the folders of looks", || (left() == 0).then_some(()));
}

#[test]
fn a_connection_that_is_well() {
    let world = world();
    world.upstream("demo", &[]);
    let found = world.ok(&["connection", "check", "demo"]);
    assert_eq!(found["state"], "well");
    assert!(found["problem"].is_null() && found["tools"].as_u64() > Some(2), "{found}");
    let tools = items(&world.ok(&["connection", "tools", "demo"]));
    let note = tools.iter().find(|tool| tool["name"] == "note").expect("the tool");
    assert_eq!(note["exposed"], "demo__note");
    assert!(world.effects().iter().all(|line| line["kind"] != "begin"), "a look calls no tool");
    assert_cleared(&world);
}

#[test]
fn tools_are_listed_in_pages_of_one_list() {
    let world = world();
    world.upstream("demo", &[]);
    let all = items(&world.ok(&["connection", "tools", "demo"]));
    let mut paged = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let mut words = vec!["connection", "tools", "demo", "--limit", "2"];
        if let Some(cursor) = &cursor {
            words.extend(["--cursor", cursor]);
        }
        let page = world.ok(&words);
        assert!(items(&page).len() <= 2);
        paged.extend(items(&page));
        let Some(next) = page["next"].as_str() else { break };
        cursor = Some(next.to_owned());
    }
    assert_eq!(paged, all);
    let stale = cursor.expect("pages");
    world.ok(&["connection", "tools", "demo", "--limit", "2"]);
    let refused = world.cli(&["connection", "tools", "demo", "--limit", "2", "--cursor", &stale]);
    assert_eq!((refused.code, refused.error_code().as_str()), (4, "listing_gone"));
}

#[test]
fn g09_what_is_wrong_is_told_without_the_secret() {
    let world = world();
    let canary = format!("canary-{}-{}", "71bd04c6", std::process::id());
    let mut add = world.command(&["--json", "connection", "add", "bad", "--secret-env", "KEY"]);
    add.args(["--", "/bin/sh", "-c", "echo \"cannot log in with $KEY\" >&2; exit 3"]).env("KEY", &canary);
    assert_eq!(run(add, None).code, 0);
    let found = world.ok_code(&["connection", "check", "bad"], 4);
    assert_eq!((&found["state"], &found["code"]), (&"ill".into(), &"program_ended".into()));
    let told = found.to_string();
    assert!(told.contains("cannot log in with") && !told.contains(&canary), "{told}");
    let shown = run(world.command(&["connection", "check", "bad"]), None);
    assert_eq!(shown.code, 4);
    assert!(shown.stdout.contains("next: ") && !shown.stdout.contains(&canary), "{shown:?}");
    let refused = world.cli(&["connection", "tools", "bad"]);
    assert_eq!((refused.code, refused.error_code().as_str()), (4, "connection_ill"));
    let log = fs::read_to_string(world.path("serve.log")).unwrap_or_default();
    assert!(!log.contains(&canary));
    assert_cleared(&world);
}

#[test]
fn a_program_that_is_not_there_is_told_as_that() {
    let world = world();
    for (name, program, next) in [
        ("absent", "no-such-program-of-agent-mate", "install no-such-program-of-agent-mate"),
        ("mistyped", "/usr/bin/no-such-program-of-agent-mate", "give its full path"),
    ] {
        world.ok(&["connection", "add", name, "--", program, "--flag"]);
        let found = world.ok_code(&["connection", "check", name], 4);
        assert_eq!(found["code"], "program_not_found", "{found}");
        let problem = &found["problem"];
        assert!(problem["next"].as_str().unwrap_or_default().contains(next), "{problem}");
        assert!(problem["detail"].as_str().unwrap_or_default().len() < 200, "{problem}");
    }
    assert_cleared(&world);
}

#[test]
fn a_look_is_bounded_and_takes_its_processes_along() {
    let world = world();
    shell(
        &world,
        "stuck",
        &format!("setsid sh -c 'cd {}; sleep 3600' & exec sleep 3601", world.user().display()),
    );
    let found = world.ok_code(&["connection", "check", "stuck"], 4);
    assert_eq!(found["code"], "no_answer");
    assert_cleared(&world);
}

#[test]
fn a_look_ends_with_the_coordinator() {
    let mut world = World::empty(Store::Sqlite);
    let began = world.path("began");
    shell(&world, "slow", &format!("touch {}; exec sleep 3600", began.display()));
    let mut asked = world.command(&["connection", "check", "slow"]).spawn().expect("started");
    until("the look to begin", || began.exists().then_some(()));
    world.kill_serve();
    assert_ne!(asked.wait().expect("ended").code(), Some(0));
    world.assert_sessions_are_gone();
    world.start_serve();
    assert_cleared(&world);
}

/// The program that is looked at sees as little as in a session.
#[test]
fn g09_a_look_is_confined_as_a_session_is() {
    let world = world();
    let (home, seen) = (world.home(), world.path("seen"));
    let line = format!(
        "ls -A {} > {}; cat {}/key >> {} 2>&1; exit 1",
        home.display(),
        seen.display(),
        home.display(),
        seen.display()
    );
    shell(&world, "nosy", &line);
    world.ok_code(&["connection", "check", "nosy"], 4);
    let seen = fs::read_to_string(seen).expect("written");
    for hidden in ["ledger", "token", "config.toml"] {
        assert!(!seen.contains(hidden), "{seen}");
    }
    assert_cleared(&world);
}

#[test]
fn g08_who_may_look() {
    let world = world();
    world.upstream("demo", &[]);
    world.ok(&["account", "add", "guest"]);
    let token = world.ok(&["token", "add", "--account", "guest"]);
    let asking = |words: &[&str]| {
        let mut command = world.command(&["--json"]);
        command.args(words).env("AGENT_MATE_TOKEN", token["token"].as_str().expect("a token"));
        run(command, None)
    };
    for verb in ["check", "tools"] {
        let [hidden, absent] = ["demo", "nothing"].map(|name| asking(&["connection", verb, name]));
        assert_eq!((hidden.code, hidden.error_code()), (3, absent.error_code()), "{hidden:?}");
    }
    assert!(world.processes("effect-server").is_empty(), "nothing was started");
    world.ok(&["project", "member", "add", "default", "guest", "--role", "owner"]);
    assert_eq!(asking(&["connection", "check", "demo"]).code, 0, "owners choose tools for their grants");
    assert_eq!(world.cli(&["connection", "check", "nothing"]).code, 3);
}
