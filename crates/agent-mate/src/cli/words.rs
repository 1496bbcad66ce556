//! Values in words for people: a command as it is typed, an argument's shape, who decided. Programs get `--json`.
//!
//! Nothing here is escaped yet; whoever prints it does that.

use super::show::{at, moment_of, span, text_at, utc};
use serde_json::{Map, Value};

/// How deep objects are told.
const DEEPEST: usize = 6;

/// A field's value in lines. What is one text stays one, however many lines it has itself.
pub(super) fn lines(field: &str, value: &Value) -> Vec<String> {
    let name = field.rsplit('.').next().unwrap_or(field);
    match (name, value) {
        ("command", Value::Array(words)) => vec![typed(words)],
        ("arguments", Value::Object(shape)) if shape.contains_key("type") => arguments(value),
        ("decision" | "recorded", Value::Object(_)) => decision(value),
        ("evidence", Value::Object(_)) => vec![evidence(value)],
        ("receipt", Value::Object(_)) => vec![receipt(value)],
        ("permission", Value::Object(_)) => vec![permission(value)],
        ("approvals_over", Value::Array(all)) => all.iter().map(over).collect(),
        ("permissions", Value::Array(all)) => all.iter().map(permission).collect(),
        ("contradiction", Value::Object(_)) => vec![contradiction(value)],
        ("limits" | "bounds", Value::Object(_)) => limits(value),
        ("verify", Value::Array(recipes)) => recipes.iter().flat_map(recipe).collect(),
        ("faults" | "warnings", Value::Array(found)) => found.iter().map(finding).collect(),
        ("containment", Value::Object(_)) => containment(value),
        ("registration", Value::Object(object)) => {
            let rest = object
                .iter()
                .filter(|(name, _)| !["command", "limits", "own_tools", "preset"].contains(&name.as_str()));
            members(&rest.map(|(name, value)| (name.clone(), value.clone())).collect(), 0)
        }
        ("artifacts", Value::Array(all)) if all.iter().any(Value::is_object) => {
            all.iter().map(|one| format!("{} ({})", text_at(one, "id"), text_at(one, "name"))).collect()
        }
        _ => any(value, 0),
    }
}

/// A value of any kind.
fn any(value: &Value, depth: usize) -> Vec<String> {
    match value {
        Value::Null => vec!["-".to_owned()],
        Value::Bool(true) => vec!["yes".to_owned()],
        Value::Bool(false) => vec!["no".to_owned()],
        Value::String(text) => vec![text.clone()],
        Value::Number(number) => vec![number.to_string()],
        Value::Array(_) | Value::Object(_) if depth >= DEEPEST => vec![value.to_string()],
        Value::Array(items) if items.iter().all(|item| !item.is_array() && !item.is_object()) => {
            vec![items.iter().flat_map(|item| any(item, depth)).collect::<Vec<_>>().join(", ")]
        }
        Value::Array(items) => items.iter().flat_map(|item| any(item, depth + 1)).collect(),
        Value::Object(object) => members(object, depth + 1),
    }
}

/// An object's members, one a line; what is not set is left out.
fn members(object: &Map<String, Value>, depth: usize) -> Vec<String> {
    let said = |value: &Value| match value {
        Value::Null => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(object) => object.values().any(|value| !value.is_null()),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    };
    let mut out = Vec::new();
    for (name, value) in object.iter().filter(|(_, value)| said(value)) {
        let name = name.replace('_', " ");
        match any(value, depth) {
            one if one.len() == 1 && !value.is_object() => out.push(format!("{name}: {}", one.concat())),
            more => {
                out.push(format!("{name}:"));
                out.extend(more.into_iter().map(|line| format!("  {line}")));
            }
        }
    }
    out
}

/// A command as a person types it.
fn typed(words: &[Value]) -> String {
    words.iter().map(|word| quoted(word.as_str().unwrap_or_default())).collect::<Vec<_>>().join(" ")
}

/// As a shell reads it as one word.
pub(super) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%,=".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The arguments of a call as far as they are on record: one a line.
fn arguments(shape: &Value) -> Vec<String> {
    if text_at(shape, "type") != "object" {
        return vec![argument(shape)];
    }
    let mut out = Vec::new();
    of_object(shape, "", 0, &mut out);
    if out.is_empty() {
        out.push("none".to_owned());
    }
    out
}

fn of_object(shape: &Value, path: &str, depth: usize, out: &mut Vec<String>) {
    for field in at(shape, "fields").as_array().into_iter().flatten() {
        let name = format!("{path}{}", text_at(field, "name"));
        let opens =
            field.get("value").is_none() && at(field, "fields").as_array().is_some_and(|f| !f.is_empty());
        if opens && depth < DEEPEST {
            of_object(field, &format!("{name}."), depth + 1, out);
        } else {
            out.push(format!("{name}: {}", argument(field)));
        }
    }
    if let Some(more) = at(shape, "omitted").as_u64() {
        out.push(format!("{path}… and {more} more"));
    }
}

/// One argument: its value where it may be seen, else what is known of it.
fn argument(shape: &Value) -> String {
    if let Some(value) = shape.get("value") {
        return match (value, text_at(shape, "type")) {
            (Value::String(text), "string") => format!("\"{text}\""),
            (value, _) => any(value, 0).join(", "),
        };
    }
    let size = at(shape, "size").as_u64().unwrap_or(0);
    match text_at(shape, "type") {
        "string" => format!("text, {}", counted(size, "character")),
        "array" => {
            let of = any(at(shape, "of"), 0).concat();
            if of.is_empty() {
                "an empty list".to_owned()
            } else {
                format!("list, {} ({of})", counted(size, "item"))
            }
        }
        "object" => format!("object, {}", counted(size, "field")),
        other => other.to_owned(),
    }
}

fn counted(number: u64, word: &str) -> String {
    if number == 1 { format!("1 {word}") } else { format!("{number} {word}s") }
}

/// What decided of a call.
fn decision(decision: &Value) -> Vec<String> {
    let names = any(at(decision, "policies"), 0).concat();
    let names = if names.is_empty() || names == "-" { String::new() } else { format!(" by {names}") };
    let mut out = vec![match (text_at(decision, "by"), text_at(decision, "effect")) {
        ("person", _) => "needs a person's leave".to_owned(),
        ("admission", "permit") => format!("permitted{names}, and refused at admission all the same"),
        ("admission", _) => "refused at admission, before grants and policies were asked".to_owned(),
        (_, "permit") => format!("permitted{names}"),
        (_, "forbid") => format!("forbidden{names}"),
        _ => "nothing permits it".to_owned(),
    }];
    let more = [
        ("failed", "could not be evaluated"),
        ("permission", "by leave for the rest of the task, given with"),
    ];
    for (field, words) in more {
        let value = at(decision, field);
        if !value.is_null() {
            out.push(format!("{words}: {}", any(value, 0).join(", ")));
        }
    }
    if let Some(second) = decision.get("second_read") {
        out.extend(lines("decision", second).into_iter().map(|line| format!("judged again: {line}")));
    }
    out
}

fn evidence(evidence: &Value) -> String {
    let kind = text_at(evidence, "kind").replace('_', " ");
    let name =
        [text_at(evidence, "by_name"), text_at(evidence, "by")].into_iter().find(|name| !name.is_empty());
    let by = name.map(|name| format!(" ({name})")).unwrap_or_default();
    format!("{kind}{by}: {}", text_at(evidence, "detail"))
}

/// Who: by name where it is there.
fn person(value: &Value, field: &str) -> String {
    let name = text_at(value, &format!("{field}_name"));
    if name.is_empty() { text_at(value, field).to_owned() } else { name.to_owned() }
}

fn when(value: &Value, field: &str) -> String {
    moment_of(at(value, field)).map(|at| format!(", {}", utc(at))).unwrap_or_default()
}

fn receipt(receipt: &Value) -> String {
    let said = if text_at(receipt, "decision") == "allow" { "allowed" } else { "denied" };
    let reason = text_at(receipt, "reason");
    let reason = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    format!(
        "{said} by {}{}, with token {}{reason}",
        person(receipt, "by"),
        when(receipt, "at"),
        text_at(receipt, "token")
    )
}

fn permission(permission: &Value) -> String {
    let revoked = if text_at(permission, "state") == "revoked" {
        when(permission, "revoked_at")
    } else {
        String::new()
    };
    let revoked = if revoked.is_empty() { revoked } else { format!("; taken back{revoked}") };
    format!(
        "{}/{} for the rest of the task, by leave of {}{}{revoked}",
        text_at(permission, "connection_name"),
        text_at(permission, "tool"),
        person(permission, "given_by"),
        when(permission, "given_at"),
    )
}

/// A request that ended without an answer or its use.
fn over(over: &Value) -> String {
    let of =
        [text_at(over, "connection_name"), text_at(over, "tool")].into_iter().filter(|name| !name.is_empty());
    format!(
        "{} {}{}: {} ({})",
        of.collect::<Vec<_>>().join("/"),
        text_at(over, "state"),
        when(over, "over_at"),
        text_at(over, "over_why"),
        text_at(over, "id"),
    )
}

fn contradiction(contrary: &Value) -> String {
    let mut said = format!("{}: {}", text_at(contrary, "as"), evidence(at(contrary, "evidence")));
    let note = text_at(contrary, "acknowledgement");
    if !note.is_empty() {
        said.push_str(&format!("; {} took note: {note}", text_at(contrary, "acknowledged_by")));
    }
    said
}

/// What the processes of a session may use.
fn limits(limits: &Value) -> Vec<String> {
    let number = |field: &str| at(limits, field).as_u64();
    let parts = [
        number("memory").map(|bytes| format!("memory {}", bytes_in_words(bytes))),
        number("processes").map(|count| format!("{count} processes")),
        number("cpu").map(|percent| format!("{percent}% of a processor")),
    ];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    vec![if parts.is_empty() { "none".to_owned() } else { parts.join(", ") }]
}

/// A number of bytes in its largest whole unit.
pub(super) fn bytes_in_words(bytes: u64) -> String {
    let units = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let unit = units.iter().find(|(_, shift)| bytes >= 1 << shift);
    match unit {
        Some((unit, shift)) if bytes.trailing_zeros() >= *shift => format!("{} {unit}", bytes >> shift),
        Some((unit, shift)) => {
            let tenths = bytes.saturating_mul(10) >> shift;
            format!("{}.{} {unit}", tenths / 10, tenths % 10)
        }
        None => format!("{bytes} bytes"),
    }
}

/// A recipe: which tools, what is asked, and what its answer proves.
fn recipe(recipe: &Value) -> Vec<String> {
    let list = |field: &str| any(at(recipe, field), 0).join(", ");
    let given =
        at(recipe, "arguments").as_object().map(|given| members(given, 0).join(", ")).unwrap_or_default();
    let given = if given.is_empty() { given } else { format!(" with {given}") };
    let mut out = vec![format!("{}: ask {}{given}", list("tools"), text_at(recipe, "ask"))];
    for (field, words) in [("happened", "it happened if"), ("did_not_happen", "it did not if")] {
        let conditions: Vec<_> = at(recipe, field).as_array().into_iter().flatten().map(condition).collect();
        if !conditions.is_empty() {
            out.push(format!("  {words} {}", conditions.join(" and ")));
        }
    }
    if let Some(seconds) = at(recipe, "after_seconds").as_i64() {
        out.push(format!("  'it did not' counts after {}", span(seconds.saturating_mul(1_000_000))));
    }
    if !text_at(recipe, "about").is_empty() {
        out.push(format!("  {}", text_at(recipe, "about")));
    }
    out
}

fn condition(condition: &Value) -> String {
    let place = text_at(condition, "at");
    let place = if place.is_empty() { "the answer" } else { place };
    let tests = ["equals", "contains", "exists", "count"];
    let Some((test, value)) = tests.iter().find_map(|test| Some((*test, condition.get(test)?))) else {
        return place.to_owned();
    };
    match test {
        "equals" => format!("{place} is {value}"),
        "contains" => format!("{place} holds {value}"),
        "exists" if *value == Value::Bool(false) => format!("nothing is at {place}"),
        "exists" => format!("something is at {place}"),
        _ => {
            let bound = |field: &str, words: &str| at(value, field).as_u64().map(|n| format!("{words} {n}"));
            let bounds = [bound("at_least", "at least"), bound("at_most", "at most")];
            format!("{place} has {} items", bounds.into_iter().flatten().collect::<Vec<_>>().join(" and "))
        }
    }
}

/// Something in the text of a policy.
fn finding(finding: &Value) -> String {
    let help = text_at(finding, "help");
    let help = if help.is_empty() { String::new() } else { format!(" ({help})") };
    format!(
        "line {}, column {}: {}{help}",
        at(finding, "line"),
        at(finding, "column"),
        text_at(finding, "message")
    )
}

/// How the processes of a session are held and confined.
fn containment(held: &Value) -> Vec<String> {
    let object = held.as_object().cloned().unwrap_or_default();
    let mut out = members(&object.into_iter().filter(|(name, _)| name != "limits").collect(), 0);
    let held_to = at(held, "limits").as_array().filter(|limits| !limits.is_empty());
    if let Some(limits) = held_to {
        out.push("limits:".to_owned());
        let each = limits.iter().map(|limit| any(limit, DEEPEST - 1).join(", "));
        out.extend(each.map(|limit| format!("  {limit}")));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_command_is_shown_as_it_is_typed() {
        assert_eq!(lines("command", &json!(["npx", "-y", "x"])), ["npx -y x"]);
        assert_eq!(
            lines("command", &json!(["sh", "-c", "a 'b'", "", "K=v"])),
            [r"sh -c 'a '\''b'\''' '' K=v"]
        );
    }

    #[test]
    fn arguments_are_told_one_a_line() {
        let shape = json!({"type": "object", "size": 4, "fields": [
            {"name": "title", "type": "string", "size": 3, "value": "Two"},
            {"name": "body", "type": "string", "size": 1200},
            {"name": "labels", "type": "array", "size": 2, "of": ["string"]},
            {"name": "meta", "type": "object", "size": 1, "fields": [{"name": "draft", "type": "boolean"}]},
        ], "omitted": 2});
        let wanted = [
            "title: \"Two\"",
            "body: text, 1200 characters",
            "labels: list, 2 items (string)",
            "meta.draft: boolean",
            "… and 2 more",
        ];
        assert_eq!(lines("arguments", &shape), wanted);
        assert_eq!(lines("arguments", &json!({"type": "object", "size": 0, "fields": []})), ["none"]);
    }

    #[test]
    fn limits_recipes_and_decisions_are_words() {
        assert_eq!(
            lines("limits", &json!({"memory": 2_u64 << 30, "processes": 200, "cpu": 150})),
            ["memory 2 GiB, 200 processes, 150% of a processor"]
        );
        assert_eq!(lines("limits", &json!({"memory": null, "processes": null, "cpu": null})), ["none"]);
        let recipe = json!([{"tools": ["slow"], "ask": "was_done", "arguments": {"key": "{field.key}"},
            "happened": [{"at": "/ended", "equals": true}], "after_seconds": 5}]);
        let wanted = [
            "slow: ask was_done with key: {field.key}",
            "  it happened if /ended is true",
            "  'it did not' counts after 5 s",
        ];
        assert_eq!(lines("verify", &recipe), wanted);
        let decided =
            json!({"by": "policy", "effect": "permit", "policies": ["grant:grt_1"], "grant": "grt_1"});
        assert_eq!(lines("decision", &decided), ["permitted by grant:grt_1"]);
        let refused = json!({"by": "admission", "effect": "none", "policies": [], "grant": null});
        assert_eq!(
            lines("decision", &refused),
            ["refused at admission, before grants and policies were asked"]
        );
    }

    #[test]
    fn what_is_not_known_here_is_told_member_by_member_and_never_as_json() {
        let value = json!({"means": "x", "more": {"deep": [{"a": 1}, {"a": 2}]}, "none": null, "empty": []});
        assert_eq!(lines("other", &value), ["means: x", "more:", "  deep:", "    a: 1", "    a: 2"]);
    }
}
