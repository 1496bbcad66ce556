//! What an answer says.

use super::{Condition, Look, Recipe, Said, strict};
use serde_json::Value;

/// A read tool's answer, as far as conditions look at it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The structured content, where there is one.
    pub structured: Option<Value>,
    /// Its texts, one after the other.
    pub text: Option<String>,
}

/// Why an answer says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadAnswer {
    /// It says `isError`.
    #[error("it answered with an error")]
    Failed,
    /// It is no result, or no JSON; or a member occurs twice in it.
    #[error("the answer cannot be read: it is no tool result, or it says a member twice")]
    Unreadable,
}

impl Answer {
    /// Reads the text of a `tools/call` result.
    ///
    /// # Errors
    /// Why it says nothing.
    pub fn read(result: &str) -> Result<Self, BadAnswer> {
        let Ok(Value::Object(result)) = strict::read(result) else { return Err(BadAnswer::Unreadable) };
        match result.get("isError") {
            None | Some(Value::Bool(false)) => {}
            Some(_) => return Err(BadAnswer::Failed),
        }
        let blocks = result.get("content").and_then(Value::as_array);
        let texts: Vec<&str> = blocks
            .into_iter()
            .flatten()
            .filter(|block| block.get("type").and_then(Value::as_str) == Some("text"))
            .filter_map(|block| block.get("text").and_then(Value::as_str))
            .collect();
        let text = (!texts.is_empty()).then(|| texts.join("\n"));
        let structured = result.get("structuredContent").filter(|value| value.is_object()).cloned();
        // Servers without structured content put their JSON into the text.
        let structured = structured.or_else(|| text.as_deref().and_then(|text| strict::read(text).ok()));
        Ok(Self { structured, text })
    }
}

/// That a condition cannot be judged by this answer.
struct Unreadable;

impl Recipe {
    /// What an answer to the filled recipe says. `after` is how long ago the call was given up, in seconds.
    ///
    /// An answer that is not of the expected kind says nothing: a wrong type, or nothing where something is compared,
    /// is not taken for a "no".
    #[must_use]
    pub fn weigh(&self, answer: &Answer, after: i64) -> Said {
        let (Ok(happened), Ok(not)) = (all(&self.happened, answer), all(&self.did_not_happen, answer)) else {
            return self.said(Look::CannotTell, "the answer is not of the kind that the recipe expects");
        };
        match (happened, not) {
            (true, false) => self.said(Look::Happened, &words(&self.happened)),
            (false, true) if after < i64::from(self.after_seconds) => {
                self.said(Look::TooEarly, &words(&self.did_not_happen))
            }
            (false, true) => self.said(Look::DidNotHappen, &words(&self.did_not_happen)),
            (true, true) => self.said(Look::CannotTell, "the answer says both"),
            (false, false) => self.said(Look::CannotTell, "the answer says neither"),
        }
    }

    /// A verdict with the recipe's words.
    #[must_use]
    pub fn said(&self, look: Look, why: &str) -> Said {
        let about = self.about.as_deref().map(|about| format!("{about}: ")).unwrap_or_default();
        Said { look, why: format!("{about}`{}`: {why}", self.ask) }
    }
}

/// No condition: this verdict is never given.
fn all(conditions: &[Condition], answer: &Answer) -> Result<bool, Unreadable> {
    let mut holds = !conditions.is_empty();
    for condition in conditions {
        holds &= condition.holds(answer)?;
    }
    Ok(holds)
}

impl Condition {
    fn holds(&self, answer: &Answer) -> Result<bool, Unreadable> {
        let text;
        let found = match &self.at {
            None => {
                text = Value::from(answer.text.as_deref().ok_or(Unreadable)?);
                Some(&text)
            }
            Some(at) => answer.structured.as_ref().ok_or(Unreadable)?.pointer(at),
        };
        if let Some(exists) = self.exists {
            return Ok(found.is_some_and(|value| !value.is_null()) == exists);
        }
        let found = found.ok_or(Unreadable)?;
        if let Some(wanted) = &self.equals {
            return equal(found, wanted);
        }
        if let Some(wanted) = &self.contains {
            return match found {
                Value::String(text) => Ok(text.contains(wanted.as_str())),
                Value::Array(items) => Ok(items.iter().any(|item| item.as_str() == Some(wanted))),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Err(Unreadable),
            };
        }
        let (Some(count), Value::Array(items)) = (self.count, found) else { return Err(Unreadable) };
        let items = u64::try_from(items.len()).unwrap_or(u64::MAX);
        Ok(count.at_least.is_none_or(|least| items >= least)
            && count.at_most.is_none_or(|most| items <= most))
    }

    fn words(&self) -> String {
        let at = self.at.as_deref().unwrap_or("the text");
        if let Some(value) = &self.equals {
            return format!("{at} equals {value}");
        }
        if let Some(text) = &self.contains {
            return format!("{at} contains {}", Value::from(text.as_str()));
        }
        if let Some(exists) = self.exists {
            return format!("{at} {}", if exists { "exists" } else { "does not exist" });
        }
        let bound = |word: &str, n: Option<u64>| n.map(|n| format!(" {word} {n}")).unwrap_or_default();
        let (least, most) = self.count.map_or((None, None), |count| (count.at_least, count.at_most));
        format!("{at} has{}{} items", bound("at least", least), bound("at most", most))
    }
}

/// Values of different types cannot be compared; `null` can be with all.
fn equal(found: &Value, wanted: &Value) -> Result<bool, Unreadable> {
    match (found, wanted) {
        (Value::Number(a), Value::Number(b)) => Ok(a == b || a.as_f64() == b.as_f64()),
        (Value::Null, _) | (_, Value::Null) => Ok(found == wanted),
        _ if std::mem::discriminant(found) == std::mem::discriminant(wanted) => Ok(found == wanted),
        _ => Err(Unreadable),
    }
}

fn words(conditions: &[Condition]) -> String {
    let all: Vec<String> = conditions.iter().map(Condition::words).collect();
    all.join(", ").chars().take(500).collect()
}
