//! A task whose workers end before they could prompt anything: it fails, and says where to look.

use crate::{Engine, EngineError, SessionLock};
use mate_model::{
    TurnId,
    event::{Draft, EventType},
    records::{Session, Task, Turn},
    task::TaskCommand,
    turn::{TurnCommand, TurnEnd, TurnState},
};
use mate_store::Change;
use serde_json::json;

impl Engine {
    /// Fails a task that no worker could start. The caller holds the session's lock, and the session is recovered.
    ///
    /// # Errors
    /// The stores'. Then it is tried again.
    pub(crate) async fn give_up(
        &self,
        session: &Session,
        task: Task,
        held: &SessionLock,
    ) -> Result<(), EngineError> {
        let epoch = self.host(session.id, held).await?;
        let now = self.clock.now();
        let (journal, found) = self.stores.journal_writer(session.id, epoch, now).await?;
        let fresh = TurnId::new(self.entropy.uuid());
        let transition = task.state.decide(TaskCommand::Claim { turn: fresh, epoch }, now)?;
        let id = transition.to().run().map_or(fresh, |run| run.turn);
        let draft = |kind, data| Draft { kind, task: Some(task.id), turn: Some(id), at: now, data };
        let started = draft(EventType::TaskStarted, json!({ "epoch": epoch, "session": session.id }));
        self.ledger.apply_task(&task, &transition, started, &[], None).await?;
        mate_fault::point_async!("give_up.claimed");
        let reader = journal.reader();
        let mut changes = Vec::with_capacity(4);
        let known = reader.turn(id).await?.map(|turn| turn.state);
        if known.is_none() {
            changes.push(Change::OpenTurn(Turn::opened(id, found.next_turn, task.id, now)));
            changes.push(Change::Event(draft(EventType::TurnStarted, json!({ "number": found.next_turn }))));
        }
        let log = self.home.session(session.id).worker_log();
        let detail = format!(
            "the session's worker ended again and again before it could prompt the runtime; see {}",
            log.display()
        );
        let end = TurnEnd::NotStarted { detail };
        let data = json!({ "end": end });
        let transition =
            known.unwrap_or(TurnState::Starting).decide(TurnCommand::Finish { end, in_flight: 0 }, now)?;
        changes.push(Change::MoveTurn { turn: id, transition, report: None, evidence: None });
        changes.push(Change::Event(draft(EventType::TurnEnded, data)));
        journal.write(changes).await?;
        mate_fault::point_async!("give_up.turn_ended");
        self.conclude(&reader, epoch, task.id).await?;
        self.release(session.id, epoch).await
    }
}
