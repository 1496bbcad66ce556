//! The three pipes of a runtime, each with a task of its own.
//!
//! What the runtime says is taken in the order in which it says it, by one task: a slow owner slows the
//! runtime down instead of filling memory.

use super::{
    Diagnostic, Event, Lost,
    coalesce::Item,
    desk::{self, Desk},
    parse,
    peer::{Calls, Outgoing},
};
use crate::container::{Exit, process::wait_for_exit};
use mate_rpc::{Id, Line, Lines, Message, Notification, Request, repair};
use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWriteExt as _},
    net::unix::pipe,
    sync::{Notify, Semaphore, mpsc, watch},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

/// How long a dead process's output is still listened to: its children may hold the pipe for ever.
const AFTERLIFE: Duration = Duration::from_millis(500);
/// How long a runtime may take to read what was said before the connection was given up.
const LAST_WORDS: Duration = Duration::from_secs(1);
const STDERR_LINES: usize = 50;
/// In characters: not cut to what is shown, since secrets are taken out later.
const STDERR_LINE: usize = 64 * 1024;
/// How much of what is no message is handed on: more than is shown, since secrets are taken out of it afterwards.
const SAMPLE: usize = 64 * 1024;

/// What a task reads from each complaint of the runtime.
pub(super) type OnStderr = Arc<dyn Fn(&str) + Send + Sync>;

/// What the tasks of one connection share.
pub(super) struct Link {
    /// Why the runtime is gone; the first reason stays.
    pub(super) lost: watch::Sender<Option<Lost>>,
    pub(super) exited: watch::Receiver<Option<Exit>>,
    pub(super) close_input: Notify,
    /// Places for the runtime's unanswered requests; closed when no answer can be written any more.
    places: Arc<Semaphore>,
    /// True when there is nothing more to read from its standard error.
    complained: watch::Sender<bool>,
    complaints: Mutex<VecDeque<String>>,
}

impl Link {
    pub(super) fn new(exited: watch::Receiver<Option<Exit>>) -> Self {
        Self {
            lost: watch::Sender::new(None),
            exited,
            close_input: Notify::new(),
            places: desk::places(),
            complained: watch::Sender::new(false),
            complaints: Mutex::default(),
        }
    }

    pub(super) fn lose(&self, why: Lost) {
        self.lost.send_if_modified(|lost| {
            let first = lost.is_none();
            if first {
                *lost = Some(why);
            }
            first
        });
    }

    /// The last lines of its standard error.
    pub(super) fn stderr(&self) -> Vec<String> {
        let complaints = self.complaints.lock().unwrap_or_else(PoisonError::into_inner);
        complaints.iter().cloned().collect()
    }

    fn complain(&self, line: &str) {
        let mut complaints = self.complaints.lock().unwrap_or_else(PoisonError::into_inner);
        if complaints.len() >= STDERR_LINES {
            complaints.pop_front();
        }
        complaints.push_back(parse::cut(line, STDERR_LINE));
    }

    /// Why there is nothing more to read.
    async fn end_of_output(&self) -> Lost {
        let mut exited = self.exited.clone();
        let exit = timeout(AFTERLIFE, wait_for_exit(&mut exited)).await;
        // Its last words say why; they may still be in the pipe.
        let mut complained = self.complained.subscribe();
        let _ = timeout(AFTERLIFE, complained.wait_for(|ended| *ended)).await;
        let stderr: Vec<String> = self.stderr().into_iter().rev().take(5).rev().collect();
        match exit {
            Ok(exit) => Lost::Exited { exit, stderr },
            Err(_) => Lost::Silent { stderr },
        }
    }
}

/// Reads the runtime's output to its end.
pub(super) struct Reader {
    pub(super) link: Arc<Link>,
    pub(super) items: mpsc::Sender<Item>,
    pub(super) desk: Desk,
    pub(super) calls: Arc<Calls>,
    pub(super) garbage: u64,
}

/// Nobody listens any more.
struct Deserted;

impl Reader {
    pub(super) async fn run(mut self, stdout: impl AsyncRead + Unpin, limit: usize) {
        let mut lines = Lines::giving_up(stdout, limit);
        let mut exited = self.link.exited.clone();
        let why = loop {
            let line = tokio::select! {
                biased;
                line = lines.next() => line,
                _ = wait_for_exit(&mut exited) => {
                    timeout(AFTERLIFE, lines.next()).await.unwrap_or(Ok(Line::End))
                }
            };
            match line {
                Ok(Line::Text(line) | Line::Unfinished(line)) => {
                    if self.take(&line).await.is_err() {
                        break Lost::Closed;
                    }
                }
                Ok(Line::TooLong { .. }) => break Lost::TooLong { limit },
                Ok(Line::End) | Err(_) => break self.link.end_of_output().await,
            }
        };
        self.link.lose(why);
        // Whoever waits for an answer is told only now, when it is known why there is none.
        self.calls.close();
    }

    async fn take(&mut self, line: &[u8]) -> Result<(), Deserted> {
        let text = repair(line);
        if text.trim().is_empty() {
            return Ok(());
        }
        match Message::read_leniently(text.as_bytes()) {
            Ok(Message::Notification(told)) => self.hear(told, &text).await,
            Ok(Message::Request(request)) => self.ask(request).await,
            Ok(Message::Response(response)) if response.id.is_some() => {
                self.calls.answered(response);
                Ok(())
            }
            // Without an id it is a complaint about something that was said, and is told as what else is odd.
            Ok(Message::Response(_)) | Err(_) => self.garbage(&text).await,
        }
    }

    async fn hear(&mut self, told: Notification, text: &str) -> Result<(), Deserted> {
        match told.method.as_str() {
            "session/update" => {
                let params = told.params.map_or(Ok(Value::Null), |params| serde_json::from_str(params.get()));
                match params {
                    Ok(params) => self.tell(Event::Activity(parse::activity(&params, text.len()))).await,
                    Err(_) => self.garbage(text).await,
                }
            }
            "$/cancel_request" => {
                if let Some(id) = told.params.as_deref().and_then(withdrawn) {
                    self.desk.withdraw(&id);
                }
                Ok(())
            }
            // The protocol's own remarks may all be ignored.
            own if own.starts_with("$/") => Ok(()),
            other => self.tell(Event::Activity(parse::other(other, text.len()))).await,
        }
    }

    async fn ask(&mut self, request: Request) -> Result<(), Deserted> {
        let places = Arc::clone(&self.link.places);
        let mut exited = self.link.exited.clone();
        let place = tokio::select! {
            place = places.acquire_owned() => place.ok(),
            _ = wait_for_exit(&mut exited) => None,
        };
        // Without a place nobody is there to be answered, and what was said besides is still worth reading.
        if let Some(place) = place {
            self.desk.take(request, place).await;
        }
        Ok(())
    }

    async fn garbage(&mut self, text: &str) -> Result<(), Deserted> {
        self.garbage = self.garbage.saturating_add(1);
        if self.garbage.is_power_of_two() {
            let diagnostic = Diagnostic::Garbage { lines: self.garbage, sample: parse::cut(text, SAMPLE) };
            return self.tell(Event::Diagnostic(diagnostic)).await;
        }
        Ok(())
    }

    async fn tell(&self, event: Event) -> Result<(), Deserted> {
        self.items.send(Item::Event(event)).await.map_err(|_| Deserted)
    }
}

/// The request that is not waited for any more.
fn withdrawn(params: &RawValue) -> Option<Id> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Withdrawn<'a> {
        #[serde(borrow)]
        request_id: &'a RawValue,
    }
    let withdrawn: Withdrawn<'_> = serde_json::from_str(params.get()).ok()?;
    Id::read(withdrawn.request_id).ok()
}

/// Writes to the runtime's input, until it is closed from either side or `stop`.
pub(super) async fn write(
    link: Arc<Link>,
    stdin: pipe::Sender,
    mut lines: mpsc::Receiver<Outgoing>,
    stop: CancellationToken,
) {
    let broken = write_all(&link, stdin, &mut lines, stop).await;
    link.places.close();
    if broken {
        // A process that is ending closes its input a moment before its end is known. Whoever says something meanwhile
        // is told what is known then: the queue is open until then.
        let why = link.end_of_output().await;
        link.lose(if matches!(why, Lost::Silent { .. }) { Lost::Deaf } else { why });
    }
}

/// True when the runtime closed its input.
async fn write_all(
    link: &Link,
    mut stdin: pipe::Sender,
    lines: &mut mpsc::Receiver<Outgoing>,
    stop: CancellationToken,
) -> bool {
    loop {
        let next = tokio::select! {
            biased;
            // What is in the queue is written before the end.
            line = lines.recv() => line,
            () = link.close_input.notified() => None,
            () = stop.cancelled() => None,
        };
        let Some(Outgoing { mut line, place }) = next else { return false };
        line.push('\n');
        let written = tokio::select! {
            written = stdin.write_all(line.as_bytes()) => written,
            () = link.close_input.notified() => return false,
            () = async { stop.cancelled().await; tokio::time::sleep(LAST_WORDS).await } => return false,
        };
        if written.is_err() {
            return true;
        }
        drop(place);
    }
}

/// Keeps the last complaints.
pub(super) async fn listen(link: Arc<Link>, stderr: pipe::Receiver, on_line: Option<OnStderr>) {
    // A line longer than this ends the reading of complaints, and not the work.
    let mut lines = Lines::giving_up(stderr, 1 << 20);
    while let Ok(Line::Text(line) | Line::Unfinished(line)) = lines.next().await {
        let line = repair(&line);
        link.complain(&line);
        if let Some(on_line) = &on_line {
            on_line(&line);
        }
    }
    link.complained.send_replace(true);
    // A full pipe would stop the runtime, so the rest is read and thrown away.
    lines.discard().await;
}

#[cfg(test)]
mod tests;
