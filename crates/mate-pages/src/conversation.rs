//! The conversation: what was said and done, in order, the newest part first.

use crate::{
    parts::badge,
    text::{line, prose},
    view::Event,
};
use jiff::Timestamp;
use maud::{Markup, html};
use serde_json::Value;
use std::collections::BTreeMap;

/// A part of a conversation.
#[derive(Clone, Debug, Default)]
pub struct Conversation {
    /// Its events, in order.
    pub events: Vec<Event>,
    /// Where the earlier part is.
    pub earlier: Option<String>,
    /// Whether this is not the newest part.
    pub past: bool,
}

/// What is shown together.
enum Piece<'a> {
    Said { first: &'a Event, who: &'static str, text: String },
    Call { first: &'a Event, title: &'a str, kind: &'a str, status: &'a str },
    Operation { first: &'a Event, id: &'a str, tool: String, state: &'a str },
    Line { event: &'a Event, words: String },
}

/// The conversation, the earliest first.
pub(crate) fn conversation(shown: &Conversation, now: Timestamp) -> Markup {
    let pieces = pieces(&shown.events);
    html! {
        @if let Some(earlier) = &shown.earlier { p.pager { a.button href=(earlier) rel="prev" { "Earlier" } } }
        @if pieces.is_empty() { p.calm { "Nothing was said yet." } }
        ol.talk {
            @for piece in &pieces { (show(piece, now)) }
        }
    }
}

fn pieces(events: &[Event]) -> Vec<Piece<'_>> {
    let mut pieces: Vec<Piece<'_>> = Vec::new();
    let mut calls: BTreeMap<&str, usize> = BTreeMap::new();
    let mut operations: BTreeMap<&str, usize> = BTreeMap::new();
    for event in events {
        match event.kind.as_str() {
            "agent.message" => say(&mut pieces, event, "agent"),
            "agent.thought" => say(&mut pieces, event, "thought"),
            "user.message" => say(&mut pieces, event, "user"),
            "tool.call" | "tool.update" => {
                // The bridge's calls are operations, and stand there with their outcome.
                if event.data.get("bridge").and_then(Value::as_bool) == Some(true) {
                    continue;
                }
                let (title, kind, status) = (event.text("title"), event.text("kind"), event.text("status"));
                let known = calls.get(event.text("call")).and_then(|place| pieces.get_mut(*place));
                if let Some(Piece::Call { title: old_title, status: old_status, .. }) = known {
                    for (old, new) in [(old_title, title), (old_status, status)] {
                        if !new.is_empty() {
                            *old = new;
                        }
                    }
                    continue;
                }
                calls.insert(event.text("call"), pieces.len());
                pieces.push(Piece::Call { first: event, title, kind, status });
            }
            kind if kind.starts_with("operation.") && !event.text("operation").is_empty() => {
                let (id, state) = (event.text("operation"), state(kind));
                match operations.get(id).and_then(|place| pieces.get_mut(*place)) {
                    Some(Piece::Operation { state: old, .. }) => *old = state,
                    Some(_) | None => {
                        operations.insert(id, pieces.len());
                        pieces.push(Piece::Operation { first: event, id, tool: tool(event), state });
                    }
                }
            }
            _ => {
                if let Some(words) = words(event) {
                    pieces.push(Piece::Line { event, words });
                }
            }
        }
    }
    pieces
}

fn say<'a>(pieces: &mut Vec<Piece<'a>>, event: &'a Event, speaker: &'static str) {
    let said = event.text("text");
    if let Some(Piece::Said { who, text, .. }) = pieces.last_mut()
        && *who == speaker
    {
        text.push_str(said);
    } else {
        pieces.push(Piece::Said { first: event, who: speaker, text: said.to_owned() });
    }
}

/// An event in few words; none for those that are shown elsewhere.
fn words(event: &Event) -> Option<String> {
    let text = |name: &str| line(event.text(name), 300);
    Some(match event.kind.as_str() {
        "agent.plan" | "runtime.usage" | "worker.started" | "worker.ended" | "turn.started"
        | "turn.noted" | "runtime.started" | "artifact.recorded" | "workspace.listed" => return None,
        "runtime.ready" => "the runtime is ready".to_owned(),
        "turn.prompted" => "the prompt was sent".to_owned(),
        "turn.ended" => "the turn was over".to_owned(),
        "agent.reported" => format!("reported {}: {}", text("status"), text("summary")),
        "permission.asked" => format!("asked for leave: {}", text("title")),
        "diagnostic" => format!("{}: {}", text("about"), text("text")),
        kind => line(kind, 60).replace(['.', '_'], " "),
    })
}

/// The tool that an event about an operation names.
fn tool(event: &Event) -> String {
    let parts = ["connection", "connection_name", "tool"].map(|name| line(event.text(name), 80));
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/")
}

/// The state that an event about an operation leads to.
fn state(kind: &str) -> &str {
    match kind.trim_start_matches("operation.") {
        "admitted" | "continued" | "input_required" | "upstream_task" => "in_flight",
        "redelivered" => "succeeded",
        other => other,
    }
}

/// A moment of the conversation: the time of the day.
fn clock(event: &Event, now: Timestamp) -> Markup {
    let Some(at) = event.at else { return html! {} };
    let far = now.as_second() - at.as_second() > 20 * 3_600;
    let words = at.strftime(if far { "%b %d %H:%M:%S" } else { "%H:%M:%S" }).to_string();
    html! { time.when datetime=(at) title=(at.strftime("%Y-%m-%d %H:%M:%S%.3f UTC")) { (words) } }
}

fn show(piece: &Piece<'_>, now: Timestamp) -> Markup {
    match piece {
        Piece::Said { first, who: "thought", text } => html! {
            li.said.thought id={ "e-" (first.seq) } {
                details { summary { "A thought " (clock(first, now)) } (prose(text)) }
            }
        },
        Piece::Said { first, who, text } => html! {
            li.said.{ (who) } id={ "e-" (first.seq) } {
                p.by { b { (if *who == "agent" { "Agent" } else { "Task" }) } " " (clock(first, now)) }
                (prose(text))
            }
        },
        Piece::Call { first, title, kind, status } => html! {
            li.act id={ "e-" (first.seq) } {
                span.words dir="auto" { (line(if title.is_empty() { "a tool of its own" } else { title }, 200)) }
                " " span.calm { (line(kind, 30)) " · own tool" } " "
                (badge(if status.is_empty() { "working" } else { status }))
                (clock(first, now))
            }
        },
        Piece::Operation { first, id, tool, state } => html! {
            li.act id={ "e-" (first.seq) } {
                a href={ "/operations/" (id) } { (if tool.is_empty() { "a call" } else { tool }) } " " (badge(state)) (clock(first, now))
            }
        },
        Piece::Line { event, words } => html! {
            li.act id={ "e-" (event.seq) } {
                span.words dir="auto" { (words) }
                (clock(event, now))
            }
        },
    }
}
