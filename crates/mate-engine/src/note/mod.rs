//! The recovery note: what is on record of the work that a task continues, told to the agent before anything else.
//!
//! It holds facts of the record and no words of an agent or a tool but names and allowed fields, and those are
//! quoted. It is made when the prompt is, so that it says what is known then.

mod gather;
mod write;

use crate::{Engine, EngineError};
use gather::Past;
use mate_model::{TaskId, records::Task};
use serde_json::{Value, json};

/// How many calls of one kind a note lists.
const LISTED: usize = 40;
/// The longest note, in bytes; a longer one lists fewer calls.
const MAX_NOTE: usize = 16 * 1024;

/// A recovery note.
#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    /// What the prompt begins with. Not redacted as a whole yet.
    pub text: String,
    /// What it says, for the record: the tasks, and how many calls ended how.
    pub facts: Value,
}

impl Engine {
    /// The note for a task that continues another; none for one that does not.
    ///
    /// # Errors
    /// The ledger's. A journal that cannot be read is said in the note.
    pub async fn recovery_note(&self, task: &Task) -> Result<Option<Note>, EngineError> {
        if task.continues.is_none() {
            return Ok(None);
        }
        let past = gather::past(self, task).await?;
        let tasks: Vec<TaskId> = past.tasks.iter().map(|earlier| earlier.task).collect();
        let facts = json!({ "continues": tasks, "earlier": past.more, "counts": past.counts(),
            "uncertain": past.uncertain.ids(), "unread": past.unread });
        Ok(Some(Note { text: bounded(&past), facts }))
    }
}

/// The words, with as many calls of each kind as there is room for.
fn bounded(past: &Past) -> String {
    let mut most = LISTED;
    let mut text = write::text(past, most);
    while text.len() > MAX_NOTE && most > 1 {
        most /= 2;
        text = write::text(past, most);
    }
    text
}

#[cfg(test)]
mod tests;
