//! After a worker's death: what was in flight is classified from the journal, under the lock, with a higher epoch.
//!
//! Nothing is sent here. An operation between its intent and its outcome becomes `unknown` (a read: `failed`,
//! interrupted); everything that has proof keeps it.

mod classify;
mod give_up;

use crate::{Engine, EngineError, SessionLock, Spill};
use async_trait::async_trait;
use mate_model::{
    Epoch, SessionId,
    event::{Draft, EventType},
    records::Session,
    session::{SessionCommand, SessionState},
    task::{End, StopEvidence, TaskStateWord},
    words::{FailReason, UnknownReason},
};
use mate_store::Change;
use serde_json::json;
use std::{path::Path, sync::Arc};

/// Makes sure that nothing of a session lives, and says what proves it.
#[async_trait]
pub trait Undertaker: Send + Sync {
    /// Ends the container whose records are in `folder`, if it still lives; bounded.
    ///
    /// # Errors
    /// That it could not be proved empty, in words. Then nothing may be classified.
    async fn end(&self, folder: &Path) -> Result<StopEvidence, String>;
}

/// What recovery did for one session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Operations that were classified.
    pub operations: u64,
    /// How many of them are unknown.
    pub unknown: u64,
    /// Outcomes that the worker had held, and that the journal has now.
    pub held: u64,
}

impl Engine {
    /// Records the next epoch for whoever holds the lock.
    ///
    /// # Errors
    /// The ledger's, or that the session is closed.
    pub async fn host(&self, session: SessionId, _held: &SessionLock) -> Result<Epoch, EngineError> {
        let row = self.ledger.session(session).await?.ok_or(EngineError::NotFound)?;
        let transition = row.state.decide(SessionCommand::Host, self.clock.now())?;
        let epoch = transition.to().epoch();
        self.ledger.apply_session(&row, &transition, None).await?;
        mate_fault::point_async!("host.recorded");
        Ok(epoch)
    }

    /// Gives the session back: its worker has ended and its container is empty.
    ///
    /// # Errors
    /// The ledger's, or that another epoch is in force.
    pub async fn release(&self, session: SessionId, epoch: Epoch) -> Result<(), EngineError> {
        let row = self.ledger.session(session).await?.ok_or(EngineError::NotFound)?;
        let transition = row.state.decide(SessionCommand::Release { epoch }, self.clock.now())?;
        self.ledger.apply_session(&row, &transition, None).await?;
        Ok(())
    }

    /// Recovers one session whose worker is dead; the caller holds the session's lock.
    ///
    /// # Errors
    /// That the container could not be proved empty, or the stores'. The session is left as it was and can be
    /// recovered again.
    pub async fn recover(
        &self,
        session: &Session,
        held: &SessionLock,
        undertaker: &dyn Undertaker,
    ) -> Result<Recovered, EngineError> {
        let folder = self.home.session(session.id);
        let evidence = undertaker.end(folder.path()).await.map_err(|why| {
            EngineError::Unavailable(format!("{} may still have processes: {why}", session.id))
        })?;
        mate_fault::point_async!("recover.container_ended");
        let before = self.stores.journal_head(session.id).await?;
        let epoch = self.host(session.id, held).await?;
        let (journal, _) = self.stores.journal_writer(session.id, epoch, self.clock.now()).await?;
        mate_fault::point_async!("recover.taken_over");
        let reader = journal.reader();
        // What was answered has proof: it is in the journal before anything is called unknown.
        let spill = Spill::open(&folder, &self.key, session.id, Arc::clone(&self.entropy))?;
        let held = self.take_in(&spill, &journal).await?;
        let task = self.ledger.running(session.id).await?;
        let lost = match &task {
            Some(task) => {
                self.journal_is_lost(session.id, task.state.run().map(|run| run.epoch), before).await?
            }
            None => false,
        };
        let recovered = self.classify(&journal, &reader, task.as_ref(), &evidence).await?;
        let recovered = Recovered { held, ..recovered };
        self.weigh_repeats(&reader).await?;
        self.apply_resolutions(&journal, None).await?;
        self.settle_artifacts_left(&journal, &reader, session.project).await?;
        if let Some(task) = task {
            if lost {
                let end = End::Failed {
                    reason: FailReason::RuntimeLost,
                    detail:
                        "the session's journal is missing, or older than the ledger knows it to have been"
                            .to_owned(),
                };
                let subjects = task.state.run().map(|run| run.turn.to_string()).into_iter().collect();
                self.end_task(&task, epoch, end, Some(UnknownReason::JournalLost), subjects).await?;
            } else if self.is_over(&reader, &task).await? {
                // The worker may have died between the turn's end and its evidence.
                if let Some(turn) = task.state.run().map(|run| run.turn)
                    && reader.turn(turn).await?.is_some_and(|turn| turn.evidence.is_none())
                {
                    journal.write(vec![Change::SetEvidence { turn, evidence: evidence.clone() }]).await?;
                    mate_fault::point_async!("recover.proved");
                }
                self.conclude(&reader, epoch, task.id).await?;
            }
        }
        mate_fault::point_async!("recover.concluded");
        // The worker may have died between a task's end and the look whether evidence had come meanwhile.
        for task in self.ledger.unknown_tasks(session.id).await? {
            self.settle(task).await?;
        }
        let event = Draft {
            kind: EventType::SessionRecovered,
            task: None,
            turn: None,
            at: self.clock.now(),
            data: json!({
                "operations": recovered.operations,
                "unknown": recovered.unknown,
                "held": recovered.held,
                "proof": evidence,
            }),
        };
        journal.write(vec![Change::Event(event)]).await?;
        mate_fault::point_async!("recover.recorded");
        self.release(session.id, epoch).await?;
        Ok(recovered)
    }

    /// A journal is lost when it is behind the epoch that claimed the task, or behind its anchor in the ledger.
    async fn journal_is_lost(
        &self,
        session: SessionId,
        claimed: Option<Epoch>,
        head: Option<mate_store::JournalHead>,
    ) -> Result<bool, EngineError> {
        let Some(claimed) = claimed else { return Ok(false) };
        let anchor = self.ledger.anchored(session).await?;
        Ok(match head {
            None => true,
            Some(head) => head.epoch < claimed || anchor.is_some_and(|(seq, _)| head.seq < seq),
        })
    }

    /// Whether the running task can be ended: its turn is over, or it was stopped before it had one.
    async fn is_over(
        &self,
        reader: &mate_store::JournalReader,
        task: &mate_model::records::Task,
    ) -> Result<bool, EngineError> {
        let Some(run) = task.state.run() else { return Ok(false) };
        Ok(match reader.turn(run.turn).await? {
            Some(turn) => matches!(turn.state, mate_model::turn::TurnState::Ended { .. }),
            None => task.state.word() == TaskStateWord::StopRequested,
        })
    }
}

/// Whether a worker was recorded for the session, so that its end must be classified before a new one starts.
#[must_use]
pub const fn was_hosted(session: &Session) -> bool {
    matches!(session.state, SessionState::Hosted { .. })
}
