//! The logs that a stream can follow, and reading them.

use super::told::Told;
use mate_engine::{Engine, EngineError};
use mate_model::{ProjectId, SessionId, TaskId, event::Event};
use mate_store::Page;
use std::sync::Arc;

/// One numbered log, or what it says of one task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Log {
    /// All that a project's ledger says.
    Project(ProjectId),
    /// What its project's ledger says of a task.
    Ledger { project: ProjectId, task: TaskId },
    /// What its session's journal says of a task.
    Journal { session: SessionId, task: TaskId },
}

/// Part of a log, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Part {
    /// The events.
    pub(super) events: Vec<Arc<Told>>,
    /// Whether there were more at that moment.
    pub(super) more: bool,
    /// No event up to this number is missing: at least the last one's, and more where the log goes on without any of ours.
    pub(super) through: i64,
}

impl Part {
    /// How many events of this size make up about two chunks of `long` bytes; at least one.
    pub(super) fn few(&self, long: usize) -> u32 {
        let size = self.events.iter().map(|told| told.size()).sum::<usize>();
        let each = size / self.events.len().max(1);
        u32::try_from((2 * long / each.max(1)).max(1)).unwrap_or(u32::MAX)
    }
}

impl Log {
    /// The number of the log's last event, whomever it is about; 0 when there is none.
    pub(super) async fn head(self, engine: &Engine) -> Result<i64, EngineError> {
        match self {
            Self::Project(project) | Self::Ledger { project, .. } => {
                Ok(engine.ledger.head(project).await?.seq)
            }
            Self::Journal { session, .. } => {
                let head = engine.stores.journal_reader(session).await?.head().await?;
                Ok(head.map_or(0, |head| head.seq))
            }
        }
    }

    /// The events after number `after`, `limit` at most, from the store.
    pub(super) async fn read(self, engine: &Engine, after: i64, limit: u32) -> Result<Part, EngineError> {
        let page = self.page(engine, after, limit).await?;
        let last = page.items.last().map_or(after, |event| event.seq);
        let (through, more) = (page.next.unwrap_or(last), page.next.is_some());
        let events = page.items.into_iter().map(|event| Arc::new(Told::of(self, event))).collect();
        Ok(Part { events, more, through })
    }

    /// A page of it as the store has it.
    pub(crate) async fn page(
        self,
        engine: &Engine,
        after: i64,
        limit: u32,
    ) -> Result<Page<Event, i64>, EngineError> {
        Ok(match self {
            Self::Project(project) => engine.ledger.events(project, after, limit).await?,
            Self::Ledger { task, .. } => engine.ledger.events_of_task(task, after, limit).await?,
            Self::Journal { session, task } => {
                engine.stores.journal_reader(session).await?.events(Some(task), after, limit).await?
            }
        })
    }

    /// What tells this log from others in a cursor.
    pub(super) fn mark(self) -> [u8; 6] {
        let name = match self {
            Self::Project(project) => format!("project {project}"),
            Self::Ledger { task, .. } => format!("ledger {task}"),
            Self::Journal { task, .. } => format!("journal {task}"),
        };
        let hash = blake3::derive_key("agent-mate log in a cursor 1", name.as_bytes());
        let mut mark = [0; 6];
        mark.copy_from_slice(&hash[..6]);
        mark
    }
}
