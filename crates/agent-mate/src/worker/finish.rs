//! The end of a turn: what is in flight settles, the container is ended where that is needed, the task is concluded.

use super::{
    Worker,
    activity::Pump,
    live::Live,
    stop::Wish,
    turn::{is_stale, lacks_evidence},
};
use anyhow::{Result, anyhow};
use mate_model::{
    TurnId,
    event::EventType,
    records::{Task, Turn},
    turn::{TurnCommand, TurnEnd, TurnState},
    words::StopReason,
};
use mate_store::Change;
use serde_json::json;
use std::time::Duration;

/// How long a requested stop waits for calls to answer before their outcome is unknown.
const STOP_PATIENCE: Duration = Duration::from_secs(5);
/// How often the ledger is tried while it cannot take the end.
const AGAIN: Duration = Duration::from_millis(500);
/// How long the ledger is tried. After that, recovery concludes the task.
const CONCLUDE_TRIES: u32 = 1200;

impl Worker {
    /// Ends the turn and concludes the task.
    pub(super) async fn finish(
        &mut self,
        task: &Task,
        turn: Turn,
        end: TurnEnd,
        live: &mut Option<Live>,
        pump: &mut Pump,
        wish: Wish,
    ) -> Result<()> {
        self.desk.close().await;
        let over = ends_container(&end, wish);
        let turn = self.close_turn(turn, end).await?;
        mate_fault::point_async!("turn.closed");
        let patience = if wish == Wish::None { self.settings.session.settle() } else { STOP_PATIENCE };
        if wish != Wish::Kill {
            self.settle(live, pump, patience).await;
        }
        if over {
            self.bury(live, Some(turn.id)).await?;
        }
        if !self.settle(live, pump, patience).await {
            // What is still out has had its time: it is unknown.
            self.close_bridge().await;
            self.bury(live, Some(turn.id)).await?;
        }
        // What is known has its place in the journal before the turn is over.
        tokio::time::timeout(self.settings.session.journal(), self.desk.recorded())
            .await
            .map_err(|_| anyhow!("the journal could not take the outcomes in time: recovery does it"))?;
        self.end_settling(turn.id).await?;
        self.list_workspace(turn.created_at).await;
        self.shelf_settled(live, pump).await;
        if let Err(error) = self.conclude(task).await {
            if !lacks_evidence(&error) {
                return Err(error);
            }
            // A stop was asked for after the turn was over: the end of the container is what proves it.
            self.bury(live, Some(turn.id)).await?;
            self.conclude(task).await?;
        }
        if self.bridge.is_none() {
            self.open_bridge().await?;
        }
        Ok(())
    }

    async fn close_turn(&self, turn: Turn, end: TurnEnd) -> Result<Turn> {
        let in_flight = self.patiently(|| self.reader.open_count()).await?;
        let data = json!({ "end": end, "in_flight": in_flight });
        let transition =
            turn.state.decide(TurnCommand::Finish { end, in_flight }, self.engine.clock.now())?;
        let state = transition.to().clone();
        let settling = matches!(state, TurnState::Settling { .. });
        let kind = if settling { EventType::TurnSettling } else { EventType::TurnEnded };
        let event = Change::Event(self.recorder.draft(kind, data));
        let change = Change::MoveTurn { turn: turn.id, transition, report: None, evidence: None };
        self.recorder.write(vec![change, event]).await?;
        Ok(Turn { state, ..turn })
    }

    /// Waits until no call is out any more; says whether that came true in time. An outcome that is known and that
    /// the journal cannot take yet is not waited for here.
    async fn settle(&self, live: &mut Option<Live>, pump: &mut Pump, patience: Duration) -> bool {
        let idle = async {
            while self.desk.out() > 0
                || (self.desk.unrecorded() == 0 && self.reader.open_count().await.is_ok_and(|open| open > 0))
            {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let idle = tokio::time::timeout(patience, idle);
        match live.as_mut() {
            Some(live) => live.during(pump, idle).await.is_ok(),
            None => idle.await.is_ok(),
        }
    }

    /// Waits, for a while, until what results left behind is stored.
    async fn shelf_settled(&self, live: &mut Option<Live>, pump: &mut Pump) {
        let settled = self.shelf.settled();
        match live.as_mut() {
            Some(live) => live.during(pump, settled).await,
            None => settled.await,
        }
    }

    async fn close_bridge(&mut self) {
        if let Some(bridge) = self.bridge.take() {
            bridge.shutdown(Duration::ZERO).await;
        }
    }

    /// Ends the runtime's container, for a turn whose end wants that.
    pub(super) async fn bury(&self, live: &mut Option<Live>, turn: Option<TurnId>) -> Result<()> {
        if let Some(live) = live.take() {
            let evidence = self.end_container(&live.container).await?;
            mate_fault::point_async!("turn.buried");
            self.recorder.container_empty(turn, &evidence).await?;
            mate_fault::point_async!("turn.proved");
        }
        Ok(())
    }

    async fn end_settling(&self, turn: TurnId) -> Result<()> {
        let turn =
            self.patiently(|| self.reader.turn(turn)).await?.ok_or_else(|| anyhow!("the turn is gone"))?;
        if !matches!(turn.state, TurnState::Settling { .. }) {
            return Ok(());
        }
        let in_flight = self.patiently(|| self.reader.open_count()).await?;
        let transition = turn.state.decide(TurnCommand::Close { in_flight }, self.engine.clock.now())?;
        let event = Change::Event(self.recorder.draft(EventType::TurnEnded, json!({ "settled": true })));
        let change = Change::MoveTurn { turn: turn.id, transition, report: None, evidence: None };
        self.recorder.write(vec![change, event]).await?;
        mate_fault::point_async!("turn.settled");
        Ok(())
    }

    /// Concludes the task in the ledger, for as long as it takes to be there again.
    async fn conclude(&self, task: &Task) -> Result<()> {
        for _ in 0..CONCLUDE_TRIES {
            match self.engine.conclude(&self.reader, self.epoch, task.id).await {
                Ok(word) => {
                    tracing::info!(task = %task.id, state = %word, "the task ended");
                    self.anchor().await?;
                    mate_fault::point_async!("worker.anchored");
                    return Ok(());
                }
                Err(error) => {
                    let error = anyhow::Error::from(error);
                    if is_stale(&error) || lacks_evidence(&error) {
                        return Err(error);
                    }
                    tracing::warn!(error = %format!("{error:#}"), "the ledger cannot take the task's end; trying again");
                    tokio::time::sleep(AGAIN).await;
                }
            }
        }
        Err(anyhow!("the ledger could not take the task's end"))
    }
}

/// A turn that was cancelled, lost or stopped ends the container: only that proves its end.
const fn ends_container(end: &TurnEnd, wish: Wish) -> bool {
    match end {
        TurnEnd::Answered { reason: StopReason::Cancelled, .. }
        | TurnEnd::Lost { .. }
        | TurnEnd::StoppedFirst => true,
        TurnEnd::Answered { .. }
        | TurnEnd::Errored { .. }
        | TurnEnd::NotStarted { .. }
        | TurnEnd::ContextLost { .. } => !matches!(wish, Wish::None),
    }
}
