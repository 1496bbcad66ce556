//! What the agent is told: plain words that make the right next step clear.

use crate::core::{Answer, Object, raw};
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

/// A result that was stored because it had not reached the runtime, marked as such.
pub(super) fn stored(operation: &str, result: Box<RawValue>) -> Answer {
    let Ok(mut object) = Object::parse(&result) else { return Answer::Result(result) };
    let note = format!(
        "(This is the stored result of an identical call that was made before, operation {operation}: \
         it may not have reached you. Nothing was sent now. If it is to happen once more, make the call once more.)"
    );
    let blocks: Option<Vec<Box<RawValue>>> =
        object.get("content").and_then(|content| serde_json::from_str(content.get()).ok());
    let mut blocks = blocks.unwrap_or_default();
    blocks.push(raw(&json!({ "type": "text", "text": note })));
    object.set("content", raw(&blocks));
    if let Ok(mut meta) = Object::parse_or_empty(object.get("_meta")) {
        meta.set("agent-mate/storedResultOf", raw(&operation));
        object.set("_meta", meta.to_raw());
    }
    Answer::Result(object.to_raw())
}

/// What a call came to after an answer to its question was refused.
pub(super) fn unanswered(answer: Answer, why: &str) -> Answer {
    let Answer::Result(result) = answer else { return answer };
    let Ok(mut object) = Object::parse(&result) else { return Answer::Result(result) };
    if object.get("resultType").is_some_and(|kind| kind.get() != "\"complete\"") {
        return Answer::Result(result);
    }
    let note = format!("{why} The tool's server was told that its question is not answered.");
    let mut blocks = object.list("content").unwrap_or_default();
    blocks.insert(0, raw(&json!({ "type": "text", "text": note })));
    object.set("content", raw(&blocks));
    Answer::Result(object.to_raw())
}

pub(super) fn is_a_task(tool: &str) -> String {
    format!(
        "An identical call of {tool:?} is in flight, and its server carries it out as a task, which only a client that \
         follows tasks can ask about. Nothing was sent now. Do not repeat it; its outcome is recorded when it is over."
    )
}

pub(super) fn unknown_tool(name: &str) -> String {
    format!(
        "There is no tool {name:?} here. Nothing was done. List the tools again and use one of those; \
         if none fits, report that you are blocked."
    )
}

pub(super) fn not_granted(name: &str) -> String {
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

pub(super) fn asks_too_much(tool: &str) -> String {
    format!(
        "The tool {tool:?} has asked one question after the other, and it is not answered any more. What became of the \
         call is uncertain: do not repeat it, and say so in your report."
    )
}

pub(super) fn too_deep(operation: &str, levels: usize, is_error: bool) -> String {
    let how = if is_error { "reported an error" } else { "succeeded" };
    format!(
        "The call {how}, but its result is nested deeper than {levels} levels and is not passed on. \
         Do not repeat the call. Operation {operation}."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_result_is_whole_and_marked() {
        let stored_of = |text: &str| {
            let raw = RawValue::from_string(text.to_owned()).unwrap();
            let Answer::Result(result) = stored("op_1", raw) else { panic!("a result") };
            serde_json::from_str::<serde_json::Value>(result.get()).unwrap()
        };
        let marked = stored_of(
            r#"{"content":[{"type":"text","text":"a"}],"structuredContent":{"n":1},"_meta":{"x":2}}"#,
        );
        assert_eq!(marked["content"][0]["text"], "a");
        assert!(marked["content"][1]["text"].as_str().unwrap().contains("op_1"));
        assert_eq!(marked["structuredContent"]["n"], 1);
        assert_eq!(
            (&marked["_meta"]["x"], &marked["_meta"]["agent-mate/storedResultOf"]),
            (&json!(2), &json!("op_1"))
        );
        assert_eq!(stored_of("{}")["content"].as_array().unwrap().len(), 1);
    }
}
