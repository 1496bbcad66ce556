//! Reading a journal's events.

use super::JournalReader;
use crate::{
    Row, StoreError,
    chain::{ChainReport, Walk, genesis},
    decode,
    page::Page,
    params::{one_more, params},
};
use mate_model::{
    SessionId, TaskId,
    event::{Event, EventType, Log},
};

const ALL: &str = "SELECT seq, prev, epoch, task, turn, type, at, data FROM journal_events
    WHERE session = $1 AND seq > $2 ORDER BY seq LIMIT $3";
const OF_TASK: &str = "SELECT seq, prev, epoch, task, turn, type, at, data FROM journal_events
    WHERE session = $1 AND task = $2 AND seq > $3 ORDER BY seq LIMIT $4";
const TAIL: &str = "SELECT seq, prev, epoch, task, turn, type, at, data FROM journal_events
    WHERE session = $1 ORDER BY seq DESC LIMIT $2";
const TAIL_OF_TASK: &str = "SELECT seq, prev, epoch, task, turn, type, at, data FROM journal_events
    WHERE session = $1 AND task = $2 ORDER BY seq DESC LIMIT $3";
const BEFORE_OF_TASK: &str = "SELECT seq, prev, epoch, task, turn, type, at, data FROM journal_events
    WHERE session = $1 AND task = $2 AND seq < $3 ORDER BY seq DESC LIMIT $4";
const LAST_OF_TYPE: &str = "SELECT seq, prev, epoch, task, turn, type, at, data FROM journal_events
    WHERE session = $1 AND task = $2 AND type = $3 ORDER BY seq DESC LIMIT 1";
const CHAIN: &str = "SELECT seq, epoch, task, turn, type, at, data, hash FROM journal_events
    WHERE session = $1 AND seq > $2 ORDER BY seq LIMIT 1000";

fn decode(row: &Row, session: SessionId) -> Result<Event, StoreError> {
    Ok(Event {
        log: Log::Journal,
        seq: row.int("seq")?,
        prev: row.opt_int("prev")?,
        session: Some(session),
        task: row.opt_parse("task")?,
        turn: row.opt_parse("turn")?,
        epoch: Some(decode::epoch(row, "epoch")?),
        kind: row.parse("type")?,
        at: decode::micros(row, "at")?,
        data: decode::json(row, "data")?,
    })
}

impl JournalReader {
    /// Events after number `after`, in order; of one task, if that is given.
    ///
    /// # Errors
    /// The store's.
    pub async fn events(
        &self,
        task: Option<TaskId>,
        after: i64,
        limit: u32,
    ) -> Result<Page<Event, i64>, StoreError> {
        let key = self.key.clone();
        let rows = match task {
            Some(task) => self.db.fetch(OF_TASK, params![key, task, after, one_more(limit)]).await?,
            None => self.db.fetch(ALL, params![key, after, one_more(limit)]).await?,
        };
        Page::read(&rows, limit, |row| decode(row, self.session), |row| row.int("seq"))
    }

    /// The last `limit` events, in order; of one task, if that is given. `next` is not used.
    ///
    /// # Errors
    /// The store's.
    pub async fn tail(&self, task: Option<TaskId>, limit: u32) -> Result<Page<Event, i64>, StoreError> {
        let (key, most) = (self.key.clone(), i64::from(limit.clamp(1, crate::page::MAX_PAGE)));
        let mut rows = match task {
            Some(task) => self.db.fetch(TAIL_OF_TASK, params![key, task, most]).await?,
            None => self.db.fetch(TAIL, params![key, most]).await?,
        };
        rows.reverse();
        Page::read(&rows, limit, |row| decode(row, self.session), |row| row.int("seq"))
    }

    /// The events of a task before number `before`, in order, the last `limit` of them. `next` is the number that still
    /// earlier ones come before, if there are any.
    ///
    /// # Errors
    /// The store's.
    pub async fn events_before(
        &self,
        task: TaskId,
        before: i64,
        limit: u32,
    ) -> Result<Page<Event, i64>, StoreError> {
        let values = params![self.key.clone(), task, before, one_more(limit)];
        let rows = self.db.fetch(BEFORE_OF_TASK, values).await?;
        let mut page = Page::read(&rows, limit, |row| decode(row, self.session), |row| row.int("seq"))?;
        page.items.reverse();
        Ok(page)
    }

    /// The last event of one type of a task.
    ///
    /// # Errors
    /// The store's, and [`StoreError::Corrupt`].
    pub async fn last_event(&self, task: TaskId, kind: EventType) -> Result<Option<Event>, StoreError> {
        let rows = self.db.fetch(LAST_OF_TYPE, params![self.key.clone(), task, kind]).await?;
        decode::first(&rows, |row| decode(row, self.session))
    }

    /// Walks along the whole chain. Events that come while it walks are not judged.
    ///
    /// # Errors
    /// The store's; a broken chain is an answer and no error.
    pub async fn verify_chain(&self) -> Result<ChainReport, StoreError> {
        let owner = self.session.to_string();
        let head = self.head().await?;
        let (seq, hash) =
            head.map_or_else(|| (0, genesis(Log::Journal, &owner)), |head| (head.seq, head.hash));
        let mut walk = Walk::new(Log::Journal, &owner);
        loop {
            let rows = self.db.fetch(CHAIN, params![self.key.clone(), walk.report.good]).await?;
            let mut stepped = false;
            for row in rows.iter().filter(|row| row.int("seq").is_ok_and(|n| n <= seq)) {
                stepped = walk.step(row);
            }
            if !stepped {
                return Ok(walk.end(seq, &hash));
            }
        }
    }
}
