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

    /// The argument as it was written, if the call has it.
    pub(crate) fn value(&self, arguments: &RawValue) -> Option<Box<RawValue>> {
        let found = self.path.iter().try_fold(arguments.to_owned(), |at, key| {
            Object::parse(&at).ok()?.get(key).map(ToOwned::to_owned)
        });
        found.filter(|value| value.get() != "null")
    }

    /// The argument as it stands in the header; none: the call does not have it, or it is no plain value.
    pub(crate) fn shown(&self, arguments: &RawValue) -> Option<String> {
        Some(encode(&plain(&self.value(arguments)?)?))
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

fn plain(value: &RawValue) -> Option<String> {
    match value.get() {
        known @ ("true" | "false") => Some(known.to_owned()),
        text if text.starts_with('"') => serde_json::from_str(text).ok(),
        number => whole(number).map(|number| number.to_string()),
    }
}

/// A JSON number that is a whole one every reader keeps exact, whichever way it is spelled. Read digit by digit: a
/// number of the machine's would take another one for it.
fn whole(number: &str) -> Option<i64> {
    let (negative, number) = number.strip_prefix('-').map_or((false, number), |rest| (true, rest));
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (before, after) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{before}{after}");
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let significant = digits.trim_start_matches('0');
    if significant.is_empty() {
        return Some(0);
    }
    let kept = significant.trim_end_matches('0');
    let zeros = i64::try_from(significant.len() - kept.len()).ok()?;
    let shift =
        exponent.parse::<i64>().ok()?.checked_sub(i64::try_from(after.len()).ok()?)?.checked_add(zeros)?;
    let power = 10_i64.checked_pow(u32::try_from(shift).ok()?)?;
    let whole = kept.parse::<i64>().ok()?.checked_mul(power).filter(|whole| *whole <= EXACT)?;
    Some(if negative { -whole } else { whole })
}

/// Whether a header's (decoded) value is the argument's.
pub(crate) fn same(value: &RawValue, said: &str) -> bool {
    let is_number = value.get().starts_with(|first: char| first == '-' || first.is_ascii_digit());
    if is_number {
        let said_a_number = serde_json::from_str::<&RawValue>(said).is_ok();
        return said_a_number && whole(said).is_some_and(|said| Some(said) == whole(value.get()));
    }
    plain(value).is_some_and(|plain| plain == said)
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
        let arguments = super::super::raw(&arguments);
        let shown: Vec<_> = mirrors.iter().map(|m| (m.header(), m.shown(&arguments).unwrap())).collect();
        assert_eq!(
            shown,
            [
                ("Mcp-Param-Region".to_owned(), "=?base64?IMO8?=".to_owned()),
                ("Mcp-Param-N".to_owned(), "42".to_owned()),
            ]
        );
        assert_eq!(mirrors[0].shown(&super::super::raw(&json!({ "a": null }))), None);
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
        let same = |value: &str, said: &str| same(serde_json::from_str(value).expect("JSON"), said);
        assert!(same("42", "42.0") && same("true", "true") && !same("42", "43") && same(r#""a""#, "a"));
        assert!(!same("1", "1.00000000000000000001") && !same("1.00000000000000000001", "1"));
    }

    #[test]
    fn whole_numbers_are_read_digit_by_digit() {
        for (number, wanted) in [
            ("42", Some(42)),
            ("42.0", Some(42)),
            ("-4.20e1", Some(-42)),
            ("420E-1", Some(42)),
            ("-0", Some(0)),
            ("0.000e99999", Some(0)),
            ("9007199254740991", Some(EXACT)),
            ("9007199254740992", None),
            ("9007199254740993.0", None),
            ("9007199254740991.00000000000000000001", None),
            ("1.00000000000000000001", None),
            ("0.1", None),
            ("1e400", None),
            ("1e-400", None),
            ("1e99999999999999999999", None),
            ("x", None),
        ] {
            assert_eq!(whole(number), wanted, "{number}");
        }
    }
}
