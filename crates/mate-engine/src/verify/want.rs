//! Which of a task's operations are to be looked for.

use super::plan::recipe_for;
use crate::{Engine, EngineError};
use mate_model::{
    ConnectionId, OperationId, SessionId,
    operation::OperationStateWord,
    records::{Connection, Operation, Task},
    session::SessionState,
};
use mate_store::{JournalReader, Verification};
use std::collections::{BTreeMap, BTreeSet};

const PAGE: u32 = 500;

impl Engine {
    /// Wants a look for each unknown operation of a task whose upstream's task is known, or that a recipe looks for. Done again, it changes nothing.
    ///
    /// # Errors
    /// The stores'.
    pub(crate) async fn want_looks(&self, reader: &JournalReader, task: &Task) -> Result<(), EngineError> {
        let mut connections: BTreeMap<ConnectionId, Option<Connection>> = BTreeMap::new();
        let mut after = 0;
        loop {
            let state = Some(OperationStateWord::Unknown);
            let page = reader.operations(Some(task.id), state, after, PAGE).await?;
            let mut wanted: Vec<OperationId> = match (page.items.first(), page.items.last()) {
                (Some(first), Some(last)) => reader.unknown_with_upstream_task(first.id, last.id).await?,
                (None, _) | (_, None) => Vec::new(),
            };
            let recorded: BTreeSet<OperationId> = wanted.iter().copied().collect();
            for Operation { id, connection, tool, .. } in &page.items {
                let Some(connection) = connection else { continue };
                if !connections.contains_key(connection) {
                    connections.insert(*connection, self.ledger.connection(*connection).await?);
                }
                let known = connections.get(connection).and_then(Option::as_ref);
                if !recorded.contains(id) && known.is_some_and(|known| recipe_for(known, tool).is_some()) {
                    wanted.push(*id);
                }
            }
            self.ledger.open_verifications(task, &wanted, self.clock.now()).await?;
            match page.next {
                Some(next) => after = next,
                None => return Ok(()),
            }
        }
    }

    /// The looks of a session that are due, the longest due first. Rows that cannot be read are in the log, and hide no
    /// others.
    ///
    /// # Errors
    /// The ledger's.
    pub async fn looks_due(&self, session: SessionId, most: u32) -> Result<Vec<Verification>, EngineError> {
        let (now, wanted) = (self.clock.now(), usize::try_from(most).unwrap_or(usize::MAX));
        let mut looks = Vec::new();
        let mut after = None;
        loop {
            let page = self.ledger.verifications_due(session, now, after.as_ref(), PAGE).await?;
            for corrupt in &page.corrupt {
                tracing::error!(%corrupt, "a look cannot be read; it is not taken");
            }
            looks.extend(page.items);
            if looks.len() >= wanted || page.next.is_none() {
                looks.truncate(wanted);
                return Ok(looks);
            }
            after = page.next;
        }
    }

    /// Whether a worker has to take a look in the session.
    pub(crate) async fn has_looks(
        &self,
        session: SessionId,
        state: &SessionState,
    ) -> Result<bool, EngineError> {
        match state {
            SessionState::Closed { .. } => Ok(false),
            SessionState::Idle { .. } | SessionState::Hosted { .. } => {
                Ok(!self.looks_due(session, 1).await?.is_empty())
            }
        }
    }
}
