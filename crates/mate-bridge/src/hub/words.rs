//! What the agent is told: plain words that make the right next step clear.

use crate::core::{Answer, raw};
use serde_json::{json, value::RawValue};

/// A tool result with `isError` and one text.
pub(super) fn error(text: &str) -> Answer {
    Answer::Result(error_result(text))
}

fn error_result(text: &str) -> Box<RawValue> {
    raw(&json!({ "content": [{ "type": "text", "text": text }], "isError": true }))
}

/// A tool result with one text.
pub(super) fn text(text: &str) -> Answer {
    Answer::Result(raw(&json!({ "content": [{ "type": "text", "text": text }] })))
}

pub(super) fn unknown_tool(name: &str) -> String {
    let name: String = name.chars().take(100).collect();
    format!(
        "There is no tool {name:?} here. Nothing was done. List the tools again and use one of those; \
         if none fits, report that you are blocked."
    )
}

pub(super) fn not_granted(name: &str) -> String {
    let name: String = name.chars().take(100).collect();
    format!(
        "The tool {name:?} is not granted to this project (any more). Nothing was done. \
         Do not try to reach the same effect another way; go on without it or report that you are blocked."
    )
}

pub(super) fn bad_arguments(why: &str) -> String {
    format!(
        "The arguments do not fit the tool's input schema: {why}. Nothing was done. Correct them and call again."
    )
}

pub(super) fn not_sent(operation: &str, why: &str) -> String {
    format!(
        "The call was not sent ({why}). Nothing happened at the other side, so it may be called again later. \
         Operation {operation}."
    )
}

pub(super) fn unknown(operation: &str, why: &str) -> String {
    format!(
        "The outcome is unknown: {why}. The call may have taken effect. Do not repeat it. \
         If a tool that only reads can show whether it happened, use that; otherwise report what is uncertain. \
         Operation {operation}."
    )
}

pub(super) fn unrecorded(operation: &str, why: &str) -> String {
    format!(
        "The call was sent, but its outcome could not be recorded: {why}. Treat it as uncertain and do not repeat it. \
         Operation {operation}."
    )
}

pub(super) fn too_deep(operation: &str, levels: usize, is_error: bool) -> String {
    let how = if is_error { "reported an error" } else { "succeeded" };
    format!(
        "The call {how}, but its result is nested deeper than {levels} levels and is not passed on. \
         Do not repeat the call. Operation {operation}."
    )
}
