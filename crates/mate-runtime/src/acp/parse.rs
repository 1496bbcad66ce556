//! From a runtime's JSON to words of our own. Whatever is not as expected is left out, never an error.

use super::{Activity, Message, PermissionOption, PlanEntry, Role, StopReason, ToolCall, Usage};
use serde_json::Value;

/// How long any text may be, in characters: far more than is ever shown. Whoever shows it takes the secrets out of it
/// first, and cuts then: half a secret is not found any more.
const WHOLE: usize = 64 * 1024;
/// The longest name by which a call or a choice is known, in characters. A longer one is known by a digest.
const NAME: usize = 1_000;
const MANY: usize = 200;

/// The activity that a `session/update` tells of.
pub(super) fn activity(params: &Value, size: usize) -> Activity {
    let update = &params["update"];
    let kind = update["sessionUpdate"].as_str().unwrap_or("unnamed");
    let message = |role| match content_text(&update["content"]) {
        Some(text) => Activity::Message(Message { role, text }),
        None => other(&format!("{kind}:{}", update["content"]["type"].as_str().unwrap_or("unnamed")), size),
    };
    match kind {
        "agent_message_chunk" => message(Role::Agent),
        "agent_thought_chunk" => message(Role::Thought),
        "user_message_chunk" => message(Role::User),
        "tool_call" => Activity::ToolCall(tool_call(update, size)),
        "tool_call_update" => Activity::ToolUpdate(tool_call(update, size)),
        "plan" => Activity::Plan { entries: list(&update["entries"]).map(plan_entry).collect() },
        "usage_update" => Activity::Usage(context_usage(update)),
        "current_mode_update" => Activity::Mode {
            id: short(&update["currentModeId"]).or_else(|| short(&update["modeId"])).unwrap_or_default(),
        },
        "available_commands_update" => Activity::Commands {
            names: list(&update["availableCommands"]).filter_map(|command| short(&command["name"])).collect(),
        },
        unknown => other(unknown, size),
    }
}

/// An activity of a kind that is not known.
pub(super) fn other(kind: &str, size: usize) -> Activity {
    Activity::Other { kind: cut(kind, WHOLE), size }
}

/// The text of a content block, if it is one of text.
fn content_text(content: &Value) -> Option<String> {
    content.as_str().or_else(|| content["text"].as_str()).map(str::to_owned)
}

/// A tool call, whole or as an update.
pub(super) fn tool_call(update: &Value, size: usize) -> ToolCall {
    ToolCall {
        id: update["toolCallId"].as_str().map(identity).unwrap_or_default(),
        title: short(&update["title"]),
        name: short(&update["name"])
            .or_else(|| short(&update["_meta"]["claudeCode"]["toolName"]))
            .or_else(|| mcp_name(update)),
        kind: short(&update["kind"]),
        status: short(&update["status"]),
        locations: list(&update["locations"]).take(100).filter_map(|at| short(&at["path"])).collect(),
        size,
    }
}

/// The name of a tool of an MCP server where it is told as `mcp.SERVER.TOOL`, with both in the input again. The input
/// alone is what a model wrote, and the title alone may be a command of a shell.
fn mcp_name(update: &Value) -> Option<String> {
    let (server, tool) = (update["rawInput"]["server"].as_str()?, update["rawInput"]["tool"].as_str()?);
    let told = update["title"].as_str()? == format!("mcp.{server}.{tool}");
    told.then(|| cut(&format!("{server}-{tool}"), WHOLE))
}

fn plan_entry(entry: &Value) -> PlanEntry {
    PlanEntry {
        content: cut(entry["content"].as_str().unwrap_or_default(), WHOLE),
        status: short(&entry["status"]).unwrap_or_else(|| "pending".to_owned()),
        priority: short(&entry["priority"]).unwrap_or_else(|| "medium".to_owned()),
    }
}

fn context_usage(update: &Value) -> Usage {
    let cost = &update["cost"];
    let cost = cost["amount"].as_f64().map(|amount| match cost["currency"].as_str() {
        Some(currency) => format!("{amount} {}", cut(currency, 20)),
        None => amount.to_string(),
    });
    Usage {
        context_used: update["used"].as_u64(),
        context_size: update["size"].as_u64(),
        cost,
        ..Usage::default()
    }
}

/// What the answer to a prompt says.
pub(super) fn turn(answer: &Value) -> Option<(StopReason, Option<Usage>)> {
    let reason = match answer["stopReason"].as_str()? {
        "end_turn" => StopReason::EndTurn,
        "max_tokens" => StopReason::MaxTokens,
        "max_turn_requests" => StopReason::MaxTurnRequests,
        "refusal" => StopReason::Refusal,
        "cancelled" => StopReason::Cancelled,
        unknown => StopReason::Other(cut(unknown, WHOLE)),
    };
    let usage = &answer["usage"];
    let usage = usage.is_object().then(|| Usage {
        input_tokens: usage["inputTokens"].as_u64(),
        output_tokens: usage["outputTokens"].as_u64(),
        total_tokens: usage["totalTokens"].as_u64(),
        ..Usage::default()
    });
    Some((reason, usage))
}

/// The answers that a permission request leaves open. One without an id cannot be chosen.
pub(super) fn permission_options(params: &Value) -> Vec<PermissionOption> {
    let option = |option: &Value| {
        Some(PermissionOption {
            id: option["optionId"].as_str().filter(|id| id.len() <= NAME)?.to_owned(),
            name: short(&option["name"]).unwrap_or_default(),
            kind: short(&option["kind"]).unwrap_or_default(),
        })
    };
    list(&params["options"]).filter_map(option).collect()
}

/// An error's words.
pub(super) fn message(text: &str) -> String {
    cut(text, WHOLE)
}

/// An error's words with what it says beside them: the cause often stands in the data only.
pub(super) fn error_words(text: &str, data: Option<&Value>) -> String {
    match data {
        None | Some(Value::Null) => message(text),
        Some(Value::String(more)) => message(&format!("{text}: {more}")),
        Some(more) => message(&format!("{text}: {more}")),
    }
}

/// A short text.
pub(super) fn short(value: &Value) -> Option<String> {
    value.as_str().map(|text| cut(text, WHOLE))
}

/// What a call is known by: its id, or in the place of an absurdly long one what tells it from others.
fn identity(id: &str) -> String {
    if id.len() <= NAME {
        return id.to_owned();
    }
    let mut hasher = std::hash::DefaultHasher::new();
    std::hash::Hash::hash(id, &mut hasher);
    format!("long-{:016x}-{}", std::hash::Hasher::finish(&hasher), id.len())
}

/// The beginning of a list.
pub(super) fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten().take(MANY)
}

/// The beginning of a text, cut between characters.
pub(super) fn cut(text: &str, characters: usize) -> String {
    text.chars().take(characters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(update: &Value) -> Activity {
        activity(&json!({"sessionId": "s", "update": update}), 7)
    }

    #[test]
    fn unknown_kinds_and_odd_shapes_are_told_and_never_an_error() {
        assert_eq!(of(&json!({"sessionUpdate": "brand_new", "x": 1})), other("brand_new", 7));
        assert_eq!(of(&json!({})), other("unnamed", 7));
        assert_eq!(of(&json!([])), other("unnamed", 7));
        assert_eq!(activity(&Value::Null, 7), other("unnamed", 7));
        let image =
            json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "image", "data": "x"}});
        assert_eq!(of(&image), other("agent_message_chunk:image", 7));
        let call = json!({"sessionUpdate": "tool_call", "toolCallId": 5, "status": "sparkling", "locations": [{"path": "/a"}, 3], "extra": {}});
        let expected = ToolCall {
            status: Some("sparkling".to_owned()),
            locations: vec!["/a".to_owned()],
            size: 7,
            ..ToolCall::default()
        };
        assert_eq!(of(&call), Activity::ToolCall(expected));
        let plan = json!({"sessionUpdate": "plan", "entries": [{"content": "one"}, 1]});
        assert!(matches!(of(&plan), Activity::Plan { entries } if entries.len() == 2));
    }

    #[test]
    fn a_tool_of_an_mcp_server_is_named_only_where_title_and_input_agree() {
        let name = |title: &str, input: Value| {
            let update =
                json!({"sessionUpdate": "tool_call", "kind": "execute", "title": title, "rawInput": input});
            let Activity::ToolCall(call) = of(&update) else { panic!() };
            call.name
        };
        let input = json!({"server": "agent-mate", "tool": "demo__note", "arguments": {}});
        assert_eq!(
            name("mcp.agent-mate.demo__note", input.clone()).as_deref(),
            Some("agent-mate-demo__note")
        );
        assert_eq!(name("rm -r /", input), None);
        assert_eq!(name("mcp.agent-mate.demo__note", json!({"command": "mcp.agent-mate.demo__note"})), None);
    }

    #[test]
    fn texts_and_lists_are_cut() {
        let title = "ß".repeat(WHOLE + 1);
        let entries: Vec<Value> = (0..MANY + 1).map(|_| json!({"content": title})).collect();
        let Activity::Plan { entries } = of(&json!({"sessionUpdate": "plan", "entries": entries})) else {
            panic!()
        };
        assert_eq!((entries.len(), entries[0].content.chars().count()), (MANY, WHOLE));
    }

    #[test]
    fn every_stop_reason_is_known_or_told() {
        assert_eq!(turn(&json!({"stopReason": "end_turn"})), Some((StopReason::EndTurn, None)));
        assert_eq!(turn(&json!({"stopReason": "bored"})).unwrap().0, StopReason::Other("bored".to_owned()));
        assert_eq!(turn(&json!({"stopReason": null})), None);
        let usage = turn(&json!({"stopReason": "refusal", "usage": {"totalTokens": 3, "inputTokens": -1}}))
            .unwrap()
            .1
            .unwrap();
        assert_eq!((usage.total_tokens, usage.input_tokens), (Some(3), None));
    }
}
