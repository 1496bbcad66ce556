//! Arguments that a tool's schema wants in HTTP headers as well (`x-mcp-header`), and how values stand in headers.

use super::Object;
use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, value::RawValue};

/// The largest whole number that every reader of JSON keeps exact.
const EXACT: i64 = (1 << 53) - 1;
/// Marks a value that stands in Base64.
const BEFORE: &str = "=?base64?";
const AFTER: &str = "?=";
/// How deep properties are looked for.
const DEEPEST: usize = 32;

/// One argument that is mirrored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mirror {
    name: String,
    /// The properties that lead to it.
    path: Vec<String>,
}

impl Mirror {
    /// The header's name.
    pub(crate) fn header(&self) -> String {
        format!("Mcp-Param-{}", self.name)
    }

    /// The argument, if the call has it.
    pub(crate) fn value<'a>(&self, arguments: &'a Value) -> Option<&'a Value> {
        let found = self.path.iter().try_fold(arguments, |at, key| at.get(key));
        found.filter(|value| !value.is_null())
    }

    /// The argument as it stands in the header; none: the call does not have it, or it is no plain value.
    pub(crate) fn shown(&self, arguments: &Value) -> Option<String> {
        Some(encode(&plain(self.value(arguments)?)?))
    }
}

/// The mirrored arguments of an input schema. The error says why the tool must not be offered over HTTP.
pub(crate) fn of_schema(schema: &RawValue) -> Result<Vec<Mirror>, String> {
    if !schema.get().contains("x-mcp-header") {
        return Ok(Vec::new());
    }
    let schema: Value = serde_json::from_str(schema.get()).map_err(|error| error.to_string())?;
    let mut found = Vec::new();
    walk(&schema, true, &mut Vec::new(), &mut found)?;
    let mut names: Vec<String> = found.iter().map(|mirror| mirror.name.to_ascii_lowercase()).collect();
    names.sort_unstable();
    if names.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err("two of its arguments want the same header".to_owned());
    }
    Ok(found)
}

/// `reachable`: only properties lead here. `path` is where this is.
fn walk(
    schema: &Value,
    reachable: bool,
    path: &mut Vec<String>,
    found: &mut Vec<Mirror>,
) -> Result<(), String> {
    if path.len() > DEEPEST {
        return Err(format!("its arguments are nested deeper than {DEEPEST} levels"));
    }
    match schema {
        Value::Array(parts) => parts.iter().try_for_each(|part| walk(part, false, path, found)),
        Value::Object(members) => {
            if let Some(header) = members.get("x-mcp-header") {
                found.push(mirror(header, members.get("type"), reachable, path)?);
            }
            for (key, part) in members {
                match (key.as_str(), part) {
                    ("properties", Value::Object(properties)) => {
                        for (name, property) in properties {
                            path.push(name.clone());
                            walk(property, reachable, path, found)?;
                            path.pop();
                        }
                    }
                    // What an argument may be, not what it is made of.
                    ("default" | "const" | "enum" | "examples", _) => {}
                    _ => walk(part, false, path, found)?,
                }
            }
            Ok(())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

fn mirror(header: &Value, kind: Option<&Value>, reachable: bool, path: &[String]) -> Result<Mirror, String> {
    let at = path.join(".");
    let name = header.as_str().filter(|name| !name.is_empty() && name.bytes().all(is_token));
    let Some(name) = name else {
        return Err(format!("the header of its argument {at:?} has no usable name"));
    };
    if !matches!(kind.and_then(Value::as_str), Some("string" | "integer" | "boolean")) {
        return Err(format!(
            "its argument {at:?} is wanted in a header, and is no text, whole number or boolean"
        ));
    }
    if !reachable || path.is_empty() {
        return Err(format!(
            "its argument {at:?} is wanted in a header, and is not always in the same place"
        ));
    }
    Ok(Mirror { name: name.to_owned(), path: path.to_vec() })
}

const fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.' | b'^'..=b'`' | b'|' | b'~')
}

fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(is) => Some(is.to_string()),
        Value::Number(number) => whole(number).map(|number| number.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn whole(number: &serde_json::Number) -> Option<i64> {
    let whole = number.as_i64().or_else(|| {
        let float = number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() <= 9e15)?;
        #[expect(clippy::cast_possible_truncation, reason = "whole, and within the range")]
        Some(float as i64)
    })?;
    (-EXACT..=EXACT).contains(&whole).then_some(whole)
}

/// Whether a header's (decoded) value is the argument's.
pub(crate) fn same(value: &Value, said: &str) -> bool {
    match value {
        Value::Number(number) => {
            let said = serde_json::from_str::<serde_json::Number>(said).ok();
            said.and_then(|said| whole(&said)).is_some_and(|said| Some(said) == whole(number))
        }
        Value::Null | Value::Bool(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
            plain(value).is_some_and(|plain| plain == said)
        }
    }
}

/// A text as it stands in a header.
pub(crate) fn encode(text: &str) -> String {
    let visible = text.bytes().all(|byte| (0x20..0x7f).contains(&byte) || byte == b'\t');
    let trimmed = text.trim_matches([' ', '\t']) == text;
    let marked = text.starts_with(BEFORE) && text.ends_with(AFTER);
    if visible && trimmed && !marked {
        text.to_owned()
    } else {
        format!("{BEFORE}{}{AFTER}", STANDARD.encode(text))
    }
}

/// The text that a header's value stands for; none: it cannot be read.
pub(crate) fn decode(value: &str) -> Option<String> {
    match value.strip_prefix(BEFORE).and_then(|rest| rest.strip_suffix(AFTER)) {
        None => Some(value.to_owned()),
        Some(coded) => String::from_utf8(STANDARD.decode(coded).ok()?).ok(),
    }
}

/// `name` or `uri`, which every request about one of the kind says in a header.
pub(crate) fn name(method: &str, params: &RawValue) -> Option<String> {
    let member = match method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
        _ => return None,
    };
    Object::parse(params).ok()?.text(member).map(|name| encode(&name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(schema: &Value) -> Result<Vec<Mirror>, String> {
        of_schema(&super::super::raw(schema))
    }

    #[test]
    fn only_plain_arguments_in_a_fixed_place_are_mirrored() {
        let good = json!({ "properties": {
            "a": { "type": "string", "x-mcp-header": "Region" },
            "b": { "type": "object", "properties": { "c": { "type": "integer", "x-mcp-header": "N" } } },
            "x-mcp-header": { "type": "string" },
        } });
        let mirrors = of(&good).expect("usable");
        let arguments = json!({ "a": " ü", "b": { "c": 42.0 } });
        let shown: Vec<_> = mirrors.iter().map(|m| (m.header(), m.shown(&arguments).unwrap())).collect();
        assert_eq!(
            shown,
            [
                ("Mcp-Param-Region".to_owned(), "=?base64?IMO8?=".to_owned()),
                ("Mcp-Param-N".to_owned(), "42".to_owned()),
            ]
        );
        assert_eq!(mirrors[0].shown(&json!({ "a": null })), None);
        for bad in [
            json!({ "properties": { "a": { "type": "string", "x-mcp-header": "" } } }),
            json!({ "properties": { "a": { "type": "string", "x-mcp-header": "a b" } } }),
            json!({ "properties": { "a": { "type": "number", "x-mcp-header": "A" } } }),
            json!({ "properties": { "a": { "type": "array", "items": { "type": "string", "x-mcp-header": "A" } } } }),
            json!({ "oneOf": [{ "properties": { "a": { "type": "string", "x-mcp-header": "A" } } }] }),
            json!({ "properties": { "a": { "type": "string", "x-mcp-header": "A" }, "b": { "type": "string", "x-mcp-header": "a" } } }),
        ] {
            assert!(of(&bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn every_text_survives_a_header() {
        for text in [
            "us-west1",
            "",
            " padded ",
            "line1\nline2",
            "Hello, 世界",
            "=?base64?literal?=",
            "a",
            "ab",
            "abc",
            "\u{0}",
        ] {
            let shown = encode(text);
            assert!(shown.bytes().all(|byte| (0x20..0x7f).contains(&byte)), "{shown}");
            assert_eq!(decode(&shown).as_deref(), Some(text));
        }
        assert_eq!(encode("Hello, 世界"), "=?base64?SGVsbG8sIOS4lueVjA==?=");
        for bad in ["=?base64?a?=", "=?base64?a===?=", "=?base64?!!!!?=", "=?base64?/w==?="] {
            assert_eq!(decode(bad), None, "{bad}");
        }
        assert!(same(&json!(42), "42.0") && same(&json!(true), "true") && !same(&json!(42), "43"));
    }
}
