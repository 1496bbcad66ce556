//! Writing what happens to the journal: facts that must be there before going on, and activity that may be
//! gathered for a moment.

use mate_engine::{EngineError, admit::CurrentTurn};
use mate_model::{
    Clock, Micros, TurnId,
    event::{Draft, EventType},
    task::StopEvidence,
    words::ReportStatus,
};
use mate_store::{Change, JournalWriter, Pending, Written};
use serde_json::{Value, json};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

/// Diagnostics that are kept of one worker; the rest is counted.
const MAX_DIAGNOSTICS: u32 = 500;

/// The worker's pen. Clones write to the same journal.
#[derive(Clone)]
pub(super) struct Recorder {
    pub(super) journal: JournalWriter,
    pub(super) clock: Arc<dyn Clock>,
    /// How long a journal that cannot be written is waited for.
    patience: Duration,
    diagnostics: Arc<AtomicU32>,
    turn: Arc<std::sync::RwLock<Option<CurrentTurn>>>,
}

impl Recorder {
    pub(super) fn new(journal: JournalWriter, clock: Arc<dyn Clock>, patience: Duration) -> Self {
        Self { journal, clock, patience, diagnostics: Arc::default(), turn: Arc::default() }
    }

    pub(super) fn now(&self) -> Micros {
        self.clock.now()
    }

    /// The turn that events belong to from now on.
    pub(super) fn set_turn(&self, turn: Option<CurrentTurn>) {
        if let Ok(mut slot) = self.turn.write() {
            *slot = turn;
        }
    }

    pub(super) fn draft(&self, kind: EventType, data: Value) -> Draft {
        let turn = self.turn.read().ok().and_then(|turn| *turn);
        Draft {
            kind,
            task: turn.map(|turn| turn.task),
            turn: turn.map(|turn| turn.turn),
            at: self.now(),
            data,
        }
    }

    /// Writes changes; durable when this returns. A journal that cannot be written now is waited for.
    pub(super) async fn write(&self, changes: Vec<Change>) -> Result<Written, EngineError> {
        Ok(self.journal.write_patiently(changes, self.patience).await?)
    }

    /// Queues changes, behind those before them; durable when the answer says so.
    pub(super) async fn post(&self, changes: Vec<Change>) -> Result<Pending, EngineError> {
        Ok(self.journal.post(changes).await?)
    }

    /// Waits until queued changes are durable.
    pub(super) async fn landed(&self, mut pending: Pending) -> Result<(), EngineError> {
        let late = || EngineError::Unavailable("the journal could not be written in time".to_owned());
        let landed = tokio::time::timeout(self.patience, pending.written()).await;
        landed.map_err(|_| late())??;
        Ok(())
    }

    /// Queues one event that nothing waits for. Whatever is written later stands behind it.
    pub(super) async fn later(&self, kind: EventType, data: Value) -> Result<(), EngineError> {
        let mut pending = self.post(vec![Change::Event(self.draft(kind, data))]).await?;
        tokio::spawn(async move {
            if let Err(error) = pending.written().await {
                tracing::error!(%error, %kind, "an event could not be recorded");
            }
        });
        Ok(())
    }

    /// Writes one event; durable when this returns.
    pub(super) async fn event(&self, kind: EventType, data: Value) -> Result<(), EngineError> {
        self.write(vec![Change::Event(self.draft(kind, data))]).await?;
        Ok(())
    }

    pub(super) async fn report(
        &self,
        turn: CurrentTurn,
        status: ReportStatus,
        kind: EventType,
        data: Value,
    ) -> Result<(), EngineError> {
        let event = Change::Event(self.draft(kind, data));
        // The agent waits, and is told to send it again.
        self.journal.write(vec![Change::SetReport { turn: turn.turn, status }, event]).await?;
        mate_fault::point_async!("report.committed");
        Ok(())
    }

    pub(super) async fn container_empty(
        &self,
        turn: Option<TurnId>,
        evidence: &StopEvidence,
    ) -> Result<(), EngineError> {
        let mut changes =
            vec![Change::Event(self.draft(EventType::ContainerEmpty, json!({ "proof": evidence })))];
        if let Some(turn) = turn {
            changes.push(Change::SetEvidence { turn, evidence: evidence.clone() });
        }
        self.write(changes).await?;
        Ok(())
    }

    /// Something odd that somebody may want to know. Never waits, never fails; bounded.
    pub(super) fn diagnostic(&self, source: &'static str, about: Option<&str>, text: &str) {
        if self.diagnostics.fetch_add(1, Ordering::Relaxed) >= MAX_DIAGNOSTICS {
            return;
        }
        tracing::info!(source, about, text, "diagnostic");
        let draft =
            self.draft(EventType::Diagnostic, json!({ "source": source, "about": about, "text": text }));
        let journal = self.journal.clone();
        tokio::spawn(async move {
            if let Err(error) = journal.write(vec![Change::Event(draft)]).await {
                tracing::warn!(%error, "a diagnostic could not be recorded");
            }
        });
    }
}
