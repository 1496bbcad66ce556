//! What a recipe may hold.

use super::{Condition, Recipe, fill};
use serde_json::Value;

/// The most conditions of one kind.
const MAX_CONDITIONS: usize = 20;
/// The longest text in a recipe, in bytes.
const MAX_TEXT: usize = 1024;
/// The most bytes of a whole recipe.
const MAX_BYTES: usize = 16 * 1024;
/// How deep arguments and values may go.
const MAX_DEPTH: usize = 8;
/// The longest that `after_seconds` may be: no look comes later than the last pause.
const MAX_AFTER: u32 = 3600;

/// What is wrong with a recipe.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {why}")]
pub struct BadRecipe {
    /// Where, as a path in the recipe.
    pub at: String,
    /// What is wrong, and what would be right.
    pub why: String,
}

fn bad<T>(at: impl Into<String>, why: impl Into<String>) -> Result<T, BadRecipe> {
    Err(BadRecipe { at: at.into(), why: why.into() })
}

impl Recipe {
    /// Refuses what cannot be used. Patterns of tools are for the caller to check.
    ///
    /// `may_use` says of a field's name whether it is recorded for the tools of this recipe.
    ///
    /// # Errors
    /// Where it is wrong.
    pub fn check(&self, may_use: &dyn Fn(&str) -> bool) -> Result<(), BadRecipe> {
        let size = serde_json::to_string(self).map_or(usize::MAX, |text| text.len());
        if size > MAX_BYTES {
            return bad("recipe", "more than 16 KiB");
        }
        if !(1..=128).contains(&self.ask.len()) || self.ask.chars().any(char::is_control) {
            return bad("ask", "must be the name of a tool of this connection");
        }
        if self.after_seconds > MAX_AFTER {
            return bad("after_seconds", "must be 0 to 3600");
        }
        if self.happened.is_empty() && self.did_not_happen.is_empty() {
            return bad("happened", "at least one of `happened` and `did_not_happen` needs a condition");
        }
        if let Some(about) = &self.about
            && (about.trim().is_empty() || about.len() > 200 || about.chars().any(char::is_control))
        {
            return bad("about", "must be 1 to 200 bytes of text on one line");
        }
        for (name, value) in &self.arguments {
            value_is_good(value, &format!("arguments.{name}"), may_use, 1)?;
        }
        for (kind, conditions) in [("happened", &self.happened), ("did_not_happen", &self.did_not_happen)] {
            if conditions.len() > MAX_CONDITIONS {
                return bad(kind, "has more than 20 conditions");
            }
            for (index, condition) in conditions.iter().enumerate() {
                condition.check(&format!("{kind}[{index}]"), may_use)?;
            }
        }
        Ok(())
    }
}

impl Condition {
    fn check(&self, path: &str, may_use: &dyn Fn(&str) -> bool) -> Result<(), BadRecipe> {
        let given =
            [self.equals.is_some(), self.contains.is_some(), self.exists.is_some(), self.count.is_some()];
        if given.iter().filter(|given| **given).count() != 1 {
            return bad(path, "needs exactly one of `equals`, `contains`, `exists` and `count`");
        }
        match &self.at {
            Some(at) => pointer_is_good(at, path)?,
            None if self.exists.is_some() || self.count.is_some() => {
                return bad(
                    format!("{path}.at"),
                    "`exists` and `count` need a JSON pointer such as `/items`",
                );
            }
            None => {}
        }
        if let Some(value) = &self.equals {
            value_is_good(value, &format!("{path}.equals"), may_use, 1)?;
        }
        if let Some(text) = &self.contains {
            if text.is_empty() {
                return bad(format!("{path}.contains"), "is empty: every text holds that");
            }
            text_is_good(text, &format!("{path}.contains"), may_use)?;
        }
        match self.count {
            Some(count) if count.at_least.is_none() && count.at_most.is_none() => {
                bad(format!("{path}.count"), "needs `at_least`, `at_most`, or both")
            }
            Some(count) if count.at_least.zip(count.at_most).is_some_and(|(least, most)| least > most) => {
                bad(format!("{path}.count"), "`at_least` is more than `at_most`")
            }
            Some(_) | None => Ok(()),
        }
    }
}

fn pointer_is_good(pointer: &str, path: &str) -> Result<(), BadRecipe> {
    let escapes = pointer.match_indices('~').all(|(at, _)| {
        pointer.get(at + 1..).is_some_and(|rest| rest.starts_with('0') || rest.starts_with('1'))
    });
    let rooted = pointer.is_empty() || pointer.starts_with('/');
    if rooted && escapes && pointer.len() <= 256 && !pointer.chars().any(char::is_control) {
        return Ok(());
    }
    bad(format!("{path}.at"), "must be a JSON pointer such as `/issue/number`, of at most 256 bytes")
}

fn value_is_good(
    value: &Value,
    path: &str,
    may_use: &dyn Fn(&str) -> bool,
    depth: usize,
) -> Result<(), BadRecipe> {
    if depth > MAX_DEPTH {
        return bad(path, "is nested deeper than 8 levels");
    }
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
        Value::String(text) => text_is_good(text, path, may_use),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .try_for_each(|(n, item)| value_is_good(item, &format!("{path}[{n}]"), may_use, depth + 1)),
        Value::Object(fields) => fields
            .iter()
            .try_for_each(|(name, item)| value_is_good(item, &format!("{path}.{name}"), may_use, depth + 1)),
    }
}

fn text_is_good(text: &str, path: &str, may_use: &dyn Fn(&str) -> bool) -> Result<(), BadRecipe> {
    if text.len() > MAX_TEXT || text.contains('\0') {
        return bad(path, "longer than 1 KiB, or holds a NUL character");
    }
    for name in fill::names(text).or_else(|why| bad(path, why))? {
        match name.strip_prefix("field.") {
            Some(field) if !may_use(field) => {
                return bad(
                    path,
                    format!(
                        "the field `{field}` is not recorded: allow it for these tools with --allow-field TOOL.{field}"
                    ),
                );
            }
            Some(_) => {}
            None if matches!(name.as_str(), "operation" | "trace" | "requested_at") => {}
            None => {
                return bad(
                    path,
                    format!(
                        "`{{{name}}}` is no placeholder: there are {{operation}}, {{trace}}, {{requested_at}} and \
                         {{field.NAME}}; write {{{{ and }}}} for braces"
                    ),
                );
            }
        }
    }
    Ok(())
}
