//! The one way to write: a script that may carry events of a project, numbered and chained.
//!
//! The numbering row is compared and set first, so writers of one project queue at it, and every script takes
//! its locks in the same order: the project, then its events, then what the verb changes.

use super::{LEDGER_BELL, Ledger, LedgerError, error::Refused, meta::RAISE_VERSION};
use crate::{
    Statement, StoreError,
    chain::{Hash, Link, link},
    decode,
    params::{json, params},
};
use mate_model::{ProjectId, event::Draft};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

/// How often a script is tried again when only the numbering row had moved on.
const TRIES: u32 = 50;

/// How many projects are remembered at most before idle ones are forgotten.
const LANES: usize = 1_024;

const HEAD: &str = "SELECT id, event_seq, event_head FROM projects WHERE id = $1";

const ADVANCE: &str = "UPDATE projects SET event_seq = $3, event_head = $4 WHERE id = $1 AND event_seq = $2";

const APPEND: &str = "INSERT INTO ledger_events (project, seq, prev, task, turn, type, at, data, hash)
    VALUES ($1, $2, (SELECT MAX(e.seq) FROM ledger_events e WHERE e.task = $3), $3, $4, $5, $6, $7, $8)";

/// One at a time per project within this process: keeps the compare-and-set from failing needlessly.
#[derive(Debug, Default)]
pub(super) struct Lanes(Mutex<HashMap<ProjectId, Arc<tokio::sync::Mutex<()>>>>);

impl Lanes {
    fn of(&self, project: ProjectId) -> Arc<tokio::sync::Mutex<()>> {
        let mut lanes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lanes.len() >= LANES {
            lanes.retain(|_, lane| Arc::strong_count(lane) > 1);
        }
        Arc::clone(lanes.entry(project).or_default())
    }
}

impl Ledger {
    /// Runs the statements without an event; they begin by raising the authorisation version.
    pub(super) async fn authorise(&self, statements: Vec<Statement>) -> Result<(), Refused> {
        let mut script = vec![Statement::one(RAISE_VERSION, Vec::new())];
        script.extend(statements);
        self.db.script(script).await.map_err(|error| Refused::read(error, 1))?;
        self.ring().await;
        Ok(())
    }

    /// Appends an event to a project's part of the ledger, and changes nothing else.
    ///
    /// # Errors
    /// [`LedgerError::NotFound`] when there is no such project, and the store's.
    pub async fn tell(&self, project: ProjectId, draft: Draft) -> Result<(), LedgerError> {
        self.commit(project, &[draft], &[]).await.map(|_| ()).map_err(|refused| refused.changing("project"))
    }

    /// Runs the statements without an event.
    pub(super) async fn write(&self, statements: Vec<Statement>) -> Result<(), Refused> {
        self.db.script(statements).await.map_err(|error| Refused::read(error, 0))?;
        self.ring().await;
        Ok(())
    }

    /// Runs the statements in one script with the events of `drafts`, numbered after the project's last.
    /// Answers the number of the project's last event.
    pub(super) async fn commit(
        &self,
        project: ProjectId,
        drafts: &[Draft],
        statements: &[Statement],
    ) -> Result<i64, Refused> {
        let lane = self.lanes.of(project);
        let _turn = lane.lock().await;
        for attempt in 0..TRIES {
            let (seq, head) = self.head_of(project).await.map_err(Refused::Other)?;
            let (mut script, last) =
                numbered(project, seq, head, drafts).map_err(|e| Refused::Other(e.into()))?;
            let before = script.len();
            script.extend_from_slice(statements);
            match self.db.script(script).await {
                Ok(_) => {
                    self.ring().await;
                    return Ok(last);
                }
                Err(StoreError::Guard { statement: 0, .. }) => {
                    tokio::time::sleep(Duration::from_micros(200 * u64::from(attempt + 1))).await;
                }
                Err(error) => return Err(Refused::read(error, before)),
            }
        }
        Err(Refused::Other(LedgerError::Contended))
    }

    async fn head_of(&self, project: ProjectId) -> Result<(i64, Hash), LedgerError> {
        let rows = self.db.fetch(HEAD, params![project]).await?;
        let row = rows.first().ok_or(LedgerError::NotFound("project"))?;
        Ok((row.int("event_seq")?, decode::hash(row, "event_head")?))
    }

    /// A hint to whoever waits; losing it costs a little time.
    pub(super) async fn ring(&self) {
        if mate_fault::notices_are_cut() {
            return;
        }
        if let Err(why) = self.db.ring(LEDGER_BELL).await {
            tracing::debug!(%why, "the ledger's bell could not be rung");
        }
    }
}

fn numbered(
    project: ProjectId,
    seq: i64,
    head: Hash,
    drafts: &[Draft],
) -> Result<(Vec<Statement>, i64), StoreError> {
    let (events, last, end) = append(project, seq, head, drafts)?;
    let mut script = vec![Statement::one(ADVANCE, params![project, seq, last, end])];
    script.extend(events);
    Ok((script, last))
}

/// The inserts of `drafts` after event `seq`, with the number and hash of the last one.
pub(super) fn append(
    project: ProjectId,
    mut seq: i64,
    mut head: Hash,
    drafts: &[Draft],
) -> Result<(Vec<Statement>, i64, Hash), StoreError> {
    let mut events = Vec::with_capacity(drafts.len());
    for draft in drafts {
        seq += 1;
        let (task, turn) = (draft.task.map(|id| id.to_string()), draft.turn.map(|id| id.to_string()));
        let data = json(&draft.data)?;
        let event = Link {
            seq,
            epoch: None,
            task: task.as_deref(),
            turn: turn.as_deref(),
            kind: draft.kind.as_str(),
            at: draft.at,
            data: &data,
        };
        head = link(&head, &event);
        let params = params![project, seq, task, turn, draft.kind, draft.at, data, head];
        events.push(Statement::one(APPEND, params));
    }
    Ok((events, seq, head))
}
