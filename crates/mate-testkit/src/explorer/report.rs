//! What an exploration found.

use super::config::Config;
use mate_model::{task::TaskStateWord, turn::TurnStateWord};
use std::{collections::BTreeMap, fmt};

/// Something that must never be, and the shortest way to it.
#[derive(Clone, Debug)]
pub struct Violation {
    /// What is wrong.
    pub what: String,
    /// A line per step, from the submitted task.
    pub trace: Vec<String>,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.what)?;
        for (number, line) in self.trace.iter().enumerate() {
            writeln!(f, "{:3}. {line}", number + 1)?;
        }
        Ok(())
    }
}

/// What the stores hold when nothing of a session lives any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cut {
    /// The task, in the ledger.
    pub task: TaskStateWord,
    /// The turn, in the journal.
    pub turn: Option<TurnStateWord>,
    /// How the turn was over, if it was.
    pub end: Option<&'static str>,
    /// A call has a committed intent and no outcome.
    pub in_flight: bool,
    /// A call is unknown already.
    pub unknown: bool,
}

/// An exploration's result.
#[derive(Clone, Debug)]
pub struct Report {
    /// What was explored.
    pub config: Config,
    /// How many moments there are.
    pub states: usize,
    /// How many steps lead between them.
    pub steps: u64,
    /// The first thing that is wrong, if anything.
    pub violation: Option<Violation>,
    /// Where recovery leads from each cut: a set of task words, one bit each.
    pub cuts: BTreeMap<Cut, u16>,
    /// Whether a frozen worker's call went out after another worker had called it unknown (or, a read, failed).
    pub late_sends: bool,
}

/// The bit of a word in a set of task words.
#[must_use]
pub fn word_bit(word: TaskStateWord) -> u16 {
    TaskStateWord::ALL.iter().position(|other| *other == word).map_or(0, |at| 1 << at)
}

/// The words of a set.
#[must_use]
pub fn words(set: u16) -> Vec<TaskStateWord> {
    TaskStateWord::ALL.iter().copied().filter(|word| set & word_bit(*word) != 0).collect()
}
