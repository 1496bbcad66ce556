//! Reads one session's journal.

use super::turn_row;
use crate::{
    Database, Row, StoreError, Value,
    chain::Hash,
    decode,
    page::Page,
    params::{one_more, params},
};
use mate_model::{Epoch, Micros, SessionId, TaskId, TurnId, records::Turn};
use std::sync::Arc;

pub(super) const HEAD: &str =
    "SELECT session, epoch, seq, head, writes, created_at FROM journal_heads WHERE session = $1";
macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT id, number, task, state, state_at, end_json, report, evidence, context, conversation, note, \
             own_activity, created_at FROM turns ",
            $rest
        )
    };
}

const TURN: &str = select!("WHERE session = $1 AND id = $2");
const ACTIVE: &str = select!("WHERE session = $1 AND state IN ('starting', 'prompted', 'settling')");
const TURNS: &str = select!("WHERE session = $1 AND number > $2 ORDER BY number LIMIT $3");
const TURNS_OF: &str = select!("WHERE session = $1 AND task = $2 AND number > $3 ORDER BY number LIMIT $4");

const LAST_PROMPTED: &str =
    select!("WHERE session = $1 AND prompted_at IS NOT NULL ORDER BY number DESC LIMIT 1");
const LAST_PROMPTED_OF: &str =
    select!("WHERE session = $1 AND task = $2 AND prompted_at IS NOT NULL ORDER BY number DESC LIMIT 1");

/// How a journal stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalHead {
    /// The epoch of the writer that took it over last.
    pub epoch: Epoch,
    /// The number of its last event; 0 when there is none.
    pub seq: i64,
    /// That event's hash.
    pub hash: Hash,
    /// When the journal began.
    pub created_at: Micros,
}

fn decode_head(row: &Row) -> Result<JournalHead, StoreError> {
    Ok(JournalHead {
        epoch: decode::epoch(row, "epoch")?,
        seq: row.int("seq")?,
        hash: decode::hash(row, "head")?,
        created_at: decode::micros(row, "created_at")?,
    })
}

/// Reads one session's journal; sees every write that was acknowledged before the call.
#[derive(Clone, Debug)]
pub struct JournalReader {
    pub(super) db: Arc<dyn Database>,
    pub(super) session: SessionId,
    pub(super) key: Value,
}

impl JournalReader {
    /// A reader of `session`'s journal in `db`.
    #[must_use]
    pub fn new(db: Arc<dyn Database>, session: SessionId) -> Self {
        Self { db, session, key: turn_row::key(session) }
    }

    /// The session.
    #[must_use]
    pub const fn session(&self) -> SessionId {
        self.session
    }

    /// How the journal stands; none when nobody began it.
    ///
    /// # Errors
    /// The store's, and [`StoreError::Corrupt`].
    pub async fn head(&self) -> Result<Option<JournalHead>, StoreError> {
        decode::first(&self.db.fetch(HEAD, params![self.key.clone()]).await?, decode_head)
    }

    /// The turn with this id.
    ///
    /// # Errors
    /// The store's, and [`StoreError::Corrupt`].
    pub async fn turn(&self, id: TurnId) -> Result<Option<Turn>, StoreError> {
        decode::first(&self.db.fetch(TURN, params![self.key.clone(), id]).await?, turn_row::decode)
    }

    /// The turn that is not over. There is at most one.
    ///
    /// # Errors
    /// The store's, and [`StoreError::Corrupt`].
    pub async fn active_turn(&self) -> Result<Option<Turn>, StoreError> {
        decode::first(&self.db.fetch(ACTIVE, params![self.key.clone()]).await?, turn_row::decode)
    }

    /// The latest turn whose prompt may have been sent; of one task, if that is given.
    ///
    /// # Errors
    /// The store's, and [`StoreError::Corrupt`].
    pub async fn last_prompted(&self, task: Option<TaskId>) -> Result<Option<Turn>, StoreError> {
        let key = self.key.clone();
        let rows = match task {
            Some(task) => self.db.fetch(LAST_PROMPTED_OF, params![key, task]).await?,
            None => self.db.fetch(LAST_PROMPTED, params![key]).await?,
        };
        decode::first(&rows, turn_row::decode)
    }

    /// Turns in order, after number `after`; of one task, if that is given.
    ///
    /// # Errors
    /// The store's.
    pub async fn turns(
        &self,
        task: Option<TaskId>,
        after: i64,
        limit: u32,
    ) -> Result<Page<Turn, i64>, StoreError> {
        let key = self.key.clone();
        let rows = match task {
            Some(task) => self.db.fetch(TURNS_OF, params![key, task, after, one_more(limit)]).await?,
            None => self.db.fetch(TURNS, params![key, after, one_more(limit)]).await?,
        };
        Page::read(&rows, limit, turn_row::decode, |row| row.int("number"))
    }
}
