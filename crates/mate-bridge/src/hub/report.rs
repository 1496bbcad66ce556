//! `agent_mate__report`: how the agent says what came of its task.

use super::{Hub, client::Replied, words};
use crate::core::{Answer, raw, schema::Schema};
use serde_json::{Value, json, value::RawValue};
use std::sync::{Arc, OnceLock};

/// The tool's name.
pub(crate) const NAME: &str = "agent_mate__report";

fn input() -> Value {
    json!({
        "type": "object",
        "properties": {
            "status": {
                "type": "string",
                "enum": ["done", "blocked", "nothing_to_do"],
                "description": "done: the task is finished. blocked: it cannot be finished; say what is missing. nothing_to_do: there was nothing to do."
            },
            "summary": {
                "type": "string", "minLength": 1, "maxLength": 20000,
                "description": "What was done, what was not, and what is uncertain, for the person who gave the task."
            }
        },
        "required": ["status", "summary"],
        "additionalProperties": false
    })
}

pub(super) fn definition() -> Arc<RawValue> {
    Arc::from(raw(&json!({
        "name": NAME,
        "title": "Report the result of the task",
        "description": "Report how the task ended. Call it once, as your last step.",
        "inputSchema": input(),
        "annotations": { "readOnlyHint": false, "destructiveHint": false, "openWorldHint": false },
        "_meta": { "anthropic/alwaysLoad": true }
    })))
}

fn check(arguments: &RawValue) -> Result<(), String> {
    static SCHEMA: OnceLock<Result<Schema, String>> = OnceLock::new();
    let value: Value = serde_json::from_str(arguments.get()).map_err(|e| e.to_string())?;
    SCHEMA.get_or_init(|| Schema::compile(&raw(&input()))).as_ref().map_err(Clone::clone)?.check(&value)
}

pub(super) async fn report(hub: &Hub, arguments: &RawValue) -> Replied {
    let answer: Answer = match check(arguments) {
        Err(why) => words::error(&words::bad_arguments(&why)),
        Ok(()) => match hub.gate.report(arguments).await {
            Ok(text) => words::text(&text),
            Err(why) => words::error(&why),
        },
    };
    Replied::plain(answer)
}
