//! A project's log.

use super::{Ledger, LedgerError};
use crate::{
    Row, StoreError,
    chain::{ChainReport, Hash, Walk},
    decode,
    page::Page,
    params::{one_more, params},
};
use mate_model::{
    ProjectId, TaskId,
    event::{Event, Log},
};

const OF_PROJECT: &str = "SELECT seq, prev, task, turn, type, at, data FROM ledger_events
    WHERE project = $1 AND seq > $2 ORDER BY seq LIMIT $3";
const OF_TASK: &str = "SELECT seq, prev, task, turn, type, at, data FROM ledger_events
    WHERE task = $1 AND seq > $2 ORDER BY seq LIMIT $3";
const CHAIN: &str = "SELECT seq, task, turn, type, at, data, hash, CAST(NULL AS BIGINT) AS epoch
    FROM ledger_events WHERE project = $1 AND seq > $2 ORDER BY seq LIMIT 1000";
const HEAD: &str = "SELECT id, event_seq, event_head FROM projects WHERE id = $1";

/// The end of a project's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LedgerHead {
    /// The number of its last event.
    pub seq: i64,
    /// That event's hash.
    pub hash: Hash,
}

fn decode(row: &Row) -> Result<Event, StoreError> {
    Ok(Event {
        log: Log::Ledger,
        seq: row.int("seq")?,
        prev: row.opt_int("prev")?,
        session: None,
        task: row.opt_parse("task")?,
        turn: row.opt_parse("turn")?,
        epoch: None,
        kind: row.parse("type")?,
        at: decode::micros(row, "at")?,
        data: decode::json(row, "data")?,
    })
}

impl Ledger {
    /// A project's events after number `after`, in order.
    ///
    /// # Errors
    /// The store's.
    pub async fn events(
        &self,
        project: ProjectId,
        after: i64,
        limit: u32,
    ) -> Result<Page<Event, i64>, StoreError> {
        let rows = self.db.fetch(OF_PROJECT, params![project, after, one_more(limit)]).await?;
        Page::read(&rows, limit, decode, |row| row.int("seq"))
    }

    /// A task's events in its project's log after number `after`, in order.
    ///
    /// # Errors
    /// The store's.
    pub async fn events_of_task(
        &self,
        task: TaskId,
        after: i64,
        limit: u32,
    ) -> Result<Page<Event, i64>, StoreError> {
        let rows = self.db.fetch(OF_TASK, params![task, after, one_more(limit)]).await?;
        Page::read(&rows, limit, decode, |row| row.int("seq"))
    }

    /// The end of a project's log.
    ///
    /// # Errors
    /// [`LedgerError::NotFound`], and the store's.
    pub async fn head(&self, project: ProjectId) -> Result<LedgerHead, LedgerError> {
        let rows = self.db.fetch(HEAD, params![project]).await?;
        let row = rows.first().ok_or(LedgerError::NotFound("project"))?;
        Ok(LedgerHead { seq: row.int("event_seq")?, hash: decode::hash(row, "event_head")? })
    }

    /// Walks along a project's whole chain. Events that come while it walks are not judged.
    ///
    /// # Errors
    /// [`LedgerError::NotFound`], and the store's; a broken chain is an answer and no error.
    pub async fn verify_chain(&self, project: ProjectId) -> Result<ChainReport, LedgerError> {
        let head = self.head(project).await?;
        let mut walk = Walk::new(Log::Ledger, &project.to_string());
        loop {
            let rows = self.db.fetch(CHAIN, params![project, walk.report.good]).await?;
            let wanted = rows.iter().filter(|row| row.int("seq").is_ok_and(|seq| seq <= head.seq));
            let mut stepped = false;
            for row in wanted {
                stepped = walk.step(row);
            }
            if !stepped {
                return Ok(walk.end(head.seq, &head.hash));
            }
        }
    }
}
