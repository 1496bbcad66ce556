//! A session hosted in this process, as its worker does it: lock, epoch, journal, admission desk, turns. Without
//! a runtime, since what is measured here begins where a call reaches the desk.

use super::house::{CONNECTION, House};
use anyhow::{Context, Result, bail};
use mate_engine::{
    Engine, Home, SessionLock, Spill,
    admit::{Admission, Admitted, CurrentTurn, Ended, Go, Request},
};
use mate_guard::Redactor;
use mate_model::{
    ConnectionId, TaskId, TurnId,
    event::{Draft, EventType},
    operation::Outcome,
    records::{Task, Turn},
    task::TaskCommand,
    turn::{TurnCommand, TurnEnd, TurnState},
    words::StopReason,
};
use mate_store::{Change, JournalReader, JournalWriter, OperationFacts};
use serde_json::{Value, json};
use std::sync::Arc;

pub(super) struct Hosted {
    /// A process has its own files and connections, so each session gets its own as well.
    house: House,
    pub(super) journal: JournalWriter,
    pub(super) reader: JournalReader,
    pub(super) desk: Arc<Admission>,
    connection: ConnectionId,
    next_turn: i64,
    _lock: SessionLock,
}

/// The turn in which calls are made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Running {
    pub(super) task: TaskId,
    pub(super) turn: TurnId,
}

impl Hosted {
    /// Hosts the session of `task`.
    pub(super) async fn take(home: &Home, task: &Task) -> Result<Self> {
        let house = House::again(home.clone()).await?;
        let engine = house.engine();
        let lock =
            SessionLock::try_take(&home.session(task.session))?.context("the session is hosted already")?;
        let epoch = engine.host(task.session, &lock).await?;
        let (journal, found) = engine.stores.journal_writer(task.session, epoch, engine.clock.now()).await?;
        let redactor = Arc::new(Redactor::new(Vec::<Vec<u8>>::new())?);
        let writer = journal.clone();
        let next = found.next_operation;
        let entropy = Arc::clone(&engine.entropy);
        let spill = Spill::open(&home.session(task.session), &engine.key, task.session, entropy)?;
        let desk =
            Admission::new(Arc::clone(engine), task.session, task.project, writer, spill, next, redactor);
        let connection = engine.connection(&house.who, CONNECTION).await?.id;
        let reader = journal.reader();
        let next_turn = found.next_turn;
        Ok(Self { house, journal, reader, desk: Arc::new(desk), connection, next_turn, _lock: lock })
    }

    fn engine(&self) -> &Arc<Engine> {
        self.house.engine()
    }

    /// Claims the task and intends its prompt.
    pub(super) async fn begin(&mut self, mut task: Task) -> Result<Running> {
        let engine = Arc::clone(self.engine());
        let (now, id) = (engine.clock.now(), TurnId::new(engine.entropy.uuid()));
        let claim = TaskCommand::Claim { turn: id, epoch: self.journal.epoch() };
        let transition = task.state.decide(claim, now)?;
        let running = Running { task: task.id, turn: id };
        let event = running.draft(EventType::TaskStarted, &engine, json!({ "session": task.session }));
        engine.ledger.apply_task(&task, &transition, event, &[], None).await?;
        task = task.moved(transition.into_to());
        let turn = Turn::opened(id, self.next_turn, task.id, now);
        self.next_turn += 1;
        let started = running.draft(EventType::TurnStarted, &engine, json!({ "number": turn.number }));
        self.journal.write(vec![Change::OpenTurn(turn), Change::Event(started)]).await?;
        self.move_turn(running, &TurnState::Starting, TurnCommand::Prompt, EventType::TurnPrompted).await?;
        let current = CurrentTurn { task: running.task, turn: running.turn };
        self.desk.set_current(Some(current));
        self.desk.refresh(task.id).await?;
        Ok(running)
    }

    /// Ends the turn and concludes the task.
    pub(super) async fn end(&self, running: Running) -> Result<()> {
        let turn = self.reader.turn(running.turn).await?.context("the turn is gone")?;
        let end = TurnEnd::Answered { reason: StopReason::EndTurn, empty: false };
        let command = TurnCommand::Finish { end, in_flight: 0 };
        self.move_turn(running, &turn.state, command, EventType::TurnEnded).await?;
        self.desk.set_current(None);
        self.engine().conclude(&self.reader, self.journal.epoch(), running.task).await?;
        Ok(())
    }

    async fn move_turn(
        &self,
        running: Running,
        from: &TurnState,
        command: TurnCommand,
        kind: EventType,
    ) -> Result<()> {
        let engine = self.engine();
        let transition = from.decide(command, engine.clock.now())?;
        let event = running.draft(kind, engine, json!({}));
        let change = Change::MoveTurn { turn: running.turn, transition, report: None, evidence: None };
        self.journal.write(vec![change, Change::Event(event)]).await?;
        Ok(())
    }

    /// Gives the session back.
    pub(super) async fn release(self, task: &Task) -> Result<()> {
        Ok(self.engine().release(task.session, self.journal.epoch()).await?)
    }

    /// A call that differs from others by its number, as far as the leave to send it.
    pub(super) async fn admit(&self, number: u64) -> Result<Box<Go>> {
        let arguments = json!({ "text": format!("hello {number}") }).to_string();
        let request = Request {
            connection: Some(self.connection),
            connection_name: CONNECTION,
            tool: "echo",
            arguments: &arguments,
            runtime_call: None,
            definition: &mate_guard::Definition::of("{}"),
            says_read_only: false,
            tell: None,
            continues: None,
            gone: None,
        };
        match self.desk.admit(&request).await {
            Admitted::Go(go) => Ok(go),
            other @ (Admitted::Refused(_)
            | Admitted::Told { .. }
            | Admitted::Stored { .. }
            | Admitted::Asked { .. }) => {
                bail!("a call was refused: {other:?}")
            }
        }
    }

    /// A whole operation: intent, second read, outcome.
    pub(super) async fn operation(&self, number: u64) -> Result<()> {
        let go = self.admit(number).await?;
        let now = self.engine().clock.now();
        let facts = OperationFacts {
            sent_at: Some(now),
            answered_at: Some(now),
            duration_us: Some(1),
            result_size: Some(64),
            result_type: Some("text".to_owned()),
        };
        let result =
            json!({ "content": [{ "type": "text", "text": format!("hello {number}") }] }).to_string();
        let ended = Ended::new(Outcome::Result { error: None }, facts, Some(result));
        self.desk.settle(*go, ended).await?.handed_over();
        Ok(())
    }

    /// Microseconds of a clock that never goes back.
    pub(super) fn clock(&self) -> i64 {
        self.engine().clock.monotonic()
    }
}

impl Running {
    pub(super) fn draft(&self, kind: EventType, engine: &Engine, data: Value) -> Draft {
        Draft { kind, task: Some(self.task), turn: Some(self.turn), at: engine.clock.now(), data }
    }
}
