//! `agent-mate task report`

use super::{
    Context,
    client::Client,
    exit::{Exit, Failure},
    show::{at, column, plain, span, text_at},
    task,
};
use mate_guard::text;
use serde_json::{Map, Value};
use std::fmt::Write;

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
        column("GRANT", "grant").rank(7),
        column("ID", "id"),
    ];
    let listed = lines(at(report, "operations"));
    if !listed.is_empty() {
        let _ = write!(out, "\n{}", context.screen.table(&listed, &columns));
    }
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
    for (title, field) in [("The agent reported", "summary"), ("The agent said last", "last_message")] {
        let said = text_at(report, field);
        if !said.is_empty() {
            let _ = write!(out, "\n\n{title}:\n{}", text::block(said, 10_000));
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
