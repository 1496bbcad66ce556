//! What is on record about a task, and what really happened.

use super::{World, id, until};
use serde_json::Value;
use std::{collections::BTreeMap, fs, path::Path};

impl World {
    pub(crate) fn task(&self, task: &str) -> Value {
        self.ok(&["task", "show", task])
    }

    /// A task's operations, in request order.
    pub(crate) fn operations(&self, task: &str) -> Vec<Value> {
        items(&self.ok(&["operation", "list", "--task", task]))
    }

    /// The states of a task's operations as `tool:state`, in request order.
    pub(crate) fn operation_states(&self, task: &str) -> Vec<String> {
        let text = |row: &Value, field: &str| row[field].as_str().unwrap_or_default().to_owned();
        self.operations(task)
            .iter()
            .map(|row| format!("{}:{}", text(row, "tool"), text(row, "state")))
            .collect()
    }

    /// All events of a task, page by page; each log is gapless for this task.
    pub(crate) fn events(&self, task: &str) -> Vec<Value> {
        let mut all: Vec<Value> = Vec::new();
        loop {
            let mut words = vec!["task", "events", task, "--limit", "7"];
            let last = all.last().map(id);
            if let Some(last) = &last {
                words.extend(["--after", last]);
            }
            let page = items(&self.ok(&words));
            if page.is_empty() {
                break;
            }
            all.extend(page);
        }
        assert_gapless(&all);
        all
    }

    /// The types of a task's events, in order.
    pub(crate) fn event_types(&self, task: &str) -> Vec<String> {
        self.events(task).iter().map(|event| event["type"].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// What the effect server wrote down.
    pub(crate) fn effects(&self) -> Vec<Value> {
        json_lines(&self.path("effects.log"))
    }

    /// How often a tool began (`begin`) or ended (`end`).
    pub(crate) fn count(&self, kind: &str, tool: &str) -> usize {
        self.effects().iter().filter(|line| line["kind"] == kind && line["tool"] == tool).count()
    }

    /// Waits until a tool is at work for the nth time.
    pub(crate) fn until_begun(&self, tool: &str, times: usize) {
        until(&format!("{tool} begun {times} times"), || (self.count("begin", tool) >= times).then_some(()));
    }

    /// The prompts that reached scripted runtimes, in order.
    pub(crate) fn prompts(&self) -> Vec<String> {
        let lines = json_lines(&self.path("prompts.log"));
        lines.iter().map(|line| line["prompt"].as_str().unwrap_or_default().to_owned()).collect()
    }
}

pub(crate) fn items(page: &Value) -> Vec<Value> {
    page["items"].as_array().unwrap_or_else(|| panic!("no items in {page}")).clone()
}

/// The whole lines of a file of JSON lines; none when it is not there yet.
pub(crate) fn json_lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole.lines().map(line_of_json).collect()
}

/// A line; behind one that its writer was killed in the middle of, the next writer's.
fn line_of_json(line: &str) -> Value {
    let whole = serde_json::from_str(line);
    whole.unwrap_or_else(|error| {
        let mut begins = line.match_indices("{\"").skip(1);
        let next = begins.find_map(|(begin, _)| serde_json::from_str(&line[begin..]).ok());
        next.unwrap_or_else(|| panic!("a line of JSON: {error}: {line}"))
    })
}

#[test]
fn a_line_that_was_torn_hides_no_other() {
    let whole = serde_json::json!({"at": 2, "arguments": {"text": "x"}});
    assert_eq!(line_of_json(&whole.to_string()), whole);
    for cut in 2..30 {
        let torn = &r#"{"at":1,"arguments":{"text":"y"}"#[..cut];
        assert_eq!(line_of_json(&format!("{torn}{whole}")), whole, "{torn}");
    }
}

/// Each event names the one of the task before it in its log; none is missing, none comes twice.
fn assert_gapless(events: &[Value]) {
    let mut last: BTreeMap<&str, i64> = BTreeMap::new();
    for event in events {
        let log = event["log"].as_str().expect("a log");
        let seq = event["seq"].as_i64().expect("a number");
        let before = last.insert(log, seq);
        assert_eq!(event["prev"].as_i64(), before, "a gap or a repeat before {event}");
        assert!(before.is_none_or(|before| before < seq), "out of order: {event}");
    }
}
