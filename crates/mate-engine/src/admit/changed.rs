//! What a task lost, and what was in flight at that moment: written down by the worker that next looks.
//!
//! A call that was sent before stays sent. The record says so, call by call, and does not claim that anything was
//! undone.

use super::{Admission, CurrentTurn, standing::Standing};
use crate::EngineError;
use mate_model::{
    GrantId, Micros,
    event::{Draft, EventType},
    operation::OperationStateWord,
    records::{Grant, Operation},
};
use mate_store::Change;
use serde_json::{Value, json};
use std::{collections::BTreeSet, sync::Arc};

/// The most operations that are looked at, and the most grants that are named.
const MOST: u32 = 200;

/// Authority that a task had and has no longer.
struct Loss {
    /// Why it may not act at all, if it may not.
    all: Option<&'static str>,
    /// Since when.
    since: Micros,
    /// The grants that are gone.
    grants: Vec<(Grant, &'static str)>,
}

impl Admission {
    /// Writes down what the running task has lost since it was looked at last.
    ///
    /// # Errors
    /// The stores'.
    pub async fn note_changes(&self) -> Result<(), EngineError> {
        let Some(turn) = self.current() else { return Ok(()) };
        let _alone = self.noting.lock().await;
        let version = self.engine.ledger.authorisation_version().await?;
        let known = self.known_standing().filter(|known| known.task == turn.task && known.version == version);
        let now = match known {
            Some(known) => known,
            None => self.read_standing(turn.task).await?,
        };
        let before =
            self.told.read().ok().and_then(|told| told.clone()).filter(|told| told.task == turn.task);
        if before.as_ref().is_some_and(|before| before.version == now.version) {
            return Ok(());
        }
        if let Some(before) = before
            && let Some(loss) = self.loss(&before, &now).await?
        {
            let event = self.changed(turn, &now, &loss).await?;
            self.journal.write(vec![Change::Event(event)]).await?;
        }
        if let Ok(mut told) = self.told.write() {
            *told = Some(Arc::clone(&now));
        }
        Ok(())
    }

    async fn loss(&self, before: &Standing, now: &Standing) -> Result<Option<Loss>, EngineError> {
        let fresh = now.lost.filter(|(why, _)| before.lost.is_none_or(|(known, _)| known != *why));
        let (mut since, mut grants) = (fresh.and_then(|(_, at)| at), Vec::new());
        let gone = before.grants.iter().filter(|grant| now.grants.iter().all(|other| other.id != grant.id));
        for grant in gone.take(MOST as usize) {
            let (why, at) = self.why_gone(grant).await?;
            since = since.into_iter().chain(at).min();
            grants.push((grant.clone(), why));
        }
        if fresh.is_none() && grants.is_empty() {
            return Ok(None);
        }
        Ok(Some(Loss { all: fresh.map(|(why, _)| why), since: since.unwrap_or_else(|| self.now()), grants }))
    }

    async fn why_gone(&self, grant: &Grant) -> Result<(&'static str, Option<Micros>), EngineError> {
        let stands = self.engine.ledger.grant(grant.id).await?;
        if let Some(at) = stands.and_then(|grant| grant.revoked_at) {
            return Ok(("revoked", Some(at)));
        }
        let connection = self.engine.ledger.connection(grant.connection).await?;
        Ok(("connection_removed", connection.and_then(|connection| connection.removed_at)))
    }

    async fn changed(&self, turn: CurrentTurn, now: &Standing, loss: &Loss) -> Result<Draft, EngineError> {
        let gone: BTreeSet<GrantId> = loss.grants.iter().map(|(grant, _)| grant.id).collect();
        let mut latest = self.reader.latest_operations(turn.task, MOST).await?;
        let open = self.reader.open_operations(0, MOST).await?.items;
        latest.extend(open.into_iter().filter(|one| one.task == turn.task));
        latest.sort_by_key(|one| one.id.number);
        latest.dedup_by_key(|one| one.id.number);
        let concerned = |one: &&Operation| {
            let under = loss.all.is_some() || one.grant.is_some_and(|grant| gone.contains(&grant));
            under && was_in_flight(one, loss.since)
        };
        let in_flight: Vec<Value> = latest.iter().filter(concerned).map(shown).collect();
        let grants: Vec<Value> = loss
            .grants
            .iter()
            .map(|(grant, why)| json!({ "grant": grant.id, "connection": grant.connection, "why": why }))
            .collect();
        let data = json!({
            "version": now.version, "lost": loss.all, "grants": grants, "since_us": loss.since,
            "in_flight": in_flight,
        });
        let (kind, at) = (EventType::AuthorityChanged, self.now());
        Ok(Draft { kind, task: Some(turn.task), turn: Some(turn.turn), at, data })
    }
}

/// Whether a call may have been at the upstream at that moment.
fn was_in_flight(one: &Operation, at: Micros) -> bool {
    let proved_not_sent = one.state.word() == OperationStateWord::NotSent;
    !proved_not_sent
        && one.admitted_at.is_some_and(|admitted| admitted <= at)
        && one.recorded_at.is_none_or(|recorded| recorded > at)
}

fn shown(one: &Operation) -> Value {
    json!({
        "operation": one.id, "connection": one.connection_name, "tool": one.tool, "grant": one.grant,
        "admitted_at_us": one.admitted_at, "state": one.state.word(),
    })
}
