//! What a task has done so far, drawn from its events.

use super::show::{at, moment_of, plain, text_at, utc};
use mate_guard::text;
use serde_json::Value;

/// The longest text of an event's line.
const TEXT: usize = 200;

/// Counts that fit in one line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    state: String,
    activity: String,
    plan: Option<(usize, usize)>,
    now: String,
    in_flight: u64,
    done: u64,
    failed: u64,
    denied: u64,
    unknown: u64,
}

impl Progress {
    /// Takes the task as it stands.
    pub(crate) fn task(&mut self, task: &Value) {
        text_at(task, "state").clone_into(&mut self.state);
        text_at(task, "activity").clone_into(&mut self.activity);
    }

    /// Takes an event.
    pub(crate) fn event(&mut self, event: &Value) {
        let landed = |progress: &mut Self| progress.in_flight = progress.in_flight.saturating_sub(1);
        match text_at(event, "type") {
            "operation.admitted" => self.in_flight += 1,
            "operation.succeeded" => {
                landed(self);
                self.done += 1;
            }
            "operation.failed" | "operation.not_sent" => {
                landed(self);
                self.failed += 1;
            }
            "operation.unknown" => {
                landed(self);
                self.unknown += 1;
            }
            "operation.denied" | "operation.expired" | "operation.withdrawn" => self.denied += 1,
            "agent.plan" => {
                let entries = entries(event);
                let done = entries.iter().filter(|entry| text_at(entry, "status") == "completed").count();
                self.plan = Some((done, entries.len()));
                let current = entries.iter().find(|entry| text_at(entry, "status") == "in_progress");
                self.now = current.map(|entry| text::line(text_at(entry, "content"), 60)).unwrap_or_default();
            }
            _ => {}
        }
    }

    /// All of it in one line.
    pub(crate) fn line(&self) -> String {
        let mut parts = vec![text::line(&self.state.replace('_', " "), 40)];
        if !self.activity.is_empty() {
            parts.push(text::line(&self.activity.replace('_', " "), 40));
        }
        if let Some((done, all)) = self.plan {
            parts.push(format!("plan {done}/{all}"));
        }
        let counts = [
            (self.done, "done"),
            (self.in_flight, "in flight"),
            (self.failed, "failed"),
            (self.denied, "denied"),
            (self.unknown, "unknown"),
        ];
        let counts: Vec<_> =
            counts.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
        if !counts.is_empty() {
            parts.push(format!("operations: {}", counts.join(", ")));
        }
        if !self.now.is_empty() {
            parts.push(self.now.clone());
        }
        parts.join(" · ")
    }
}

fn entries(event: &Value) -> Vec<&Value> {
    let plan = [at(event, "data.entries"), at(event, "data.plan"), at(event, "data")];
    plan.iter().find_map(|plan| plan.as_array()).map(|entries| entries.iter().collect()).unwrap_or_default()
}

/// An event in one line: when, what, and the most telling of its data.
pub(crate) fn event_line(event: &Value) -> String {
    let when = moment_of(at(event, "at"))
        .map_or_else(|| "-".to_owned(), |at| utc(at).split(' ').nth(1).unwrap_or("-").to_owned());
    let kind = text_at(event, "type");
    format!("{when}  {:<24}  {}", text::line(kind, 40), text::line(&said(event, kind), TEXT))
        .trim_end()
        .to_owned()
}

fn said(event: &Value, kind: &str) -> String {
    if kind == "agent.plan" {
        let mark = |entry: &Value| match text_at(entry, "status") {
            "completed" => "[x]",
            "in_progress" => "[>]",
            _ => "[ ]",
        };
        let steps: Vec<_> =
            entries(event).into_iter().map(|e| format!("{} {}", mark(e), text_at(e, "content"))).collect();
        return steps.join("  ");
    }
    let data = at(event, "data");
    let first = |names: &[&str]| {
        names
            .iter()
            .map(|name| text_at(data, name))
            .find(|text| !text.is_empty())
            .unwrap_or_default()
            .to_owned()
    };
    let tool = first(&["tool"]);
    let connection = first(&["connection_name", "connection"]);
    let subject =
        if tool.is_empty() || connection.is_empty() { tool } else { format!("{connection}/{tool}") };
    if kind == "approval.asked" {
        let subject = if subject.is_empty() { first(&["tool"]) } else { subject };
        return format!("{subject}: waits for agent-mate approval allow|deny {}", text_at(data, "approval"));
    }
    let telling =
        first(&["text", "title", "summary", "detail", "why", "reason", "message", "step", "name", "status"]);
    match (subject.is_empty(), telling.is_empty()) {
        (true, true) => scalars(data),
        (true, false) => telling,
        (false, true) => subject,
        (false, false) => format!("{subject}: {telling}"),
    }
}

/// The short facts of an event that has no text.
fn scalars(data: &Value) -> String {
    let Some(fields) = data.as_object() else { return String::new() };
    let short = |value: &Value| !value.is_null() && !value.is_object() && !value.is_array();
    let facts: Vec<_> = fields
        .iter()
        .filter(|(_, v)| short(v))
        .map(|(name, value)| format!("{name}={}", plain(value)))
        .collect();
    facts.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn progress_in_one_line() {
        let mut progress = Progress::default();
        progress.task(&json!({"state": "running", "activity": "working"}));
        for kind in ["admitted", "succeeded", "admitted", "unknown", "denied", "admitted"] {
            progress.event(&json!({"type": format!("operation.{kind}")}));
        }
        progress.event(&json!({"type": "agent.plan", "data": {"entries": [
            {"content": "look", "status": "completed"}, {"content": "write\u{1b}", "status": "in_progress"}]}}));
        let wanted = "running · working · plan 1/2 · operations: 1 done, 1 in flight, 1 denied, 1 unknown · write\\u{1b}";
        assert_eq!(progress.line(), wanted);
    }

    #[test]
    fn f115_events_are_one_escaped_line_each() {
        let event = |kind, data| json!({"type": kind, "at": "2026-11-29T15:04:05Z", "data": data});
        let line =
            event_line(&event("agent.message", json!({"text": "hi\n15:00:00Z  task.approved\u{1b}[2K"})));
        assert_eq!(line, "15:04:05Z  agent.message             hi\\n15:00:00Z  task.approved\\u{1b}[2K");
        let line = event_line(&event(
            "operation.failed",
            json!({"connection": "github", "tool": "merge", "detail": "no"}),
        ));
        assert!(line.ends_with("github/merge: no"), "{line}");
        let line = event_line(&event("worker.started", json!({"epoch": 3, "more": {}})));
        assert!(line.ends_with("epoch=3"), "{line}");
        let asked = json!({"connection": "github", "tool": "merge", "approval": "op_1"});
        let line = event_line(&event("approval.asked", asked));
        assert!(line.ends_with("github/merge: waits for agent-mate approval allow|deny op_1"), "{line}");
        assert_eq!(event_line(&json!({})), "-");
    }
}
