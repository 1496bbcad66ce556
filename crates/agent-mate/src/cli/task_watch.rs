//! `agent-mate task watch`, `wait` and `events`

use super::{
    Context, Screen,
    client::Client,
    exit::{Exit, Failure},
    follow::{Watcher, follow},
    progress::{Progress, event_line},
    show::{at, moment_of, tell, text_at},
};
use anstyle::{AnsiColor, Style};
use indicatif::{ProgressBar, ProgressStyle};
use mate_guard::text;
use serde_json::{Value, json};
use std::time::Duration;

/// Follows a task with what happens on the way; ends as the task does.
pub(crate) async fn watch(id: &str, client: &Client, context: &Context) -> Result<Exit, Failure> {
    let mut watcher = Printing::new(&context.screen, context.screen.terminal && !context.screen.json);
    let followed = follow(id, None, client, context, &mut watcher).await;
    watcher.close();
    let (task, exit) = followed?;
    if context.screen.json {
        context.screen.document(&json!({ "task": task }))?;
    } else {
        context.screen.line(&ended(&task, &context.screen))?;
        let next = context.screen.step(&format!("agent-mate task report {}", text::line(id, 100)));
        context.screen.line(&format!("  next: {next}"))?;
    }
    Ok(exit)
}

/// Waits for a task's end; ends as the task does.
pub(crate) async fn wait(id: &str, client: &Client, context: &Context) -> Result<Exit, Failure> {
    let (task, exit) = follow(id, None, client, context, &mut Silent).await?;
    if context.screen.json {
        context.screen.document(&task)?;
    } else {
        context.screen.line(&ended(&task, &context.screen))?;
    }
    Ok(exit)
}

/// After `task add --wait`: one document for programs, what happens for people.
pub(crate) async fn watch_or_wait(id: &str, client: &Client, context: &Context) -> Result<Exit, Failure> {
    if context.screen.json { wait(id, client, context).await } else { watch(id, client, context).await }
}

/// Prints events as they come, until the task ends.
pub(crate) async fn events(
    id: &str,
    after: Option<String>,
    client: &Client,
    context: &Context,
) -> Result<Exit, Failure> {
    let mut watcher = Printing::new(&context.screen, false);
    follow(id, after, client, context, &mut watcher).await?;
    Ok(Exit::Done)
}

/// Prints one page of events.
pub(crate) async fn page(
    id: &str,
    after: Option<String>,
    limit: u32,
    client: &Client,
    context: &Context,
) -> Result<Exit, Failure> {
    let mut query = vec![("limit", limit.to_string())];
    query.extend(after.map(|after| ("after", after)));
    let page = client.get(&["tasks", id, "events"], &query).await?;
    if context.screen.json {
        context.screen.document(&page)?;
        return Ok(Exit::Done);
    }
    let items = page.get("items").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    for event in items {
        context.screen.line(&event_line(event))?;
    }
    let next = text_at(&page, "next");
    let more = at(&page, "more").as_bool().unwrap_or(items.len() == limit as usize);
    if more && !next.is_empty() {
        context.screen.line(&format!("\nThere is more: add --after {}", text::line(next, 200)))?;
    }
    Ok(Exit::Done)
}

/// How a task ended, in one line.
fn ended(task: &Value, screen: &Screen) -> String {
    let state = text_at(task, "state");
    let mut line = format!("Task {} is {}", text::line(text_at(task, "id"), 100), painted(state, screen));
    for (field, before) in [
        ("reason", ": "),
        ("result", "; result "),
        ("report", ": the agent reports "),
        ("uncertain", "; uncertain: "),
        ("then", "; once settled: "),
    ] {
        let said = text_at(task, field);
        if !said.is_empty() {
            line.push_str(before);
            line.push_str(&text::line(said, 500));
        }
    }
    if text_at(task, "context") == "lost" {
        line.push_str("; context: lost (the runtime began without the conversation before it)");
    }
    line
}

/// A state in its colour, where colours may be used.
fn painted(state: &str, screen: &Screen) -> String {
    let shown = text::line(state, 40);
    if !screen.colour {
        return shown;
    }
    let colour = match state {
        "completed" => AnsiColor::Green,
        "failed" | "unknown" => AnsiColor::Red,
        _ => AnsiColor::Yellow,
    };
    let style = Style::new().bold().fg_color(Some(colour.into()));
    format!("{style}{shown}{style:#}")
}

/// Waits without a word.
struct Silent;

impl Watcher for Silent {
    fn event(&mut self, _: &Value) -> Result<(), Failure> {
        Ok(())
    }
    fn task(&mut self, _: &Value) {}
    fn note(&mut self, note: &str) {
        tell(note);
    }
}

/// Prints each event; on a terminal, with a line of progress below.
struct Printing<'a> {
    screen: &'a Screen,
    bar: Option<ProgressBar>,
    progress: Progress,
}

impl<'a> Printing<'a> {
    fn new(screen: &'a Screen, lively: bool) -> Self {
        let bar = lively.then(|| {
            let bar = ProgressBar::new_spinner();
            if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {wide_msg}") {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(120));
            bar
        });
        Self { screen, bar, progress: Progress::default() }
    }

    fn close(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    fn redraw(&self) {
        if let Some(bar) = &self.bar {
            bar.set_message(self.progress.line());
        }
    }
}

impl Watcher for Printing<'_> {
    fn event(&mut self, event: &Value) -> Result<(), Failure> {
        self.progress.event(event);
        let written = if self.screen.json {
            self.screen.document(event)
        } else if let Some(bar) = &self.bar {
            bar.suspend(|| self.screen.line(&event_line(event)))
        } else {
            self.screen.line(&event_line(event))
        };
        self.redraw();
        written
    }

    fn task(&mut self, task: &Value) {
        self.progress.task(task);
        if let (Some(bar), Some(since)) = (&self.bar, moment_of(at(task, "started_at"))) {
            let elapsed = self.screen.clock.now().since(since);
            self.bar = Some(bar.clone().with_elapsed(Duration::from_micros(elapsed.try_into().unwrap_or(0))));
        }
        self.redraw();
    }

    fn note(&mut self, note: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| tell(note)),
            None => tell(note),
        }
    }
}
