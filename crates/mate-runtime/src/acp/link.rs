//! The three pipes of a runtime, each with a task of its own.
//!
//! Updates are taken out of the stream here, before the protocol library sees them: they are most of
//! the traffic, their kinds grow with every release, and a slow owner must slow the runtime down
//! instead of filling memory. Everything else goes to the library line by line.

use super::{
    Diagnostic, Event, Lost,
    coalesce::Item,
    lines::{Line, LineReader, repair},
    parse,
};
use crate::container::{Exit, process::wait_for_exit};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::Value;
use std::{
    collections::VecDeque,
    io,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{
    io::AsyncWriteExt as _,
    net::unix::pipe,
    sync::{Notify, Semaphore, mpsc, watch},
    time::timeout,
};

/// Requests of the runtime that may be unanswered at a time; more are not read.
pub(super) const UNANSWERED: usize = 64;
/// How long a dead process's output is still listened to: its children may hold the pipe for ever.
const AFTERLIFE: Duration = Duration::from_millis(500);
const STDERR_LINES: usize = 50;
const STDERR_LINE: usize = 2_000;
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
    pub(super) requests: Semaphore,
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
            requests: Semaphore::new(UNANSWERED),
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

/// Just enough of a message to tell what it is.
#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    method: Option<String>,
    #[serde(default)]
    id: Option<IgnoredAny>,
}

/// Reads the runtime's output to its end.
pub(super) struct Reader {
    pub(super) link: Arc<Link>,
    pub(super) items: mpsc::Sender<Item>,
    pub(super) messages: mpsc::Sender<io::Result<String>>,
    pub(super) garbage: u64,
}

impl Reader {
    pub(super) async fn run(mut self, stdout: pipe::Receiver, limit: usize) {
        let mut lines = LineReader::new(stdout, limit);
        let mut exited = self.link.exited.clone();
        let why = loop {
            let line = tokio::select! {
                biased;
                line = lines.next() => line,
                _ = wait_for_exit(&mut exited) => {
                    timeout(AFTERLIFE, lines.next()).await.unwrap_or(Line::End)
                }
            };
            match line {
                Line::Text(line) => {
                    if self.take(&line).await.is_err() {
                        break Lost::Closed;
                    }
                }
                Line::TooLong => break Lost::TooLong { limit },
                Line::End => break self.link.end_of_output().await,
            }
        };
        self.link.lose(why);
        // Dropping `messages` is the end of the stream for the library, which fails all that waits.
    }

    /// Fails when nobody listens any more.
    async fn take(&mut self, line: &[u8]) -> Result<(), ()> {
        let text = repair(line);
        if text.trim().is_empty() {
            return Ok(());
        }
        let head = serde_json::from_str::<Head>(&text).ok().filter(|head| {
            // The library would answer what is no message at all, and confuse the runtime with it.
            text.trim_start().starts_with('{') && (head.method.is_some() || head.id.is_some())
        });
        let Some(head) = head else { return self.garbage(&text).await };
        match (head.method.as_deref(), head.id) {
            (Some("session/update"), None) => match serde_json::from_str::<Value>(&text) {
                Ok(message) => {
                    let activity = parse::activity(&message["params"], text.len());
                    self.tell(Event::Activity(activity)).await
                }
                Err(_) => self.garbage(&text).await,
            },
            // What else it announces is told by its name; only the protocol's own goes further.
            (Some(method), None) if !method.starts_with("$/") => {
                self.tell(Event::Activity(parse::other(method, text.len()))).await
            }
            (Some(_), Some(_)) => {
                self.link.requests.acquire().await.map_err(|_| ())?.forget();
                self.messages.send(Ok(text)).await.map_err(|_| ())
            }
            (_, _) => self.messages.send(Ok(text)).await.map_err(|_| ()),
        }
    }

    async fn garbage(&mut self, text: &str) -> Result<(), ()> {
        self.garbage = self.garbage.saturating_add(1);
        if self.garbage.is_power_of_two() {
            let diagnostic = Diagnostic::Garbage { lines: self.garbage, sample: parse::cut(text, SAMPLE) };
            return self.tell(Event::Diagnostic(diagnostic)).await;
        }
        Ok(())
    }

    async fn tell(&self, event: Event) -> Result<(), ()> {
        self.items.send(Item::Event(event)).await.map_err(|_| ())
    }
}

/// Writes what the library says to the runtime's input, until it is closed from either side.
pub(super) async fn write(link: Arc<Link>, mut stdin: pipe::Sender, mut lines: mpsc::Receiver<String>) {
    loop {
        let line = tokio::select! {
            biased;
            line = lines.recv() => line,
            () = link.close_input.notified() => None,
        };
        let Some(mut line) = line else { return };
        let answers = serde_json::from_str::<Head>(&line).is_ok_and(|head| head.method.is_none());
        line.push('\n');
        let written = tokio::select! {
            written = stdin.write_all(line.as_bytes()) => written,
            () = link.close_input.notified() => return,
        };
        if written.is_err() {
            // A process that is ending closes its input a moment before its end is known.
            let why = link.end_of_output().await;
            link.lose(if matches!(why, Lost::Silent { .. }) { Lost::Deaf } else { why });
            return;
        }
        if answers {
            link.requests.add_permits(1);
        }
    }
}

/// Keeps the last complaints.
pub(super) async fn listen(link: Arc<Link>, stderr: pipe::Receiver, on_line: Option<OnStderr>) {
    // A line longer than this ends the reading of complaints, and not the work.
    let mut lines = LineReader::new(stderr, 1 << 20);
    while let Line::Text(line) = lines.next().await {
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
