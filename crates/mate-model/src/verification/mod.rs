//! Verification recipes: how a read tool of a connection is asked whether a call has happened, and what its answer
//! says. A recipe proves an outcome or leaves it open; it never guesses.

mod check;
mod fill;
mod strict;
mod weigh;

pub use check::BadRecipe;
pub use fill::{Known, Unfillable};
pub use weigh::{Answer, BadAnswer};

use crate::words::words;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// How many looks are taken without being asked, at most.
pub const MAX_TRIES: i64 = 6;

/// The pauses after each of them, in seconds.
const PAUSES: [i64; 5] = [5, 30, 120, 600, 3600];

/// The pause after the look with this number, counted from 1, in seconds; none: that was the last one.
#[must_use]
pub fn pause_after(tries: i64) -> Option<i64> {
    usize::try_from(tries).ok()?.checked_sub(1).and_then(|index| PAUSES.get(index).copied())
}

/// How certain tools of a connection are verified.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// Patterns of the tools whose calls it verifies; of several recipes the first one that fits is used.
    pub tools: Vec<String>,
    /// The tool of the same connection that is asked; its effect class must be `read`.
    pub ask: String,
    /// Its arguments. Strings may hold `{operation}`, `{trace}`, `{requested_at}` and `{field.NAME}`.
    #[serde(default)]
    pub arguments: Map<String, Value>,
    /// What the answer must say, all of it, for the call to have happened.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub happened: Vec<Condition>,
    /// What the answer must say, all of it, for the call not to have happened.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub did_not_happen: Vec<Condition>,
    /// How long after the call was given up an answer proves that it did not happen, in seconds: until then it may
    /// still be on its way, or being worked on.
    #[serde(default = "after_seconds")]
    pub after_seconds: u32,
    /// What is looked at, in words, for whoever reads the evidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
}

const fn after_seconds() -> u32 {
    30
}

/// One condition on an answer. Exactly one of the four tests is given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// A JSON pointer into the structured content, or into the text where that is JSON; none: the text itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// The value is this one. Strings may hold placeholders.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub equals: Option<Value>,
    /// The text holds this one, or the list has it as an item. May hold placeholders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contains: Option<String>,
    /// There is a value there, or none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exists: Option<bool>,
    /// The list has so many items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<Count>,
}

/// How many items a list has; at least one bound is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Count {
    /// So many or more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<u64>,
    /// So many or fewer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<u64>,
}

/// `null` is a value to compare with, unlike nothing.
fn given<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

words!(/// What a look at the upstream comes to.
Look, "what a look comes to" {
    /// The call happened.
    Happened = "happened",
    /// It did not happen.
    DidNotHappen = "did_not_happen",
    /// The upstream's own record says that it ended without success.
    Failed = "failed",
    /// The upstream's own record says that it is still being worked on.
    Working = "working",
    /// The answer says that it did not happen, and it may still be on its way.
    TooEarly = "too_early",
    /// The answer says neither, both, or nothing that can be read; or the upstream could not be asked.
    CannotTell = "cannot_tell",
});

/// What an answer says, with the words for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// What it comes to.
    pub look: Look,
    /// Why, in the recipe's words.
    pub why: String,
}

#[cfg(test)]
mod tests;
