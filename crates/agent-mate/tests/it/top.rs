//! `agent-mate top`: over a pseudo terminal as a person has it, and without one.

use crate::harness::{Store, World, id, items, on_both_stores, run, stub, until, while_true};
use serde_json::{Value, json};
use std::time::Duration;

on_both_stores!(g03_leave_is_given_from_a_terminal_after_a_question_alone);

const ESCAPE: &str = "\u{1b}";

/// A world whose tools of `demo` ask each time.
fn asking(store: Store) -> World {
    let world = World::empty(store);
    world.scripted("scripted", &[]);
    world.upstream("demo", &[]);
    let words = ["grant", "add", "--project", "default", "--connection", "demo", "--tools", "*"];
    world.ok(&[words.as_slice(), &["--approve", "always"]].concat());
    world
}

fn note(text: &str) -> Value {
    json!({"tool": "demo__note", "args": {"text": text}})
}

fn open_approvals(world: &World) -> Vec<Value> {
    items(&world.ok(&["approval", "list"]))
}

fn g03_leave_is_given_from_a_terminal_after_a_question_alone(store: Store) {
    let world = asking(store);
    let task = id(&world.submit(&json!([note("a"), {"text": "done"}])));
    let mut top = world.on_terminal(&["top"], 24, 110);
    let screen = top.until_shows("1 need you");
    assert!(screen.contains("1 need you · 1 running · 0 waiting"), "{screen}");
    assert!(screen.contains("waiting approval"), "{screen}");
    let place = |word: &str| screen.find(word).unwrap_or_else(|| panic!("no {word}: {screen}"));
    assert!(place("NEEDS YOU") < place("RUNNING"), "{screen}");
    // What is pasted presses nothing, and what was typed ahead answers nothing.
    top.press("g\u{1b}[200~ay\u{1b}[201~ay");
    let asked = top.until_asked("Allow demo/note");
    assert!(asked.contains("for this one call? y/n"), "{asked}");
    top.press("n");
    top.until_shows("Nothing was done.");
    while_true("nothing is sent without a yes", Duration::from_millis(500), || {
        open_approvals(&world).len() == 1 && world.count("begin", "note") == 0
    });
    top.press("a");
    top.until_asked("y/n");
    top.press("y");
    let (ended, code) = world.wait(&task);
    assert_eq!((code, world.count("begin", "note")), (0, 1), "{ended}");
    top.until_shows("0 need you · 0 running");
    top.press("q");
    assert_eq!(top.ended(), 0);
}

#[test]
fn a_call_is_denied_with_a_reason_that_the_agent_is_told() {
    let world = asking(Store::Sqlite);
    let task = id(&world.submit(&json!([note("a"), {"text": "done"}])));
    let mut top = world.on_terminal(&["top", "--project", "default"], 24, 110);
    top.until_shows("1 need you");
    // Opened, it shows the exact request, and is answered there as well.
    top.press("g\r");
    let open = top.until_shows("digest");
    assert!(open.contains("text, 1 character"), "{open}");
    top.press("d");
    top.until_asked("A reason");
    top.press("not todaz\u{7f}y\r");
    top.until_shows("Refused; the agent is told.");
    let (ended, code) = world.wait(&task);
    assert_eq!((code, world.count("begin", "note")), (0, 0), "{ended}");
    let told = crate::harness::json_lines(&world.path("told.log"));
    assert!(told.iter().any(|line| line.to_string().contains("not today")), "{told:?}");
    top.press("q");
    top.press("\u{3}");
    assert_eq!(top.ended(), 0);
}

#[test]
fn a_running_task_is_seen_with_its_calls_and_asked_to_stop() {
    let world = World::new(Store::Sqlite);
    let steps = json!([note("first"), {"hang": true}]);
    let task = id(&world.submit(&steps));
    let mut top = world.on_terminal(&["top"], 24, 140);
    let screen = top.until("a last call", |screen| screen.contains("demo/note succeeded"));
    assert!(screen.contains("working") && screen.contains("scripted"), "{screen}");
    top.press("\r");
    let open = top.until_shows(&format!("agent-mate --home {} task watch {task}", world.home().display()));
    assert!(open.contains("ITS LAST CALLS"), "{open}");
    // A smaller terminal is filled and not overrun.
    top.resize(9, 44);
    // Rows and columns are told one after the other.
    top.until("the small screen", |screen| {
        screen.lines().count() <= 9 && screen.lines().all(|line| line.chars().count() <= 44)
    });
    top.press(ESCAPE);
    top.until_shows("RUNNING");
    top.resize(24, 140);
    top.press("s");
    top.until_asked(&format!("Ask {task} to stop? y/n"));
    assert_eq!(world.ok(&["task", "show", &task])["state"], "running");
    top.press("y");
    assert_eq!(world.wait(&task).0["state"], "stopped");
    top.until_shows("0 running");
    top.press("q");
    assert_eq!(top.ended(), 0);
}

#[test]
fn g01_it_shows_what_it_saw_while_the_coordinator_is_away() {
    let mut world = World::new(Store::Sqlite);
    let task = id(&world.submit(&json!([{"hang": true}])));
    let mut top = world.on_terminal(&["top"], 24, 110);
    top.until_shows("working");
    world.kill_serve();
    let away = top.until_shows("as it was; no coordinator answers");
    assert!(away.contains("working"), "{away}");
    world.start_serve();
    top.until("everything again", |screen| {
        screen.starts_with("agent-mate top") && screen.contains("working")
    });
    top.press("q");
    assert_eq!(top.ended(), 0);
    world.ok(&["task", "kill", &task]);
    world.kill_serve();
    let output = world.cli(&["top"]);
    assert_eq!((output.code, output.error_code().as_str()), (9, "unreachable"));
}

#[test]
fn f115_what_others_wrote_never_reaches_the_terminal_raw() {
    let world = World::new(Store::Sqlite);
    let hostile = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}1;1H\u{202e}evil\r\nNEEDS YOU\n  forged";
    let task = id(&world.ok(&["task", "add", "--project", "default", hostile]));
    let mut top = world.on_terminal(&["top"], 30, 160);
    let list = top.until_shows("proposed");
    assert!(list.contains("\\u{1b}]0;owned\\u{7}"), "{list}");
    assert_eq!(list.lines().filter(|line| line.contains("forged")).count(), 1, "{list}");
    top.press("\r");
    top.until_shows("submitted");
    top.press("a");
    top.until_shows("Approve the task");
    top.press("n");
    top.until_shows("Nothing was done.");
    let raw = top.raw();
    for odd in ["\u{1b}]", "\u{7}", "\u{9b}", "\u{202e}"] {
        assert!(!raw.contains(odd), "{odd:?} is in {raw:?}");
    }
    assert_eq!(world.ok(&["task", "show", &task])["state"], "proposed");
    top.press("\u{3}");
    assert_eq!(top.ended(), 0);
}

#[test]
fn without_a_terminal_it_is_said_once() {
    let world = asking(Store::Sqlite);
    let calm = run(world.command(&["top"]), None);
    assert_eq!(
        (calm.code, calm.stdout.as_str()),
        (0, "Nothing runs, nothing waits, and nothing needs you.\n")
    );
    let session = world.submit(&json!([note("a"), {"text": "done"}]))["session"].clone();
    let session = session.as_str().expect("a session");
    let waiting = id(&world.submit_in(session, &json!([{"text": "later"}])));
    let proposed = id(&world.ok(&["task", "add", "--project", "default", &stub(&json!([{"text": "x"}]))]));
    until("a question", || (open_approvals(&world).len() == 1).then_some(()));
    let shown = run(world.command(&["top", "--once"]), None);
    assert_eq!(shown.code, 0, "{shown:?}");
    assert!(!shown.stdout.contains('\u{1b}'), "{shown:?}");
    for wanted in
        ["NEEDS YOU", "approval", "proposed", "RUNNING", "waiting approval", "WAITING", &waiting, &proposed]
    {
        assert!(shown.stdout.contains(wanted), "{wanted}: {}", shown.stdout);
    }
    let all = world.ok(&["top"]);
    let whys: Vec<_> = all["needs_you"].as_array().expect("a list").iter().map(|one| &one["why"]).collect();
    assert_eq!(whys, [&json!("approval"), &json!("proposed")]);
    assert_eq!(all["needs_you"][0]["approval"]["tool"], "note");
    assert_eq!(
        (&all["running"][0]["in_flight"], &all["waiting"][0]["task"]["id"]),
        (&json!(0), &json!(waiting))
    );
    assert_eq!(all["running"][0]["last_operation"]["state"], "awaiting_approval");
    let other = world.cli(&["top", "--project", "nobody"]);
    assert_eq!(other.code, 3, "{other:?}");
}
