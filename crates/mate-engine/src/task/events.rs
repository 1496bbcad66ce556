//! A task's events: two logs, each in its own order, behind one opaque cursor.

use crate::{Engine, EngineError, Principal, Verb};
use mate_model::{
    Epoch, Micros, TaskId, TurnId,
    event::{Event, EventType, Log},
};
use serde::Serialize;
use serde_json::Value;
use std::{fmt, str::FromStr};

/// A position in each of a task's two logs. Written as text it is opaque to callers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    /// The last number seen of the ledger's events.
    pub ledger: i64,
    /// The last number seen of the journal's events.
    pub journal: i64,
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "c1.{:x}.{:x}", self.ledger, self.journal)
    }
}

impl FromStr for Cursor {
    type Err = EngineError;

    fn from_str(text: &str) -> Result<Self, EngineError> {
        let bad = || EngineError::invalid("after", "not a cursor of this stream: start again without one");
        let mut parts = text.strip_prefix("c1.").ok_or_else(bad)?.split('.');
        let mut number = || {
            let part = parts.next().filter(|part| !part.is_empty() && !part.starts_with('+'))?;
            i64::from_str_radix(part, 16).ok().filter(|number| *number >= 0)
        };
        let (ledger, journal) = (number(), number());
        match (ledger, journal, parts.next()) {
            (Some(ledger), Some(journal), None) => Ok(Self { ledger, journal }),
            _ => Err(bad()),
        }
    }
}

/// An event as it is shown.
#[derive(Clone, Debug, Serialize)]
pub struct EventView {
    /// The cursor that resumes after it.
    pub id: String,
    /// Which log it is in.
    pub log: Log,
    /// Its number there.
    pub seq: i64,
    /// The number of this task's previous event in that log.
    pub prev: Option<i64>,
    /// The task.
    pub task: Option<TaskId>,
    /// The turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// The writer's epoch, in a journal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epoch: Option<Epoch>,
    /// What happened.
    #[serde(rename = "type")]
    pub kind: EventType,
    /// When.
    pub at: Micros,
    /// What there is to say.
    pub data: Value,
}

impl EventView {
    /// `event`, with the cursor that resumes after it.
    #[must_use]
    pub fn of(event: Event, id: String) -> Self {
        Self {
            id,
            log: event.log,
            seq: event.seq,
            prev: event.prev,
            task: event.task,
            turn: event.turn,
            epoch: event.epoch,
            kind: event.kind,
            at: event.at,
            data: event.data,
        }
    }
}

/// A page of events and where to go on.
#[derive(Clone, Debug, Serialize)]
pub struct EventPage {
    /// The events, oldest first.
    pub items: Vec<EventView>,
    /// The cursor after the last of them: give it back to go on.
    pub next: String,
    /// Whether there were more at that moment.
    pub more: bool,
}

impl Engine {
    /// A task's events after a cursor. Ledger events come before journal events of the same page by their times.
    ///
    /// # Errors
    /// [`EngineError::NotFound`] when the task does not exist, or not for this caller; a cursor that lies
    /// in the future.
    pub async fn task_events(
        &self,
        who: &Principal,
        task: TaskId,
        after: Cursor,
        limit: u32,
    ) -> Result<EventPage, EngineError> {
        let task = self.task_for(who, task, Verb::TaskEvents).await?;
        let reader = self.stores.journal_reader(task.session).await?;
        let ledger = self.ledger.events_of_task(task.id, after.ledger, limit).await?;
        let journal = reader.events(Some(task.id), after.journal, limit).await?;
        let more = ledger.next.is_some() || journal.next.is_some();
        let mut cursor = after;
        let merged = merge(ledger.items, journal.items, limit as usize);
        let items = merged
            .into_iter()
            .map(|event| {
                match event.log {
                    Log::Ledger => cursor.ledger = event.seq,
                    Log::Journal => cursor.journal = event.seq,
                }
                view(event, cursor)
            })
            .collect();
        Ok(EventPage { items, next: cursor.to_string(), more })
    }

    /// Whether a cursor points behind the last event of either log: it was never given out.
    ///
    /// # Errors
    /// As [`Engine::task_events`].
    pub async fn is_ahead(&self, who: &Principal, task: TaskId, cursor: Cursor) -> Result<bool, EngineError> {
        let task = self.task_for(who, task, Verb::TaskEvents).await?;
        let journal =
            self.stores.journal_reader(task.session).await?.head().await?.map_or(0, |head| head.seq);
        let ledger = self.ledger.head(task.project).await?.seq;
        Ok(cursor.journal > journal || cursor.ledger > ledger)
    }
}

/// Merges by time, each log staying in its own order.
fn merge(ledger: Vec<Event>, journal: Vec<Event>, limit: usize) -> Vec<Event> {
    let mut merged = Vec::with_capacity(limit.min(ledger.len() + journal.len()));
    let (mut left, mut right) = (ledger.into_iter().peekable(), journal.into_iter().peekable());
    while merged.len() < limit {
        let next = match (left.peek(), right.peek()) {
            (Some(a), Some(b)) if a.at <= b.at => left.next(),
            (Some(_), None) => left.next(),
            (_, Some(_)) => right.next(),
            (None, None) => None,
        };
        match next {
            Some(event) => merged.push(event),
            None => break,
        }
    }
    merged
}

/// An event that is shown by itself: its id resumes after it in its own log only.
pub(super) fn alone(event: Event) -> EventView {
    let cursor = match event.log {
        Log::Ledger => Cursor { ledger: event.seq, journal: 0 },
        Log::Journal => Cursor { ledger: 0, journal: event.seq },
    };
    view(event, cursor)
}

fn view(event: Event, cursor: Cursor) -> EventView {
    EventView::of(event, cursor.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_reads_back_and_nothing_else_does() {
        let cursor = Cursor { ledger: 300, journal: 17 };
        assert_eq!(cursor.to_string().parse::<Cursor>().expect("reads"), cursor);
        for bad in ["", "c1", "c1.", "c1.1", "c1.1.2.3", "c1.-1.2", "c1.+1.2", "c2.1.2", "c1.g.1", "abc", "0"]
        {
            assert!(bad.parse::<Cursor>().is_err(), "{bad}");
        }
    }
}
