//! One task's turn, from the claim to its end.

use super::{
    LOOK, Worker,
    activity::Pump,
    conversation::ContextLost,
    live::Live,
    stop::{Step, Wish, Wishes},
};
use crate::launch::Containers;
use anyhow::{Result, anyhow, bail};
use mate_engine::{EngineError, Undertaker, admit::CurrentTurn};
use mate_model::{
    Refusal, TurnId,
    event::{Draft, EventType},
    records::{Task, Turn},
    task::{StopEvidence, TaskCommand},
    turn::{PromptPermit, TurnEnd, TurnState},
    words::{Context, StopReason},
};
use mate_runtime::{
    acp::{self, Lost},
    container::Container,
};
use mate_store::{Change, LedgerError};
use serde_json::json;
use std::sync::Arc;

/// How often a claim is decided again because somebody moved the task at that moment.
const TRIES: u32 = 20;

impl Worker {
    /// Carries a task from its claim to its end.
    ///
    /// # Errors
    /// What the stores say. The task is classified by recovery then.
    pub(super) async fn run_task(
        &mut self,
        task: Task,
        live: &mut Option<Live>,
        pump: &mut Pump,
    ) -> Result<()> {
        let Some((task, turn)) = self.claim(task).await? else { return Ok(()) };
        let current = CurrentTurn { task: task.id, turn: turn.id };
        self.recorder.set_turn(Some(current));
        self.desk.prepare(current);
        self.desk.refresh(task.id).await?;
        // What it is allowed now is what later losses are measured by.
        self.desk.note_changes().await?;
        let result = self.carry(&task, turn, live, pump).await;
        self.desk.set_current(None);
        self.recorder.set_turn(None);
        pump.discard();
        result
    }

    /// Claims the task for this epoch and opens its turn, or finds the turn that a dead worker had opened.
    async fn claim(&self, mut task: Task) -> Result<Option<(Task, Turn)>> {
        let fresh = TurnId::new(self.engine.entropy.uuid());
        for _ in 0..TRIES {
            let now = self.engine.clock.now();
            let restarted = task.state.run().is_some();
            let command = TaskCommand::Claim { turn: fresh, epoch: self.epoch };
            let transition = match task.state.decide(command, now) {
                Ok(transition) => transition,
                // Claimed by this very worker: only its turn is missing.
                Err(Refusal::Already { .. }) => break,
                Err(Refusal::Final { .. } | Refusal::NotNow { .. }) => return Ok(None),
                Err(refusal @ (Refusal::Stale { .. } | Refusal::NoEvidence)) => return Err(refusal.into()),
            };
            let kind = if restarted { EventType::TaskRestarted } else { EventType::TaskStarted };
            let turn = transition.to().run().map(|run| run.turn);
            let data = json!({ "epoch": self.epoch, "session": self.session.id });
            let draft = Draft { kind, task: Some(task.id), turn, at: now, data };
            match self.engine.ledger.apply_task(&task, &transition, draft, &[], None).await {
                Ok(_) => {
                    mate_fault::point_async!("worker.claimed");
                    task = task.moved(transition.into_to());
                    break;
                }
                Err(LedgerError::Conflict(_)) => {
                    let again = self.engine.ledger.task(task.id).await?;
                    task = again.ok_or_else(|| anyhow!("the task is gone"))?;
                }
                Err(error) => return Err(error.into()),
            }
        }
        let run = task.state.run().ok_or_else(|| anyhow!("the task could not be claimed"))?.clone();
        if let Some(turn) = self.reader.turn(run.turn).await? {
            return Ok(Some((task, turn)));
        }
        let now = self.engine.clock.now();
        let turn = Turn::opened(run.turn, self.next_turn_number(), task.id, now);
        let data = json!({ "number": turn.number });
        let event =
            Draft { kind: EventType::TurnStarted, task: Some(task.id), turn: Some(turn.id), at: now, data };
        self.recorder.write(vec![Change::OpenTurn(turn.clone()), Change::Event(event)]).await?;
        mate_fault::point_async!("worker.turn_opened");
        Ok(Some((task, turn)))
    }

    async fn carry(
        &mut self,
        task: &Task,
        turn: Turn,
        live: &mut Option<Live>,
        pump: &mut Pump,
    ) -> Result<()> {
        if !matches!(turn.state, TurnState::Starting) {
            bail!("{} is {} already: a prompt is never sent again", turn.id, turn.state.word());
        }
        let mut wishes = Wishes::watch(&self.engine, task);
        // A task that waited may have lost what it was approved under.
        if let Some(why) = self.desk.lost_authority(task.id).await? {
            let end = TurnEnd::NotStarted { detail: why };
            return self.finish(task, turn, end, live, pump, Wish::None).await;
        }
        if live.as_ref().is_some_and(|live| live.agent.lost().is_some()) {
            self.bury(live, None).await?;
        }
        let need = match self.need(task).await {
            Ok(need) => need,
            Err(error) => match error.downcast::<ContextLost>() {
                Ok(ContextLost(detail)) => {
                    let end = TurnEnd::ContextLost { detail };
                    return self.finish(task, turn, end, live, pump, wishes.now()).await;
                }
                Err(error) => return Err(error),
            },
        };
        if live.is_none() {
            let started = tokio::select! {
                started = self.start(task, &need, pump) => started,
                _ = wishes.any() => Err(anyhow!("a stop came first")),
            };
            match started {
                Ok(started) => *live = Some(started),
                Err(error) => {
                    let stopped = wishes.now() != Wish::None;
                    self.end_leftover(turn.id).await?;
                    let end = if stopped { TurnEnd::StoppedFirst } else { self.not_started(error) };
                    return self.finish(task, turn, end, live, pump, wishes.now()).await;
                }
            }
        }
        if wishes.now() != Wish::None {
            self.bury(live, Some(turn.id)).await?;
            return self.finish(task, turn, TurnEnd::StoppedFirst, live, pump, wishes.now()).await;
        }
        self.name_bridge_tools(pump).await;
        pump.begin(turn.id);
        let before = self.desk.numbered();
        let text = self.text_of(task).await?;
        let (turn, permit) = self.intend_prompt(turn, &text, live).await?;
        // Calls from here on; one that came earlier would outlive a start that is made again.
        self.desk.set_current(Some(CurrentTurn { task: task.id, turn: turn.id }));
        mate_fault::point_async!("worker.prompt_intended");
        let end = match self.prompt(task, &text.whole, permit, live, pump, &mut wishes).await? {
            // What the runtime does not show is on record here all the same.
            TurnEnd::Answered { reason, empty: true } => {
                let known = self.patiently(|| self.reader.turn(turn.id)).await?;
                let reported = known.is_some_and(|turn| turn.report.is_some());
                TurnEnd::Answered { reason, empty: !reported && self.desk.numbered() == before }
            }
            end @ (TurnEnd::Answered { .. }
            | TurnEnd::Errored { .. }
            | TurnEnd::Lost { .. }
            | TurnEnd::NotStarted { .. }
            | TurnEnd::ContextLost { .. }
            | TurnEnd::StoppedFirst) => end,
        };
        mate_fault::point_async!("turn.answered");
        self.finish(task, turn, end, live, pump, wishes.now()).await
    }

    fn not_started(&self, error: anyhow::Error) -> TurnEnd {
        match error.downcast::<ContextLost>() {
            Ok(ContextLost(detail)) => TurnEnd::ContextLost { detail },
            Err(error) => TurnEnd::NotStarted { detail: self.clean(&format!("{error:#}")) },
        }
    }

    /// A stop while the runtime was being made ready leaves a container behind.
    async fn end_leftover(&self, turn: TurnId) -> Result<()> {
        let left = self.container.read().ok().and_then(|slot| slot.clone());
        let evidence = match left {
            Some(container) => self.end_container(&container).await?,
            // One that was just being made is found by its record.
            None => {
                let containers = Containers { clock: Arc::clone(&self.engine.clock) };
                containers.end(self.folder.path()).await.map_err(|why| anyhow!(why))?
            }
        };
        if evidence != StopEvidence::NeverStarted {
            self.recorder.container_empty(Some(turn), &evidence).await?;
        }
        Ok(())
    }

    /// Sends the prompt, once, and follows the turn to its end.
    async fn prompt(
        &self,
        task: &Task,
        text: &str,
        _permit: PromptPermit,
        live: &mut Option<Live>,
        pump: &mut Pump,
        wishes: &mut Wishes,
    ) -> Result<TurnEnd> {
        let Some(alive) = live.as_mut() else { bail!("no runtime to prompt") };
        let agent = alive.agent.clone();
        let prompt = agent.prompt(text);
        tokio::pin!(prompt);
        let mut ladder = self.ladder(alive.process, Arc::clone(&alive.container), agent.clone());
        let mut tick = tokio::time::interval(LOOK);
        let end = loop {
            tokio::select! {
                end = &mut prompt => break Some(end?),
                // What cannot be written yet is not taken either, beyond a bound.
                Some(event) = alive.events.recv(), if !pump.is_full() => {
                    pump.take(event);
                    while let Ok(event) = alive.events.try_recv() {
                        pump.take(event);
                        if pump.is_full() { break }
                    }
                    pump.flush().await?;
                }
                wish = wishes.changed() => {
                    if let Some(bridge) = self.bridge.as_ref().filter(|_| wish != Wish::None) {
                        bridge.cancel_in_flight();
                    }
                    ladder.wish(wish);
                }
                () = ladder.due() => {
                    // Outside the choice: whatever the step brings about is heard after it was told.
                    let stepped = ladder.take().await;
                    mate_fault::point_async!("stop.step_taken");
                    match stepped {
                        // A stop goes on while the journal cannot be written.
                        Step::Taken(told) => {
                            self.withdraw_asks();
                            self.recorder.later(EventType::StopStep, told).await?;
                        }
                        Step::Bury => break None,
                    }
                }
                _ = tick.tick() => {
                    pump.flush().await?;
                    self.look_at_grants(task).await;
                    self.desk.tend().await;
                    self.apply_resolutions().await;
                }
            }
        };
        while let Ok(event) = alive.events.try_recv() {
            pump.take(event);
        }
        // What it was told now, it knows at the next prompt.
        alive.context = Context::Loaded;
        let end = match end {
            Some(end) => self.turn_end(end, pump, &alive.container),
            None => TurnEnd::Lost {
                own_activity: pump.own_activity(),
                detail: "it did not end when everything in its container was killed".to_owned(),
            },
        };
        pump.finish().await?;
        Ok(end)
    }

    /// Withdraws what waits for a person: after the runtime was told to stop, so that it does not take the answer to its
    /// call for a reason to go on. A stop is not held up by a journal in trouble.
    fn withdraw_asks(&self) {
        let desk = Arc::clone(&self.desk);
        tokio::spawn(async move { desk.withdraw_asks("the task was asked to stop").await });
    }

    /// Tells the runtime to list the tools again when grants changed. Calls are judged anew in any case.
    async fn look_at_grants(&self, task: &Task) {
        if mate_fault::notices_are_cut() {
            return;
        }
        if let Err(error) = self.desk.note_changes().await {
            tracing::warn!(%error, "it could not be written down what authority the task has lost; it is tried again");
        }
        match self.desk.refresh(task.id).await {
            Ok(true) => {
                if let Some(bridge) = &self.bridge {
                    bridge.refresh();
                }
            }
            Ok(false) => {}
            Err(error) => tracing::warn!(%error, "the ledger could not be asked for changed grants"),
        }
    }

    /// Copies into the journal what people and others have found out of earlier calls.
    pub(super) async fn apply_resolutions(&self) {
        if let Err(error) = self.desk.apply_resolutions().await {
            tracing::warn!(%error, "resolutions could not be copied into the journal; it is tried again");
        }
    }

    async fn name_bridge_tools(&self, pump: &mut Pump) {
        if let Some(bridge) = &self.bridge {
            let names = tokio::time::timeout(std::time::Duration::from_secs(2), bridge.tool_names()).await;
            pump.bridge_tools = names.unwrap_or_default();
        }
    }

    fn turn_end(&self, end: acp::TurnEnd, pump: &mut Pump, container: &Container) -> TurnEnd {
        match end {
            acp::TurnEnd::Stopped { reason, usage } => {
                if let Some(usage) = &usage {
                    pump.usage(usage);
                }
                let reason = match reason {
                    acp::StopReason::EndTurn => StopReason::EndTurn,
                    acp::StopReason::MaxTokens => StopReason::MaxTokens,
                    acp::StopReason::MaxTurnRequests => StopReason::MaxTurnRequests,
                    acp::StopReason::Refusal => StopReason::Refusal,
                    acp::StopReason::Cancelled => StopReason::Cancelled,
                    acp::StopReason::Other(word) => {
                        let detail = format!(
                            "the runtime ended its turn for an unknown reason: {}",
                            self.clean(&word)
                        );
                        return TurnEnd::Errored { detail };
                    }
                };
                TurnEnd::Answered { reason, empty: pump.empty }
            }
            acp::TurnEnd::Failed { code, message } => {
                TurnEnd::Errored { detail: format!("{} ({code})", self.clean(&message)) }
            }
            acp::TurnEnd::Lost(lost) => {
                TurnEnd::Lost { own_activity: pump.own_activity(), detail: self.lost(&lost, container) }
            }
        }
    }

    /// Why the runtime is gone, with the limit that it went over if there was one.
    fn lost(&self, lost: &Lost, container: &Container) -> String {
        let over = container.breaches().into_iter().map(|breach| format!("; {}", breach.detail));
        self.clean(&format!("{lost}{}", over.collect::<String>()))
    }
}

/// Whether a write failed because another worker holds the session: then nothing more is written.
pub(super) fn is_stale(error: &anyhow::Error) -> bool {
    refused_as(error, "stale")
}

/// Whether an end was refused because nothing proves it yet.
pub(super) fn lacks_evidence(error: &anyhow::Error) -> bool {
    refused_as(error, "no_evidence")
}

fn refused_as(error: &anyhow::Error, wanted: &str) -> bool {
    matches!(error.downcast_ref::<EngineError>(), Some(EngineError::Refused { code, .. }) if *code == wanted)
}
