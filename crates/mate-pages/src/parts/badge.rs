//! A state: a colour, and a shape and a word beside it.

use maud::{Markup, html};

/// What a state means for who looks.
pub(crate) fn tone(state: &str) -> &'static str {
    match state {
        "completed" | "succeeded" | "allowed" | "used" | "active" | "well" | "kept" | "pinned" => "good",
        "failed" | "ill" | "definition_changed" => "bad",
        "unknown" | "abandoned" | "not_kept" => "doubt",
        "awaiting_approval" | "waiting_approval" | "proposed" | "open" | "waits for you" => "ask",
        "running" | "in_flight" | "requested" | "working" | "starting" | "settling" | "accepted"
        | "hosted" => "busy",
        "stop_requested" | "stopped" | "quiet" => "stop",
        _ => "calm",
    }
}

const fn shape(tone: &str) -> &'static str {
    match tone.as_bytes() {
        b"good" => "✓",
        b"bad" => "✕",
        b"doubt" => "?",
        b"ask" => "!",
        b"busy" => "▸",
        b"stop" => "■",
        _ => "·",
    }
}

/// A state, as a badge.
pub(crate) fn badge(state: &str) -> Markup {
    let tone = tone(state);
    html! {
        span.badge.{ "t-" (tone) } {
            span.shape aria-hidden="true" { (shape(tone)) }
            (crate::text::line(state, 40).replace('_', " "))
        }
    }
}

/// What a call may change, in words.
pub(crate) fn effect(class: &str) -> Markup {
    let words = match class {
        "read" => "only reads",
        "idempotent" => "may be repeated",
        _ => "changes things outside",
    };
    html! { span.effect { (words) } }
}
