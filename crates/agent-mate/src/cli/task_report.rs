//! `agent-mate task report`

use super::{
    Context,
    client::Client,
    exit::{Exit, Failure},
    show::{at, column, plain, span, text_at},
    task,
    words::bytes_in_words,
};
use mate_guard::text;
use serde_json::{Map, Value};
use std::fmt::Write;

/// How many files are named.
const FILES: usize = 20;

/// Shows a task's report; ends as `task wait` would.
pub(crate) async fn report(id: &str, client: &Client, context: &Context) -> Result<Exit, Failure> {
    let report = client.get(&["tasks", id, "report"], &[]).await?;
    if context.screen.json {
        context.screen.document(&report)?;
    } else {
        context.screen.line(&drawn(&report, context))?;
    }
    Ok(Exit::Done)
}

/// The report for people.
fn drawn(report: &Value, context: &Context) -> String {
    let mut out = context.screen.fields(at(report, "task"), &task::FIELDS);
    for (title, field) in
        [("submitted by", "submitted_by"), ("approved by", "approved_by"), ("stop asked by", "stopped_by")]
    {
        let name = text_at(report, field);
        if !name.is_empty() {
            let _ = write!(out, "\n{title:<13} {}", text::line(name, 100));
        }
    }
    let _ = write!(out, "\n\nOperations: {}", counts(at(report, "counts")));
    let columns = [
        column("TOOL", "tool"),
        column("STATE", "state").rank(1),
        column("EFFECT", "effect").rank(5),
        column("TOOK", "took").rank(4),
        column("DETAIL", "detail").rank(3),
        column("ALLOWED BY", "allowed_by").rank(2),
        column("ID", "id"),
    ];
    let listed = lines(at(report, "operations"));
    if !listed.is_empty() {
        let _ = write!(out, "\n{}", context.screen.table(&listed, &columns));
    }
    out.push_str(&by_whose_leave(&listed));
    if let Some(more) = at(report, "not_listed").as_u64().filter(|more| *more > 0) {
        let _ = write!(
            out,
            "\n... and {more} more: agent-mate operation list --task {}",
            text::line(text_at(report, "task.id"), 100)
        );
    }
    let unknown = lines(at(report, "unknown"));
    if !unknown.is_empty() {
        let _ = write!(
            out,
            "\n\nUncertain: these may have happened. Look for yourself before anything is done again, and settle each:\n\
             agent-mate operation resolve ID --as succeeded|failed|abandoned --reason TEXT\n{}",
            context.screen.table(&unknown, &columns)
        );
    }
    let contradicted = lines(at(report, "contradicted"));
    if !contradicted.is_empty() {
        let _ = write!(
            out,
            "\n\nContradicted: evidence that came later says otherwise (DETAIL). The state stays; look for yourself, and take\n\
             note of it by resolving each once more as what stands:\n{}",
            context.screen.table(&contradicted, &columns)
        );
    }
    out.push_str(&left(report));
    for (title, field) in [("The agent reported", "summary"), ("The agent said last", "last_message")] {
        let said = text_at(report, field);
        if !said.is_empty() {
            let _ = write!(out, "\n\n{title}:\n{}", text::block(said, 10_000));
        }
    }
    out
}

/// Under which grant, by which policies and by whose leave calls went out, and why others did not: each once, with the
/// calls that it is said of.
fn by_whose_leave(lines: &[Value]) -> String {
    let mut told: Vec<(&str, Vec<&Value>)> = Vec::new();
    for line in lines {
        let words = text_at(line, "authority");
        match told.iter_mut().find(|(known, _)| *known == words) {
            Some((_, calls)) => calls.push(line),
            None if words.is_empty() => {}
            None => told.push((words, vec![line])),
        }
    }
    let mut out = String::new();
    for (words, calls) in told {
        if out.is_empty() {
            out.push_str("\n\nBy whose leave:");
        }
        let which = match calls.as_slice() {
            [one] => format!("{} ({})", text_at(one, "id"), text_at(one, "tool")),
            many => {
                let mut tools: Vec<_> = many.iter().map(|one| text_at(one, "tool")).collect();
                tools.sort_unstable();
                tools.dedup();
                format!("{} calls ({})", many.len(), tools.join(", "))
            }
        };
        let _ = write!(out, "\n  {}: {}", text::line(&which, 300), text::line(words, 1_000));
    }
    out
}

/// What it left: artifacts, and files in its workspace.
fn left(report: &Value) -> String {
    let mut out = String::new();
    let artifacts = at(report, "artifacts").as_array().map(Vec::as_slice).unwrap_or_default();
    for artifact in artifacts {
        if out.is_empty() {
            out.push_str("\n\nArtifacts:");
        }
        let size = at(artifact, "size")
            .as_u64()
            .map(|size| format!(", {}", bytes_in_words(size)))
            .unwrap_or_default();
        let said = format!(
            "{} {}{size}, {}",
            text_at(artifact, "id"),
            text_at(artifact, "name"),
            text_at(artifact, "origin")
        );
        let _ = write!(out, "\n  {}", text::line(&said, 300));
    }
    if let Some(total) = at(report, "files_left").as_u64().filter(|total| *total > 0) {
        let files = at(report, "files").as_array().map(Vec::as_slice).unwrap_or_default();
        let _ = write!(out, "\n\nFiles in the workspace at the end: {total}");
        for file in files.iter().take(FILES) {
            let size = bytes_in_words(at(file, "size").as_u64().unwrap_or(0));
            let _ = write!(out, "\n  {} ({size})", text::line(text_at(file, "path"), 300));
        }
        if total > files.len().min(FILES) as u64 {
            out.push_str("\n  ...");
        }
    }
    out
}

fn counts(counts: &Value) -> String {
    let none = Map::new();
    let counts = counts.as_object().unwrap_or(&none);
    if counts.is_empty() {
        return "none; the task called no tool through the bridge".to_owned();
    }
    let words: Vec<_> =
        counts.iter().map(|(state, count)| format!("{} {}", plain(count), text::line(state, 40))).collect();
    words.join(", ")
}

/// The lines with their durations in words.
fn lines(value: &Value) -> Vec<Value> {
    let mut lines = value.as_array().cloned().unwrap_or_default();
    for line in &mut lines {
        let took = at(line, "duration_us").as_i64().map(span);
        if let (Some(line), Some(took)) = (line.as_object_mut(), took) {
            line.insert("took".to_owned(), took.into());
        }
    }
    lines
}
