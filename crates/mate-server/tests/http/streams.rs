//! Streams of several logs, and one log heard by many.

use crate::{
    events::{Running, data, numbers},
    house::{House, request},
    reading::{Frame, Stream},
};
use axum::body::Body;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A stream by its path, as `token`, after where another one broke off.
async fn open(house: &House, token: &str, path: &str, last: Option<&str>) -> Stream {
    let mut request = request(token, "GET", path).header("accept", "text/event-stream");
    if let Some(last) = last {
        request = request.header("last-event-id", last);
    }
    Stream::open(&house.router, request.body(Body::empty()).expect("a request")).await
}

/// The numbers of each log, in the order in which they came.
fn logs(frames: &[Frame]) -> BTreeMap<String, Vec<i64>> {
    let mut logs: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    for event in data(frames) {
        let name = match event["log"].as_str().expect("a log") {
            "ledger" => format!("ledger {}", event["project"]),
            _ => format!("journal {}", event["task"]),
        };
        logs.entry(name).or_default().push(event["seq"].as_i64().expect("a number"));
    }
    logs
}

fn last_id(frames: &[Frame]) -> Option<String> {
    frames.iter().rev().find_map(|frame| frame.id.clone())
}

async fn with_messages(count: usize) -> Running {
    let running = Running::new().await;
    for number in 0..count {
        running.say(number).await;
    }
    running
}

fn path(running: &Running) -> String {
    format!("/api/v1/stream?project=default&task={}", running.task)
}

#[tokio::test]
async fn g10_a_stream_of_several_logs_is_resumed_at_each_of_its_positions() {
    let running = with_messages(30).await;
    let (house, path) = (&running.house, path(&running));
    let mut whole = open(house, house.token(), &path, None).await;
    let start = whole.take(1).await.remove(0);
    assert_eq!(start.event.as_deref(), Some("start"));
    assert_eq!(start.data["logs"].as_array().map(Vec::len), Some(2));
    let ledger = house.engine.ledger.head(project(house).await).await.expect("a head").seq;
    let count = usize::try_from(ledger).expect("small") + 30;
    let frames = whole.take(count).await;
    let seen = logs(&frames);
    assert_eq!(seen.len(), 2);
    for (name, numbers) in &seen {
        assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "{name}");
    }
    let ledger_seen = seen.iter().find(|(name, _)| name.starts_with("ledger")).expect("the ledger").1;
    assert_eq!(*ledger_seen, (1..=ledger).collect::<Vec<_>>(), "all of the project's, without a gap");
    for (place, frame) in frames.iter().enumerate() {
        let id = frame.id.as_deref().expect("an id");
        assert_eq!(frame.data["id"], id);
        let mut rest = open(house, house.token(), &path, Some(id)).await;
        rest.take(1).await;
        let rest = rest.take(count - place - 1).await;
        assert_eq!(logs(&rest), logs(&frames[place + 1..]), "after {place}");
    }
    // News follow, and the journal's cursor alone is good where only the journal is followed.
    running.say(30).await;
    let news = whole.take(1).await;
    assert_eq!(news[0].data["log"], "journal");
    let alone = format!(
        "/api/v1/stream?task={}&after={}",
        running.task,
        frames[count - 2].id.as_deref().expect("an id")
    );
    let mut alone = open(house, house.token(), &alone, None).await;
    assert_eq!(alone.take(1).await[0].event.as_deref(), Some("start"));
    assert_eq!(data(&alone.take(1).await)[0]["log"], "journal");
}

async fn project(house: &House) -> mate_model::ProjectId {
    let shown = house.get("/api/v1/projects/default").await.expect(200);
    shown["id"].as_str().expect("an id").parse().expect("a project's id")
}

#[tokio::test]
async fn g10_from_now_on_nothing_that_comes_is_missed() {
    let running = with_messages(10).await;
    let house = &running.house;
    let mut stream = open(house, house.token(), &format!("{}&after=now", path(&running)), None).await;
    let start = stream.take(1).await.remove(0);
    running.say(10).await;
    assert_eq!(data(&stream.take(1).await)[0]["data"]["text"], "number 10\r\n\u{2028}");
    // Who was cut off before anything came goes on from where it began.
    let mut again = open(house, house.token(), &path(&running), start.id.as_deref()).await;
    assert_eq!(again.take(1).await[0].event.as_deref(), Some("start"));
    assert_eq!(data(&again.take(1).await)[0]["data"]["text"], "number 10\r\n\u{2028}");
}

/// F-65.
#[tokio::test]
async fn g10_a_cursor_of_other_logs_is_reset_and_said() {
    let running = with_messages(3).await;
    let house = &running.house;
    let mut first = open(house, house.token(), &path(&running), None).await;
    let good = last_id(&first.take(4).await).expect("a cursor");
    let task_events = format!("/api/v1/tasks/{}/events", running.task);
    let of_the_task =
        house.get(&task_events).await.expect(200)["items"][0]["id"].as_str().expect("id").to_owned();
    let other = with_messages(0).await;
    for (house, path, cursor) in [
        (house, path(&running), "abc".to_owned()),
        (house, path(&running), "-1".to_owned()),
        (house, path(&running), of_the_task),
        // The same names in another home: none of its logs is named.
        (&other.house, path(&other), good.clone()),
    ] {
        let mut stream = open(house, house.token(), &path, Some(&cursor)).await;
        let frames = stream.take(2).await;
        assert_eq!(frames[0].event.as_deref(), Some("reset"), "{cursor}");
        assert_eq!(data(&frames)[0]["seq"], 1, "from the beginning");
        let mut again = open(house, house.token(), &path, frames[0].id.as_deref()).await;
        assert_eq!(again.take(1).await[0].event.as_deref(), Some("start"), "its own cursor is good");
        let refused = house.get(&format!("/api/v1/projects/default/events?after={cursor}")).await;
        assert_eq!(refused.problem(400), "bad_parameter");
    }
}

#[tokio::test]
async fn g10_a_cursor_from_the_future_is_reset() {
    let running = with_messages(5).await;
    let house = &running.house;
    let id = running.task.to_string();
    let mut stream = open(house, house.token(), &format!("/api/v1/stream?task={id}"), None).await;
    let ahead = last_id(&stream.take(6).await).expect("a cursor");
    drop(stream);
    // As after a restore of an older copy: the same task, with less of a journal.
    let folder = house.engine.home.session(session(house, &id).await);
    std::fs::remove_file(folder.journal()).expect("removed");
    let stores = mate_engine::Stores::embedded(house.engine.home.clone());
    stores.create_journal(session(house, &id).await).await.expect("an empty one");
    let engine = crate::house::open(house.engine.home.path()).await;
    let router = crate::house::interface(&engine);
    let request = request(house.token(), "GET", &format!("/api/v1/stream?task={id}"))
        .header("last-event-id", &ahead)
        .body(Body::empty());
    let mut stream = Stream::open(&router, request.expect("a request")).await;
    assert_eq!(stream.take(1).await[0].event.as_deref(), Some("reset"));
}

async fn session(house: &House, task: &str) -> mate_model::SessionId {
    let shown = house.get(&format!("/api/v1/tasks/{task}")).await.expect(200);
    shown["session"].as_str().expect("an id").parse().expect("a session's id")
}

#[tokio::test]
async fn a_stream_says_which_field_is_wrong() {
    let running = with_messages(0).await;
    let house = &running.house;
    let many = (0..21).map(|n| format!("&task=tsk_{n:032x}")).collect::<String>();
    for (query, field) in [("", "project"), (many.as_str(), "task"), ("&nonsense=1", "nonsense")] {
        let answer = house.get(&format!("/api/v1/stream?{}", query.trim_start_matches('&'))).await;
        assert_eq!(answer.problem(400), "bad_parameter");
        assert_eq!(answer.body["errors"][0]["field"], field);
    }
}

/// G8: what is somebody else's is the same 404 as what does not exist.
#[tokio::test]
async fn g08_streams_of_others_do_not_exist() {
    let running = with_messages(1).await;
    let house = &running.house;
    let stranger = house.stranger("stranger").await;
    let own = format!("/api/v1/stream?task={}", running.task);
    let nothing = "/api/v1/stream?task=tsk_00000000000000000000000000000000";
    let asked = [
        own.as_str(),
        nothing,
        "/api/v1/stream?project=default",
        "/api/v1/stream?project=nowhere",
        "/api/v1/projects/default/events",
        "/api/v1/projects/nowhere/events",
        "/api/v1/stream?task=x",
    ];
    let mut bodies = Vec::new();
    for path in asked {
        let answer = house.call_as(&stranger, "GET", path, None).await;
        answer.problem(404);
        bodies.push(answer.body);
    }
    assert!(bodies.windows(2).all(|pair| pair[0] == pair[1]), "{bodies:#?}");
    // One foreign log among one's own is refused as a whole.
    let mixed = format!("{}&project=nowhere", path(&running));
    house.get(&mixed).await.problem(404);
}

#[tokio::test]
async fn g10_pages_of_a_ledger_hold_every_event_once() {
    let running = with_messages(0).await;
    let house = &running.house;
    for _ in 0..7 {
        house.post("/api/v1/projects/default/tasks", json!({ "instructions": "x" })).await.expect(201);
    }
    let (mut seen, mut after) = (Vec::new(), String::new());
    loop {
        let page = house.get(&format!("/api/v1/projects/default/events?limit=3{after}")).await.expect(200);
        for event in page["items"].as_array().expect("items") {
            seen.push(event["seq"].as_i64().expect("a number"));
        }
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => break,
        }
    }
    let head = house.engine.ledger.head(project(house).await).await.expect("a head").seq;
    assert_eq!(seen, (1..=head).collect::<Vec<_>>());
    // A page's cursor is good for the stream as well.
    let mut stream =
        open(house, house.token(), &format!("/api/v1/projects/default/events?{}", &after[1..]), None).await;
    let frames = stream.take(2).await;
    assert_eq!(frames[0].event.as_deref(), Some("start"));
    assert!(frames[1].data["project"].is_string());
}

/// F-71: a hundred at once, who come at different times, on both kinds of stream.
#[tokio::test]
async fn g10_a_hundred_clients_see_the_same_sequence_of_each_log() {
    const EVENTS: usize = 300;
    let running = with_messages(40).await;
    let house = &running.house;
    let clients = async {
        let one = async |client: usize| {
            let mut frames: Vec<Frame> = Vec::new();
            // Every third breaks off now and then, at a place of its own.
            let breaks = if client.is_multiple_of(3) { 17 + client } else { usize::MAX >> 1 };
            loop {
                let last = last_id(&frames);
                let mut stream = open(house, house.token(), &path(&running), last.as_deref()).await;
                for _ in 0..breaks {
                    frames.extend(stream.take(1).await);
                    let done = frames.last().is_some_and(|frame| frame.data["type"] == "task.completed");
                    let journal = frames.iter().filter(|frame| frame.data["log"] == "journal").count();
                    if done || journal == EVENTS {
                        return frames;
                    }
                }
            }
        };
        futures_util::future::join_all((0..100).map(one)).await
    };
    let writing = async {
        for number in 40..EVENTS {
            running.say(number).await;
        }
    };
    let (seen, ()) = tokio::join!(clients, writing);
    for frames in seen {
        let seen = logs(&frames);
        let journal = seen.iter().find(|(name, _)| name.starts_with("journal")).expect("a journal").1;
        assert_eq!(*journal, (1..=i64::try_from(EVENTS).expect("small")).collect::<Vec<_>>());
        for (name, numbers) in seen {
            assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "{name}: {numbers:?}");
        }
    }
}

/// F-157: a token, a membership and an account, each while streams are open that say nothing.
#[tokio::test]
async fn g07_what_is_revoked_ends_open_streams_before_anything_else_is_told() {
    let running = with_messages(2).await;
    let house = &running.house;
    for how in ["token", "member", "account"] {
        let name = format!("reader-{how}");
        let token = house.stranger(&name).await;
        let member = json!({ "account": name, "role": "viewer" });
        house.post("/api/v1/projects/default/members", member).await.expect(201);
        let mut streams = Vec::new();
        let task = format!("/api/v1/tasks/{}/events", running.task);
        let now = format!("{}&after=now", path(&running));
        for path in [task.as_str(), &now, "/api/v1/projects/default/events?after=now"] {
            let mut stream = open(house, &token, path, None).await;
            stream.take(1).await;
            streams.push(stream);
        }
        let ids = house.get(&format!("/api/v1/tokens?account={name}")).await.expect(200);
        let (path, body) = match how {
            "token" => (
                format!("/api/v1/tokens/{}/revoke", ids["items"][0]["id"].as_str().expect("an id")),
                json!({}),
            ),
            "account" => (format!("/api/v1/accounts/{name}/disable"), json!({})),
            _ => (String::new(), Value::Null),
        };
        if how == "member" {
            let path = format!("/api/v1/projects/default/members/{name}");
            house.call_as(house.token(), "DELETE", &path, None).await.expect(200);
        } else {
            house.post(&path, body).await.expect(200);
        }
        running.say_text(&format!("after the {how}")).await;
        for stream in &mut streams {
            let frames = stream.rest().await;
            let last = frames.last().expect("a last word");
            assert_eq!(last.event.as_deref(), Some("closed"), "{how}");
            assert!(!format!("{frames:?}").contains(&format!("after the {how}")), "{how}");
        }
    }
}

/// F-113, and events that are longer than a chunk.
#[tokio::test]
async fn f113_huge_events_and_odd_line_ends_stay_in_one_frame() {
    let running = with_messages(0).await;
    let house = &running.house;
    let texts = [
        "a\r\nb\rc\u{2028}\u{2029}\u{85}\0",
        &"x\r".repeat(200_000),
        "\u{1F469}\u{200D}\u{1F4BB} :\n\ndata: {}\n\nid: 1",
    ];
    for text in texts {
        running.say_text(text).await;
    }
    let mut stream = open(house, house.token(), &format!("/api/v1/stream?task={}", running.task), None).await;
    let frames = stream.take(1 + texts.len()).await;
    for (event, text) in data(&frames).iter().zip(texts) {
        assert_eq!(event["data"]["text"], *text);
    }
    assert_eq!(numbers(&data(&frames))["journal"].len(), texts.len());
}
