//! The sessions that a session goes on from: its first task continues one of another session (`--fresh`).

use crate::{Engine, EngineError};
use mate_model::SessionId;

/// The longest line of sessions that go on afresh, one from the other.
const LONGEST: usize = 64;

impl Engine {
    /// The sessions that a session goes on from, the nearest first; none for most. It never changes, since a session's
    /// first task does not.
    ///
    /// # Errors
    /// The ledger's, or that the line is longer than can be looked along: then nothing may be admitted in it.
    pub async fn earlier_sessions(&self, session: SessionId) -> Result<Vec<SessionId>, EngineError> {
        let mut line = Vec::new();
        let mut last = session;
        loop {
            let first = self.ledger.tasks_of_session(last, Some(2), 1).await?;
            if let Some(corrupt) = first.corrupt.into_iter().next() {
                return Err(EngineError::from(corrupt));
            }
            let Some(continued) = first.items.first().and_then(|task| task.continues) else {
                return Ok(line);
            };
            let earlier = self.ledger.task(continued).await?.ok_or(EngineError::NotFound)?;
            if earlier.session == last {
                return Ok(line);
            }
            if line.len() >= LONGEST {
                return Err(EngineError::Unavailable(format!(
                    "{session} goes on from more than {LONGEST} sessions; submit the work as a new task"
                )));
            }
            last = earlier.session;
            line.push(last);
        }
    }
}
