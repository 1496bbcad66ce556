//! What `top` shows, in words: tables of three kinds, and all that is known of one line of them.

use super::picture::{Item, Picture, Why};
use crate::cli::{
    Screen,
    layout::{self, Strip},
    show::{ago, at, column, moment_of, span, text_at},
    words,
};
use mate_guard::text;
use mate_model::Micros;
use serde_json::Value;

/// The longest text of a cell, in characters.
const CELL: usize = 300;
/// How many calls the details of a task show.
const CALLS: usize = 15;

/// The three tables: what each is called, and what is in it.
pub(super) fn parts(picture: &Picture) -> [(&'static str, &[Item]); 3] {
    [("NEEDS YOU", &picture.needs), ("RUNNING", &picture.running), ("WAITING", &picture.waiting)]
}

/// Columns that a table has only where they are of use.
#[derive(Clone, Copy, Debug)]
pub(super) struct With {
    /// Ids: where no line can be opened.
    pub(super) ids: bool,
    /// Projects: where there are several.
    pub(super) projects: bool,
}

/// One of the tables, and the columns that found no room in the width.
pub(super) fn table(
    title: &'static str,
    items: &[Item],
    with: With,
    width: Option<usize>,
    now: Micros,
) -> (Vec<String>, Vec<&'static str>) {
    let strip = |title, rank, cell: &dyn Fn(&Item) -> String| Strip {
        title,
        rank,
        cells: items.iter().map(|item| text::line(&cell(item), CELL)).collect(),
    };
    let running = items.first().is_some_and(|item| item.why == Why::Running);
    let waiting = items.first().is_some_and(|item| item.why == Why::Waiting);
    let mut strips = vec![strip(title, 0, &|item| doing(item, now))];
    if running {
        strips.push(strip("FOR", 1, &|item| age(item, "started_at", now)));
        strips.push(strip("IN FLIGHT", 3, &|item| {
            item.in_flight.as_ref().map_or_else(|| "-".to_owned(), |calls| calls.len().to_string())
        }));
        strips.push(strip("LAST CALL", 4, &|item| last(item, now)));
    }
    strips.push(strip(if running || waiting { "TASK" } else { "WHAT" }, 2, &what));
    if !running && !waiting {
        strips.push(strip("WHY", 3, &|item| because(item, now)));
    }
    if !running {
        strips.push(strip("SINCE", 5, &|item| {
            since(item).map_or_else(|| "-".to_owned(), |at| span(now.since(at)))
        }));
    }
    if running || waiting {
        strips.push(strip("RUNTIME", 6, &|item| text_at(&item.value, "runtime_name").to_owned()));
    }
    if with.projects {
        strips.push(strip("PROJECT", 7, &|item| item.project.clone()));
    }
    if with.ids {
        strips.push(strip("ID", 0, &|item| item.id().to_owned()));
    }
    let (table, dropped) = layout::table(strips, width);
    (table.split('\n').map(str::to_owned).collect(), dropped)
}

/// What is going on, in a word or two.
fn doing(item: &Item, now: Micros) -> String {
    let task = &item.value;
    match item.why {
        Why::Running if text_at(task, "state") == "stop_requested" => "stop requested".to_owned(),
        Why::Running => {
            let activity = text_at(task, "activity").replace('_', " ");
            match moment_of(at(task, "quiet_since")) {
                Some(quiet) => format!("quiet {}", span(now.since(quiet))),
                None if activity.is_empty() => "running".to_owned(),
                None => activity,
            }
        }
        Why::Waiting => "accepted".to_owned(),
        Why::Approval | Why::UnknownCall | Why::UnknownTask | Why::SetAside | Why::Proposed | Why::Failed => {
            item.why.word().to_owned()
        }
    }
}

/// What it is about: the call, or what the agent is asked to do.
pub(super) fn what(item: &Item) -> String {
    match item.why {
        Why::Approval | Why::UnknownCall => {
            let arguments = words::lines("arguments", at(&item.value, "arguments")).join("; ");
            format!("{} ({arguments})", subject(&item.value))
        }
        Why::UnknownTask | Why::SetAside | Why::Proposed | Why::Failed | Why::Running | Why::Waiting => {
            text_at(&item.value, "instructions").to_owned()
        }
    }
}

/// A call's connection and tool; of a runtime's own tools the tool alone.
pub(super) fn subject(call: &Value) -> String {
    match (text_at(call, "connection_name"), text_at(call, "tool")) {
        ("", tool) => tool.to_owned(),
        (connection, tool) => format!("{connection}/{tool}"),
    }
}

/// Why it needs somebody.
fn because(item: &Item, now: Micros) -> String {
    let value = &item.value;
    match item.why {
        Why::Approval => moment_of(at(value, "expires_at"))
            .map_or_else(String::new, |end| format!("ends {}", ago(now.since(end)))),
        Why::UnknownCall => text_at(value, "detail").to_owned(),
        Why::UnknownTask => text_at(value, "uncertain").replace('_', " "),
        Why::SetAside => text_at(value, "set_aside").to_owned(),
        Why::Proposed => "waits for approval".to_owned(),
        Why::Failed => text_at(value, "reason").to_owned(),
        Why::Running | Why::Waiting => String::new(),
    }
}

/// Since when it is so.
fn since(item: &Item) -> Option<Micros> {
    let fields: &[&str] = match item.why {
        Why::Approval => &["requested_at"],
        Why::UnknownCall => &["recorded_at", "requested_at"],
        Why::UnknownTask | Why::Failed => &["ended_at", "created_at"],
        Why::SetAside | Why::Proposed | Why::Running | Why::Waiting => &["created_at"],
    };
    fields.iter().find_map(|field| moment_of(at(&item.value, field)))
}

fn age(item: &Item, field: &str, now: Micros) -> String {
    moment_of(at(&item.value, field)).map_or_else(|| "-".to_owned(), |at| span(now.since(at)))
}

/// The call that a task made last, how it stands, and since when.
fn last(item: &Item, now: Micros) -> String {
    let flying = item.in_flight.iter().flatten().last();
    let Some(call) = flying.or(item.last.as_ref()) else {
        return if item.in_flight.is_some() { "none".to_owned() } else { "-".to_owned() };
    };
    let times = ["recorded_at", "answered_at", "sent_at", "requested_at"];
    let when = times.iter().find_map(|field| moment_of(at(call, field)));
    let when = when.map_or_else(String::new, |at| format!(", {}", ago(now.since(at))));
    format!("{} {}{when}", subject(call), text_at(call, "state").replace('_', " "))
}

/// All that is known of one line.
#[derive(Clone, Debug, Default)]
pub(super) struct Detail {
    /// The approval or the operation, with how its fields are called.
    pub(super) about: Option<Value>,
    pub(super) task: Value,
    /// Its newest calls, in request order.
    pub(super) calls: Vec<Value>,
}

/// The same in lines: escaped, and of any length.
pub(super) fn detail(detail: &Detail, why: Why, screen: &Screen) -> Vec<String> {
    let mut blocks = Vec::new();
    if let Some(about) = &detail.about {
        blocks.push(match why {
            Why::Approval => screen.fields(about, &crate::cli::approval::FIELDS),
            Why::UnknownCall => screen.fields(about, &crate::cli::operation::FIELDS),
            Why::UnknownTask | Why::SetAside | Why::Proposed | Why::Failed | Why::Running | Why::Waiting => {
                String::new()
            }
        });
        blocks.push("Its task:".to_owned());
    }
    blocks.push(screen.fields(&detail.task, &crate::cli::task::FIELDS));
    if detail.calls.is_empty() {
        blocks.push("It called no tool through the bridge.".to_owned());
    } else {
        let columns = [
            column("ITS LAST CALLS", "id"),
            column("STATE", "state").rank(1),
            column("CONNECTION", "connection_name").rank(3),
            column("TOOL", "tool").rank(2),
            column("REQUESTED", "requested_at").rank(5),
            column("DETAIL", "detail").rank(6),
        ];
        let newest: Vec<_> = detail.calls.iter().rev().take(CALLS).cloned().collect();
        blocks.push(screen.table(&newest, &columns));
    }
    let next = next(detail, why);
    if !next.is_empty() {
        let next = next.iter().map(|step| text::line(&screen.step(step), 500));
        blocks.push(next.map(|step| format!("next: {step}")).collect::<Vec<_>>().join("\n"));
    }
    blocks.join("\n\n").split('\n').map(|line| line.replace('\t', "    ")).collect()
}

/// Commands to go on with, for what is not done here.
fn next(detail: &Detail, why: Why) -> Vec<String> {
    let task = text_at(&detail.task, "id");
    let about = detail.about.as_ref().map(|about| text_at(about, "id")).unwrap_or_default();
    match why {
        Why::UnknownCall => vec![
            format!("agent-mate operation verify {about}"),
            format!("agent-mate operation resolve {about} --as succeeded|failed|abandoned --reason TEXT"),
        ],
        Why::UnknownTask => {
            vec![
                format!("agent-mate task report {task}"),
                format!("agent-mate task resolve {task} --reason TEXT"),
            ]
        }
        Why::Failed => {
            vec![format!("agent-mate task report {task}"), format!("agent-mate task resume {task}")]
        }
        Why::Running => vec![format!("agent-mate task watch {task}")],
        Why::SetAside => vec!["agent-mate doctor".to_owned()],
        Why::Approval | Why::Proposed | Why::Waiting => Vec::new(),
    }
}
