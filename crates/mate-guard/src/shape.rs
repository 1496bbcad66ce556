//! What is recorded of arguments: names, types and sizes, and the fields that may be seen.

use crate::{canonical::Json, redact::Redactor, text};
use serde_json::{Map, Value, json};

/// How many fields a shape lists in all.
pub const MAX_FIELDS: usize = 100;
/// How deep it goes.
pub const MAX_DEPTH: usize = 6;
const NAME_LIMIT: usize = 64;
const VALUE_LIMIT: usize = 512;

/// The shape of `arguments`: bounded, redacted, every name and value escaped.
///
/// `allowed` are the dotted paths (`title`, `issue.labels`) whose values the connection says may be
/// kept. A name that itself holds a dot cannot be allowed.
///
/// An object is `{"type": "object", "size": FIELDS, "fields": [{"name", ...}], "omitted"?: N}`, an
/// array `{"type": "array", "size": ITEMS, "of": [TYPES]}`, a string has its size in characters, and
/// an allowed field has its `value` as well.
#[must_use]
pub fn of(arguments: &Json, allowed: &[&str], redactor: &Redactor) -> Value {
    let mut drawing = Drawing { allowed, redactor, left: MAX_FIELDS };
    Value::Object(drawing.shape(arguments, "", 1))
}

struct Drawing<'a> {
    allowed: &'a [&'a str],
    redactor: &'a Redactor,
    left: usize,
}

impl Drawing<'_> {
    fn shape(&mut self, value: &Json, path: &str, depth: usize) -> Map<String, Value> {
        let mut shape = Map::new();
        shape.insert("type".into(), type_of(value).into());
        match value {
            Json::Null | Json::Bool(_) | Json::Number(_) => {}
            Json::String(text) => {
                shape.insert("size".into(), text.chars().count().into());
            }
            Json::Array(items) => {
                shape.insert("size".into(), items.len().into());
                let mut types: Vec<_> = items.iter().map(type_of).collect();
                types.sort_unstable();
                types.dedup();
                shape.insert("of".into(), json!(types));
            }
            Json::Object(fields) => {
                shape.insert("size".into(), fields.len().into());
                self.fields(fields, path, depth, &mut shape);
            }
        }
        if !path.is_empty() && self.allowed.contains(&path) {
            shape.insert("value".into(), self.kept(value));
        }
        shape
    }

    fn fields(
        &mut self,
        fields: &[(String, Json)],
        path: &str,
        depth: usize,
        shape: &mut Map<String, Value>,
    ) {
        let mut listed = Vec::new();
        for (name, value) in fields {
            if depth > MAX_DEPTH || self.left == 0 {
                break;
            }
            self.left -= 1;
            let inner = if name.contains('.') { String::new() } else { joined(path, name, depth) };
            let mut field = Map::new();
            field.insert("name".into(), text::line(&self.redactor.redact(name), NAME_LIMIT).into());
            field.append(&mut self.shape(value, &inner, depth + 1));
            listed.push(Value::Object(field));
        }
        if listed.len() < fields.len() {
            shape.insert("omitted".into(), (fields.len() - listed.len()).into());
        }
        shape.insert("fields".into(), listed.into());
    }

    /// Redacted before it is cut, so that no half of a secret is left at the edge.
    fn kept(&self, value: &Json) -> Value {
        match value {
            Json::Null => Value::Null,
            Json::Bool(flag) => (*flag).into(),
            Json::String(text) => text::block(&self.redactor.redact(text), VALUE_LIMIT).into(),
            Json::Number(_) | Json::Array(_) | Json::Object(_) => {
                text::block(&self.redactor.redact(&value.canonical()), VALUE_LIMIT).into()
            }
        }
    }
}

/// The path of a field; empty (never allowed) below a name that cannot be part of one.
fn joined(path: &str, name: &str, depth: usize) -> String {
    match (depth, path) {
        (1, _) => name.to_owned(),
        (_, "") => String::new(),
        (_, path) => format!("{path}.{name}"),
    }
}

const fn type_of(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "boolean",
        Json::Number(_) => "number",
        Json::String(_) => "string",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(raw: &str, allowed: &[&str]) -> Value {
        let redactor = Redactor::new(["hunter2hunter2"]).expect("redactor");
        of(&Json::parse(raw).expect(raw), allowed, &redactor)
    }

    #[test]
    fn g09_values_are_not_in_a_shape() {
        let drawn = shape(r#"{"title":"päss","n":12,"tags":["a",1,"b"],"deep":{"x":null,"y":false}}"#, &[]);
        let wanted = json!({"type": "object", "size": 4, "fields": [
            {"name": "deep", "type": "object", "size": 2, "fields": [
                {"name": "x", "type": "null"}, {"name": "y", "type": "boolean"}]},
            {"name": "n", "type": "number"},
            {"name": "tags", "type": "array", "size": 3, "of": ["number", "string"]},
            {"name": "title", "type": "string", "size": 4}]});
        assert_eq!(drawn, wanted);
    }

    #[test]
    fn allowed_fields_are_kept_and_redacted() {
        let raw = r#"{"title":"use hunter2hunter2","issue":{"id":7,"a.b":1},"a":{"b":2},"issue.id":3}"#;
        let drawn = shape(raw, &["title", "issue.id", "issue.a.b"]);
        let text = drawn.to_string();
        assert!(text.contains(r#""value":"use [redacted]""#), "{text}");
        assert!(text.contains(r#"{"name":"id","type":"number","value":"7"}"#), "{text}");
        assert_eq!(text.matches("value").count(), 2, "{text}");
    }

    #[test]
    fn a_shape_is_bounded_and_escaped() {
        let wide: Vec<_> = (0..500).map(|n| format!("\"k{n}\":1")).collect();
        let drawn = shape(&format!("{{{}}}", wide.join(",")), &[]);
        assert_eq!(drawn["fields"].as_array().map(Vec::len), Some(MAX_FIELDS));
        assert_eq!(drawn["omitted"], 400);
        let deep = format!("{}1{}", r#"{"a":"#.repeat(100), "}".repeat(100));
        assert!(shape(&deep, &[]).to_string().len() < 1_000);
        let long =
            shape(&format!(r#"{{"\u001b[2J{}":"","hunter2hunter2":0}}"#, "n".repeat(5_000)), &[]).to_string();
        assert!(long.contains(r"\\u{1b}[2Jnn") && long.len() < 400 && !long.contains("hunter2"), "{long}");
    }
}
