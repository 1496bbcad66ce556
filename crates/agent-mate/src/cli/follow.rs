//! Following a task until it ends, across restarts of the coordinator.

use super::{
    Context,
    client::Client,
    exit::{Exit, Failure},
    show::text_at,
};
use mate_guard::text;
use serde_json::Value;
use std::time::Duration;

/// How often the task is looked at when nothing is heard.
const LOOK: Duration = Duration::from_secs(5);
/// How long the coordinator may be away when no `--timeout` says otherwise.
const AWAY: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(500);

/// Who wants to know.
pub(crate) trait Watcher {
    /// An event; each once, in its log's order.
    fn event(&mut self, event: &Value) -> Result<(), Failure>;
    /// The task as it stands.
    fn task(&mut self, task: &Value);
    /// Something to tell a person.
    fn note(&mut self, note: &str);
}

/// Follows until the task has ended and all of its events were told; the task, and how it ended.
///
/// # Errors
/// `--timeout` is over; the coordinator stays away; the task does not exist.
pub(crate) async fn follow(
    id: &str,
    after: Option<String>,
    client: &Client,
    context: &Context,
    watcher: &mut (dyn Watcher + Send),
) -> Result<(Value, Exit), Failure> {
    let mut following = Following { id, cursor: after, client, watcher, away: Duration::ZERO };
    let Some(limit) = context.timeout else { return following.run(AWAY).await };
    match tokio::time::timeout(limit, following.run(Duration::MAX)).await {
        Ok(done) => done,
        Err(_) => {
            let next = context.screen.step(&format!("agent-mate task watch {id}"));
            let how = how_it_stands(id, client).await;
            let detail = format!("{how} after {} s of waiting: {next}", limit.as_secs());
            Err(Failure::new(Exit::TimedOut, "timeout", detail))
        }
    }
}

/// What a task is at when somebody has waited long enough.
async fn how_it_stands(id: &str, client: &Client) -> String {
    let task = match tokio::time::timeout(LOOK, client.get(&["tasks", id], &[])).await {
        Ok(Ok(task)) => task,
        Ok(Err(_)) | Err(_) => Value::Null,
    };
    let how = match text_at(&task, "state") {
        "stop_requested" => "the task is still being stopped",
        "proposed" => "the task still waits for somebody's approval",
        _ => "the task goes on",
    };
    match text_at(&task, "set_aside") {
        "" => how.to_owned(),
        why => format!("{how}, and its session is set aside ({})", text::line(why, 300)),
    }
}

struct Following<'a> {
    id: &'a str,
    cursor: Option<String>,
    client: &'a Client,
    watcher: &'a mut (dyn Watcher + Send),
    away: Duration,
}

impl Following<'_> {
    async fn run(&mut self, patience: Duration) -> Result<(Value, Exit), Failure> {
        loop {
            match self.until_interrupted().await {
                Ok(Some(end)) => return Ok(end),
                Ok(None) => tokio::time::sleep(PAUSE / 5).await,
                Err(failure) if failure.exit == Exit::Unreachable && self.away < patience => {
                    if self.away == Duration::ZERO {
                        self.watcher.note(
                            "The coordinator is away; the session goes on without it. Trying again ...",
                        );
                    }
                    self.away += PAUSE;
                    tokio::time::sleep(PAUSE).await;
                }
                Err(failure) => return Err(failure),
            }
        }
    }

    /// One stream, until it ends or the task does.
    async fn until_interrupted(&mut self) -> Result<Option<(Value, Exit)>, Failure> {
        if let Some(end) = self.look().await? {
            return Ok(Some(end));
        }
        let mut events = self.client.events(&["tasks", self.id, "events"], self.cursor.as_deref()).await?;
        loop {
            let Ok(frames) = tokio::time::timeout(LOOK, events.next()).await else {
                if let Some(end) = self.look().await? {
                    return Ok(Some(end));
                }
                continue;
            };
            let Some(frames) = frames? else { return Ok(None) };
            let mut moved = false;
            for frame in frames {
                if frame.event == "reset" {
                    self.watcher.note("The place in the stream is gone; starting from the beginning.");
                    self.cursor = None;
                    return Ok(None);
                }
                if frame.event == "closed" || frame.event == "problem" {
                    return Err(Failure::of_told(frame.data.as_bytes()));
                }
                if !frame.event.is_empty() {
                    // News of the stream itself: the service goes down, and the stream ends after it.
                    continue;
                }
                let event: Value = serde_json::from_str(&frame.data)
                    .map_err(|error| Failure::internal(format!("an event is not JSON: {error}")))?;
                moved |= text_at(&event, "type").starts_with("task.");
                self.tell(&event)?;
                self.cursor = frame.id.or_else(|| self.cursor.take());
            }
            if moved && let Some(end) = self.look().await? {
                return Ok(Some(end));
            }
        }
    }

    fn tell(&mut self, event: &Value) -> Result<(), Failure> {
        self.watcher.event(event)
    }

    /// Looks at the task; at its end, tells the events that are left.
    async fn look(&mut self) -> Result<Option<(Value, Exit)>, Failure> {
        let task = self.client.get(&["tasks", self.id], &[]).await?;
        self.away = Duration::ZERO;
        self.watcher.task(&task);
        let Some(exit) = Exit::of_task(text_at(&task, "state")) else { return Ok(None) };
        loop {
            let mut query = vec![("limit", "500".to_owned())];
            query.extend(self.cursor.iter().map(|cursor| ("after", cursor.clone())));
            let page = self.client.get(&["tasks", self.id, "events"], &query).await?;
            let items = page.get("items").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            for event in items {
                self.tell(event)?;
            }
            let last = items.last().map(|event| text_at(event, "id").to_owned()).filter(|id| !id.is_empty());
            match last {
                Some(last) => self.cursor = Some(last),
                None => return Ok(Some((task, exit))),
            }
        }
    }
}
