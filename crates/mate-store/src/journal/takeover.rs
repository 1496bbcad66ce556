//! Taking a journal over: from here on, writers with a lower epoch write nothing.

use super::{JournalError, compose::End, reader::HEAD};
use crate::{Database, Statement, StoreError, Value, chain::genesis, decode, params::params};
use mate_model::{Epoch, Micros, SessionId, event::Log};

/// Raises the epoch, or begins the journal. Counts as a write, so that what an older writer has on its way fails.
const TAKE: &str = "INSERT INTO journal_heads (session, epoch, seq, head, writes, created_at)
    VALUES ($1, $2, 0, $3, 1, $4)
    ON CONFLICT (session) DO UPDATE SET epoch = excluded.epoch, writes = journal_heads.writes + 1
    WHERE journal_heads.epoch < excluded.epoch";

const COUNTS: &str = "SELECT (SELECT MAX(number) FROM operations WHERE session = $1) AS operations,
        (SELECT MAX(number) FROM turns WHERE session = $1) AS turns";

/// What a writer finds when it takes over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Takeover {
    /// The epoch before this one; none when the journal begins now.
    pub previous_epoch: Option<Epoch>,
    /// The number of the last event.
    pub seq: i64,
    /// The number for the next operation.
    pub next_operation: u64,
    /// The number for the next turn.
    pub next_turn: i64,
}

/// Takes the journal over with `epoch`.
pub(super) async fn take(
    db: &dyn Database,
    session: SessionId,
    epoch: Epoch,
    now: Micros,
) -> Result<(Takeover, End), JournalError> {
    let key = Value::from(session);
    let before = db.fetch(HEAD, vec![key.clone()]).await?;
    let previous_epoch = decode::first(&before, |row| decode::epoch(row, "epoch"))?;
    let start = genesis(Log::Journal, &session.to_string());
    let taken = db.script(vec![Statement::one(TAKE, params![key.clone(), epoch, start, now])]).await;
    match taken {
        Ok(_) => {}
        Err(StoreError::Guard { .. }) => return Err(stale(db, &key, epoch).await?),
        Err(error) => return Err(error.into()),
    }
    let end = end(db, &key, epoch).await?;
    let counts = db.fetch(COUNTS, vec![key]).await?;
    let max = |column| decode::first(&counts, |row| row.opt_int(column)).map(|n| n.flatten().unwrap_or(0));
    let operations = u64::try_from(max("operations")?).unwrap_or(0);
    let takeover = Takeover {
        previous_epoch,
        seq: end.seq,
        next_operation: operations + 1,
        next_turn: max("turns")? + 1,
    };
    Ok((takeover, end))
}

/// Where the journal ends, if the epoch in force is still `epoch`.
pub(super) async fn end(db: &dyn Database, key: &Value, epoch: Epoch) -> Result<End, JournalError> {
    let rows = db.fetch(HEAD, vec![key.clone()]).await?;
    let row = rows.first().ok_or(JournalError::Stale { ours: epoch, current: Epoch(0) })?;
    let current = decode::epoch(row, "epoch")?;
    if current != epoch {
        return Err(JournalError::Stale { ours: epoch, current });
    }
    Ok(End { seq: row.int("seq")?, hash: decode::hash(row, "head")?, writes: row.int("writes")? })
}

async fn stale(db: &dyn Database, key: &Value, ours: Epoch) -> Result<JournalError, StoreError> {
    let rows = db.fetch(HEAD, vec![key.clone()]).await?;
    let current = decode::first(&rows, |row| decode::epoch(row, "epoch"))?.unwrap_or(Epoch(0));
    Ok(JournalError::Stale { ours, current })
}
