//! Placeholders: what is known of an operation, put into a recipe's texts.

use super::{Condition, Recipe};
use serde_json::{Map, Value};

/// What is known of the operation that is verified.
#[derive(Clone, Debug)]
pub struct Known<'a> {
    /// The idempotency key that went with the call.
    pub operation: &'a str,
    /// Its W3C trace id.
    pub trace: &'a str,
    /// When it was requested, RFC 3339 UTC.
    pub requested_at: &'a str,
    /// The arguments' shape, with the values that may be recorded.
    pub shape: &'a Value,
}

/// A placeholder that nothing fits.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the field `{0}` was not recorded whole, so that it cannot be asked for")]
pub struct Unfillable(pub String);

/// A text in its parts.
enum Part {
    Text(String),
    Name(String),
}

fn parts(text: &str) -> Result<Vec<Part>, String> {
    let mut parts = Vec::new();
    let mut plain = String::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '{' | '}' if rest.next_if_eq(&c).is_some() => plain.push(c),
            '{' => {
                let mut name = String::new();
                loop {
                    match rest.next() {
                        Some('}') => break,
                        Some(c) if c != '{' => name.push(c),
                        Some(_) | None => return Err("a `{` has no `}`; write {{ for a brace".to_owned()),
                    }
                }
                if !plain.is_empty() {
                    parts.push(Part::Text(std::mem::take(&mut plain)));
                }
                parts.push(Part::Name(name));
            }
            '}' => return Err("a `}` has no `{`; write }} for a brace".to_owned()),
            c => plain.push(c),
        }
    }
    if !plain.is_empty() {
        parts.push(Part::Text(plain));
    }
    Ok(parts)
}

/// The placeholders of a text.
pub(super) fn names(text: &str) -> Result<Vec<String>, String> {
    let name = |part| match part {
        Part::Name(name) => Some(name),
        Part::Text(_) => None,
    };
    Ok(parts(text)?.into_iter().filter_map(name).collect())
}

impl Known<'_> {
    fn value(&self, name: &str) -> Result<Value, Unfillable> {
        match (name, name.strip_prefix("field.")) {
            ("operation", _) => Ok(self.operation.into()),
            ("trace", _) => Ok(self.trace.into()),
            ("requested_at", _) => Ok(self.requested_at.into()),
            (_, Some(field)) => recorded(self.shape, field).ok_or_else(|| Unfillable(field.to_owned())),
            (_, None) => Err(Unfillable(name.to_owned())),
        }
    }

    /// A text that is one placeholder keeps the type of what it stands for.
    fn text(&self, text: &str) -> Result<Value, Unfillable> {
        let parts = parts(text).map_err(Unfillable)?;
        if let [Part::Name(name)] = parts.as_slice() {
            return self.value(name);
        }
        let mut filled = String::new();
        for part in parts {
            match part {
                Part::Text(plain) => filled.push_str(&plain),
                Part::Name(name) => match self.value(&name)? {
                    Value::String(text) => filled.push_str(&text),
                    other @ (Value::Null | Value::Bool(_) | Value::Number(_)) => {
                        filled.push_str(&other.to_string());
                    }
                    Value::Array(_) | Value::Object(_) => return Err(Unfillable(name)),
                },
            }
        }
        Ok(filled.into())
    }

    fn fill(&self, value: &Value) -> Result<Value, Unfillable> {
        Ok(match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
            Value::String(text) => self.text(text)?,
            Value::Array(items) => {
                Value::Array(items.iter().map(|item| self.fill(item)).collect::<Result<_, _>>()?)
            }
            Value::Object(fields) => Value::Object(self.object(fields)?),
        })
    }

    fn object(&self, fields: &Map<String, Value>) -> Result<Map<String, Value>, Unfillable> {
        fields.iter().map(|(name, value)| Ok((name.clone(), self.fill(value)?))).collect()
    }

    fn condition(&self, condition: &Condition) -> Result<Condition, Unfillable> {
        let contains = match &condition.contains {
            None => None,
            Some(text) => Some(match self.text(text)? {
                Value::String(text) => text,
                other @ (Value::Null
                | Value::Bool(_)
                | Value::Number(_)
                | Value::Array(_)
                | Value::Object(_)) => other.to_string(),
            }),
        };
        let equals = condition.equals.as_ref().map(|value| self.fill(value)).transpose()?;
        Ok(Condition { at: condition.at.clone(), equals, contains, ..condition.clone() })
    }
}

impl Recipe {
    /// The recipe for one operation: every placeholder filled.
    ///
    /// # Errors
    /// A field that the operation was recorded without, or not whole.
    pub fn fill(&self, known: &Known<'_>) -> Result<Self, Unfillable> {
        let all = |conditions: &[Condition]| -> Result<Vec<Condition>, Unfillable> {
            conditions.iter().map(|condition| known.condition(condition)).collect()
        };
        Ok(Self {
            arguments: known.object(&self.arguments)?,
            happened: all(&self.happened)?,
            did_not_happen: all(&self.did_not_happen)?,
            ..self.clone()
        })
    }
}

/// The value of a recorded field, if it is there as it was sent: not redacted, escaped or cut.
fn recorded(shape: &Value, field: &str) -> Option<Value> {
    let mut at = shape;
    for name in field.split('.') {
        let fields = at.get("fields")?.as_array()?;
        at = fields.iter().find(|known| known.get("name").and_then(Value::as_str) == Some(name))?;
    }
    let value = at.get("value")?;
    match at.get("type")?.as_str()? {
        "string" => {
            let text = value.as_str()?;
            let whole = at.get("size")?.as_u64() == u64::try_from(text.chars().count()).ok();
            (whole && !text.contains("[redacted]")).then(|| value.clone())
        }
        "number" => serde_json::from_str::<Value>(value.as_str()?).ok().filter(Value::is_number),
        "boolean" | "null" => Some(value.clone()),
        _ => None,
    }
}
