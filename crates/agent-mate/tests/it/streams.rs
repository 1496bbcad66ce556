//! Live streams of a real coordinator, over both kinds of store.

use crate::harness::{Request, Store, World, id, on_both_stores, stub};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::{
    io::{BufRead as _, BufReader, Read as _},
    net::TcpStream,
    sync::mpsc,
    thread,
    time::Duration,
};

on_both_stores!(
    g10_a_hundred_clients_of_a_running_task_see_the_same,
    g10_a_projects_events_are_followed_across_a_restart,
    g07_a_browser_without_authority_hears_no_more,
);

const CLIENTS: usize = 100;

/// Whether a frame is the last that a client waits for.
type Last = fn(&Value) -> bool;

fn follow(world: &World, target: &str, headers: &[(&str, &str)]) -> TcpStream {
    let token = world.own_token();
    let with_token = !headers.iter().any(|(name, _)| *name == "Cookie");
    let all = [headers, &[("Accept", "text/event-stream")]].concat();
    let token = if with_token { token.as_str() } else { "" };
    world.connect(&Request { token, method: "GET", target, headers: &all, body: None })
}

/// The events that come, up to the last one that is waited for, or to the end of the stream.
fn heard(stream: TcpStream, last: Last) -> Vec<Value> {
    let mut events = Vec::new();
    for line in BufReader::new(stream).lines() {
        let line = line.expect("read");
        let Some(data) = line.strip_prefix("data: ") else { continue };
        let event: Value = serde_json::from_str(data).unwrap_or_else(|error| panic!("{error}: {data}"));
        if event["seq"].is_null() {
            continue;
        }
        let over = last(&event);
        events.push(event);
        if over {
            break;
        }
    }
    events
}

fn numbers(events: &[Value], log: &str) -> Vec<i64> {
    let of_log = events.iter().filter(|event| event["log"] == log);
    of_log.map(|event| event["seq"].as_i64().expect("a number")).collect()
}

/// F-71.
fn g10_a_hundred_clients_of_a_running_task_see_the_same(store: Store) {
    let world = World::new(store);
    let mut steps: Vec<_> = (0..25)
        .map(|n| json!({"tool": "demo__note", "args": {"text": format!("note {n}\r\u{2028}")}}))
        .collect();
    steps.push(json!({"text": "done"}));
    let task = id(&world.submit(&json!(steps)));
    let own = format!("/api/v1/tasks/{task}/events?until=end");
    let several = format!("/api/v1/stream?project=default&task={task}");
    let clients: Vec<_> = (0..CLIENTS)
        .map(|number| {
            let (target, last): (_, Last) = if number.is_multiple_of(2) {
                (&own, |_| false)
            } else {
                (&several, |event| event["type"] == "task.completed")
            };
            let stream = follow(&world, target, &[]);
            thread::spawn(move || heard(stream, last))
        })
        .collect();
    let clients: Vec<_> = clients.into_iter().map(|client| client.join().expect("a client")).collect();
    let recorded = world.events(&task);
    let (journal, ledger) = (numbers(&recorded, "journal"), numbers(&recorded, "ledger"));
    assert!(journal.len() > 75, "a busy task: {}", journal.len());
    let project =
        world.asked(&world.own_token(), "GET", "/api/v1/projects/default/events?limit=500", "", 200);
    let project = numbers(project["items"].as_array().expect("items"), "ledger");
    assert_eq!(project, (1..=i64::try_from(project.len()).expect("small")).collect::<Vec<_>>());
    for (number, events) in clients.iter().enumerate() {
        if number.is_multiple_of(2) {
            assert_eq!(numbers(events, "journal"), journal);
            assert_eq!(numbers(events, "ledger"), ledger);
        } else {
            // It went when it had heard of the end; what had come of each log by then is the log's beginning.
            let (heard, all) = (numbers(events, "journal"), numbers(events, "ledger"));
            assert!(journal.starts_with(&heard) && heard.len() > 75, "{heard:?}");
            assert!(project.starts_with(&all) && !all.is_empty(), "{all:?}");
        }
    }
}

fn g10_a_projects_events_are_followed_across_a_restart(store: Store) {
    let mut world = World::new(store);
    let mut following = world
        .command(&["--json", "project", "events", "default", "--follow", "--timeout", "50s"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("it starts");
    let lines = BufReader::new(following.stdout.take().expect("piped")).lines();
    let mut seen = lines.map(|line| {
        let event: Value = serde_json::from_str(&line.expect("read")).expect("JSON");
        (event["seq"].as_i64().expect("a number"), event["type"].as_str().expect("a type").to_owned())
    });
    let (mut last, mut task_events) = (0, 0);
    let mut until = |kind: &str| {
        for (seq, found) in seen.by_ref() {
            assert_eq!(seq, last + 1, "without a hole or a repeat");
            last = seq;
            task_events += usize::from(found.starts_with("task."));
            if found == kind {
                return;
            }
        }
        panic!("it ended before {kind}");
    };
    world.carry_out(&json!([{"text": "done"}]));
    until("task.completed");
    // Asked to end, it gives its streams their last word and is gone within its bound.
    let mut stream = BufReader::new(follow(&world, "/api/v1/stream?project=default&after=now", &[]));
    let mut rest = String::new();
    while !rest.contains("event: start") {
        assert!(stream.read_line(&mut rest).expect("read") > 0, "{rest}");
    }
    let serve = world.serve.take().expect("a coordinator");
    serve.signal(Signal::TERM);
    stream.read_to_string(&mut rest).expect("it ends");
    assert!(rest.contains("event: shutdown\ndata: {"), "{rest}");
    assert!(serve.ended().success());
    // The command line goes to the address that the new one has: the socket in the home.
    world.start_serve();
    world.ok(&["task", "add", "--project", "default", &stub(&json!([{"text": "x"}]))]);
    until("task.submitted");
    assert!(task_events >= 5);
    let _ = following.kill();
    let _ = following.wait();
}

fn g07_a_browser_without_authority_hears_no_more(store: Store) {
    let world = World::new(store);
    let link = world.ok(&["open", "--print"])["url"].as_str().expect("a link").to_owned();
    let path = format!("/{}", link.splitn(4, '/').nth(3).expect("a path"));
    let reply = world.send(&Request { token: "", method: "GET", target: &path, headers: &[], body: None });
    let cookie = reply.headers.iter().find_map(|line| line.strip_prefix("set-cookie: ")).expect("a cookie");
    let cookie = cookie.split(';').next().expect("a value").to_owned();
    let target = "/stream?project=default&after=now";
    let stranger = world.send(&Request { token: "", method: "GET", target, headers: &[], body: None });
    assert_eq!(stranger.status, 401, "a stream is no page to be sent to a form from");
    let stream = follow(&world, target, &[("Cookie", &cookie)]);
    let (heard, hears) = mpsc::channel();
    let reader = thread::spawn(move || {
        let mut all = String::new();
        let mut stream = BufReader::new(stream);
        let mut line = String::new();
        while stream.read_line(&mut line).expect("it ends by itself") > 0 {
            for word in ["event: start", "task.submitted"] {
                if line.contains(word) {
                    let _ = heard.send(word);
                }
            }
            all.push_str(&line);
            line.clear();
        }
        all
    });
    // What is now is told with the start, and the task comes after it.
    assert_eq!(hears.recv_timeout(Duration::from_secs(60)), Ok("event: start"));
    world.ok(&["task", "add", "--project", "default", "first"]);
    assert_eq!(hears.recv_timeout(Duration::from_secs(60)), Ok("task.submitted"));
    // The token behind it is revoked: the browser has no authority left, and hears that at once.
    let own = id(&world.ok(&["token", "list"])["items"][0]);
    let other = world.ok(&["token", "add"]);
    assert_ne!(own, id(&other));
    world.ok(&["token", "revoke", &own]);
    let all = reader.join().expect("a reader");
    assert!(all.contains("event: start") && all.contains("event: closed\ndata: {"), "{all}");
    assert!(all.contains("task.submitted"), "{all}");
}
