//! A task's events: pages, and live streams that are resumed without a gap.

use crate::{
    house::{House, request},
    reading::{Frame, Stream},
};
use axum::body::Body;
use mate_model::{
    Epoch, TaskId, TurnId,
    event::{Draft, EventType},
    task::{End, TaskCommand},
};
use mate_store::{Change, JournalWriter};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A task that runs, and the journal that a worker would write.
pub(crate) struct Running {
    pub(crate) house: House,
    pub(crate) task: TaskId,
    turn: TurnId,
    writer: JournalWriter,
}

impl Running {
    pub(crate) async fn new() -> Self {
        let house = House::new().await;
        house.furnish().await;
        let wish = json!({ "instructions": "work", "approve": true });
        let made = house.post("/api/v1/projects/default/tasks", wish).await.expect(201);
        let task: TaskId = made["id"].as_str().expect("an id").parse().expect("a task's id");
        let session = made["session"].as_str().expect("an id").parse().expect("a session's id");
        let engine = &house.engine;
        let (turn, epoch) = (TurnId::new(engine.entropy.uuid()), Epoch(1));
        let (writer, _) =
            engine.stores.journal_writer(session, epoch, engine.clock.now()).await.expect("a journal");
        let running = Self { turn, writer, task, house };
        running.move_task(TaskCommand::Claim { turn, epoch }, EventType::TaskStarted).await;
        running
    }

    fn draft(&self, kind: EventType, data: Value) -> Draft {
        let at = self.house.engine.clock.now();
        Draft { kind, task: Some(self.task), turn: Some(self.turn), at, data }
    }

    pub(crate) async fn move_task(&self, command: TaskCommand, kind: EventType) {
        let engine = &self.house.engine;
        let task = engine.ledger.task(self.task).await.expect("read").expect("there");
        let transition = task.state.decide(command, engine.clock.now()).expect("a legal move");
        let draft = self.draft(kind, json!({}));
        engine.ledger.apply_task(&task, &transition, draft, &[], None).await.expect("moved");
    }

    pub(crate) async fn say(&self, number: usize) {
        self.say_text(&format!("number {number}\r\n\u{2028}")).await;
    }

    pub(crate) async fn say_text(&self, text: &str) {
        let draft = self.draft(EventType::AgentMessage, json!({ "text": text }));
        self.writer.write(vec![Change::Event(draft)]).await.expect("written");
    }

    /// Many messages in one commit.
    pub(crate) async fn say_all(&self, texts: impl Iterator<Item = String>) {
        let say = |text| Change::Event(self.draft(EventType::AgentMessage, json!({ "text": text })));
        self.writer.write(texts.map(say).collect()).await.expect("written");
    }

    pub(crate) async fn complete(&self) {
        let end = End::Completed { report: None };
        let command = TaskCommand::Conclude { epoch: Epoch(1), end, uncertain: None };
        self.move_task(command, EventType::TaskCompleted).await;
    }

    fn path(&self) -> String {
        format!("/api/v1/tasks/{}/events", self.task)
    }

    async fn stream(&self, query: &str, last: Option<&str>) -> Stream {
        let mut request = request(self.house.token(), "GET", &format!("{}{query}", self.path()));
        request = request.header("accept", "text/event-stream");
        if let Some(last) = last {
            request = request.header("last-event-id", last);
        }
        Stream::open(&self.house.router, request.body(Body::empty()).expect("a request")).await
    }

    async fn page(&self, after: Option<&str>) -> Value {
        let after = after.map_or_else(String::new, |after| format!("&after={after}"));
        self.house.get(&format!("{}?limit=7{after}", self.path())).await.expect(200)
    }
}

/// Each log's numbers; checks that each event names its log's previous one of this task.
pub(crate) fn numbers<'a>(events: impl IntoIterator<Item = &'a Value>) -> BTreeMap<String, Vec<i64>> {
    let mut logs: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    for event in events {
        let log = logs.entry(event["log"].as_str().expect("a log").to_owned()).or_default();
        assert_eq!(event["prev"].as_i64(), log.last().copied(), "a gap before {event}");
        log.push(event["seq"].as_i64().expect("a number"));
    }
    logs
}

pub(crate) fn data(frames: &[Frame]) -> Vec<Value> {
    frames.iter().filter(|frame| frame.event.is_none()).map(|frame| frame.data.clone()).collect()
}

#[tokio::test]
async fn g10_pages_hold_every_event_once() {
    let running = Running::new().await;
    for number in 0..20 {
        running.say(number).await;
    }
    running.complete().await;
    let (mut events, mut after) = (Vec::new(), None);
    loop {
        let page = running.page(after.as_deref()).await;
        let items = page["items"].as_array().expect("items").clone();
        assert!(items.len() <= 7);
        events.extend(items);
        after = page["next"].as_str().map(str::to_owned);
        if after.is_none() {
            break;
        }
    }
    let logs = numbers(&events);
    assert_eq!(
        (logs["journal"].len(), logs["ledger"].len()),
        (20, 5),
        "session, submitted, approved, started, completed"
    );
    let last = events.last().expect("events")["id"].as_str().expect("a cursor");
    assert_eq!(running.page(Some(last)).await["items"], json!([]), "an event's id resumes after it");
    assert!(events[0]["at"].as_str().expect("a time").ends_with('Z'));
}

/// F-63.
#[tokio::test]
async fn g10_a_stream_joins_history_and_news_and_ends() {
    let running = Running::new().await;
    for number in 0..150 {
        running.say(number).await;
    }
    let mut stream = running.stream("?until=end", None).await;
    let mut frames = stream.take(60).await;
    for number in 150..300 {
        running.say(number).await;
    }
    running.complete().await;
    frames.extend(stream.rest().await);
    let events = data(&frames);
    assert_eq!(numbers(&events)["journal"].len(), 300);
    let ids = frames.iter().filter(|frame| frame.event.is_none());
    assert!(ids.map(|frame| frame.id.as_deref()).all(|id| id.is_some()));
    let end = frames.last().expect("frames");
    assert_eq!((end.event.as_deref(), &end.data["state"]), (Some("end"), &json!("completed")));
    assert_eq!(events.last().expect("events")["type"], "task.completed");
}

/// F-71.
#[tokio::test]
async fn g10_streams_that_break_off_and_come_back_see_the_same_sequence() {
    let running = Running::new().await;
    let clients = async {
        let one = async |client: usize| {
            let (mut frames, mut last) = (Vec::<Frame>::new(), None::<String>);
            loop {
                let mut stream = running.stream("?until=end", last.as_deref()).await;
                let more = stream.take(13 + client).await;
                let over = more.iter().any(|frame| frame.event.as_deref() == Some("end"));
                frames.extend(more);
                last = frames.iter().rev().find_map(|frame| frame.id.clone()).or(last);
                if over {
                    return data(&frames);
                }
            }
        };
        futures_util::future::join_all((0..40).map(one)).await
    };
    let writing = async {
        for number in 0..200 {
            running.say(number).await;
        }
        running.complete().await;
    };
    let (seen, ()) = tokio::join!(clients, writing);
    for events in seen {
        let logs = numbers(&events);
        assert_eq!((logs["journal"].len(), logs["ledger"].len()), (200, 5));
    }
}

/// F-65.
#[tokio::test]
async fn g10_a_cursor_that_was_not_given_out_is_reset_and_said() {
    let running = Running::new().await;
    running.say(0).await;
    running.complete().await;
    let future = running.house.post("/api/v1/projects/default/tasks", json!({ "instructions": "x" })).await;
    future.expect(201);
    let mut whole = running.stream("?until=end", None).await;
    let whole = data(&whole.rest().await);
    for bad in ["abc", "-1", "0", "c1.ffff.ffff"] {
        let mut stream = running.stream("?until=end", Some(bad)).await;
        let frames = stream.rest().await;
        assert_eq!(frames[0].event.as_deref(), Some("reset"), "{bad}");
        assert!(frames[0].id.is_some());
        assert_eq!(data(&frames), whole, "{bad}");
    }
}

#[tokio::test]
async fn g10_a_cursor_from_the_future_is_never_met_with_silence() {
    let running = Running::new().await;
    for number in 0..9 {
        running.say(number).await;
    }
    running.complete().await;
    let mut stream = running.stream("?until=end", None).await;
    let frames = stream.rest().await;
    let ahead = frames.iter().rev().find_map(|frame| frame.id.clone()).expect("a cursor");
    // Another task of the same shape, whose journal is behind that cursor.
    let other = Running::new().await;
    let refused = other.house.get(&format!("{}?after={ahead}", other.path())).await;
    assert_eq!(refused.problem(400), "bad_parameter");
    let mut stream = other.stream("", Some(&ahead)).await;
    assert_eq!(stream.take(1).await[0].event.as_deref(), Some("reset"));
}

/// F-157.
#[tokio::test]
async fn g07_a_revoked_token_ends_its_streams() {
    let running = Running::new().await;
    let made = running.house.post("/api/v1/tokens", json!({})).await.expect(201);
    let token = made["token"].as_str().expect("a secret");
    let request = request(token, "GET", &running.path()).header("accept", "text/event-stream");
    let mut stream =
        Stream::open(&running.house.router, request.body(Body::empty()).expect("a request")).await;
    stream.take(4).await;
    let revoke = format!("/api/v1/tokens/{}/revoke", made["id"].as_str().expect("an id"));
    running.house.post(&revoke, json!({})).await.expect(200);
    running.say(1).await;
    let frames = stream.rest().await;
    assert_eq!(frames.len(), 1, "nothing after the revocation but why");
    assert_eq!((frames[0].event.as_deref(), &frames[0].data["status"]), (Some("closed"), &json!(401)));
}
