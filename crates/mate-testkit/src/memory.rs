//! Reference stores in memory: what the ledger and the journal must answer, without SQL.
//!
//! They apply the model's own transitions with the plainest compare-and-set there is. A property test gives the
//! same commands to them and to both engines and compares rows and events.

use mate_model::{
    Epoch, OperationId, SessionId, TaskId, Transition, TurnId,
    event::{Draft, Event, Log},
    operation::{OperationState, OperationStateWord},
    records::{Operation, Task, Turn},
    task::{TaskState, TaskStateWord},
    turn::{TurnState, TurnStateWord},
};
use std::collections::BTreeMap;

/// The state was not the one that a move starts from, or the schema would refuse the row; nothing changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflict;

/// Appends an event as a store numbers and links it.
fn append(events: &mut Vec<Event>, log: Log, owner: Option<(SessionId, Epoch)>, draft: Draft) {
    let prev = draft.task.and_then(|_| events.iter().rev().find(|e| e.task == draft.task).map(|e| e.seq));
    let seq = i64::try_from(events.len()).unwrap_or(i64::MAX) + 1;
    events.push(Event {
        log,
        seq,
        prev,
        session: owner.map(|(session, _)| session),
        task: draft.task,
        turn: draft.turn,
        epoch: owner.map(|(_, epoch)| epoch),
        kind: draft.kind,
        at: draft.at,
        data: draft.data,
    });
}

/// One project's part of the ledger: tasks and events.
#[derive(Clone, Debug, Default)]
pub struct MemoryLedger {
    /// The tasks.
    pub tasks: BTreeMap<TaskId, Task>,
    /// The project's events.
    pub events: Vec<Event>,
}

impl MemoryLedger {
    /// Adds a task as it was submitted; its number is given here.
    pub fn submit(&mut self, mut task: Task, draft: Draft) -> Task {
        let last = self.tasks.values().filter(|t| t.session == task.session).map(|t| t.number).max();
        task.number = last.unwrap_or(0) + 1;
        self.tasks.insert(task.id, task.clone());
        append(&mut self.events, Log::Ledger, None, draft);
        task
    }

    /// Applies a move.
    ///
    /// # Errors
    /// [`Conflict`] when the task has moved on, or its session runs another one.
    pub fn apply(
        &mut self,
        id: TaskId,
        transition: &Transition<TaskState>,
        draft: Draft,
    ) -> Result<(), Conflict> {
        let runs =
            |state: &TaskState| matches!(state.word(), TaskStateWord::Running | TaskStateWord::StopRequested);
        let task = self.tasks.get(&id).ok_or(Conflict)?;
        let busy = self.tasks.values().any(|t| t.id != id && t.session == task.session && runs(&t.state));
        if task.state != *transition.from() || (runs(transition.to()) && busy) {
            return Err(Conflict);
        }
        if let Some(task) = self.tasks.get_mut(&id) {
            *task = task.clone().moved(transition.to().clone());
        }
        append(&mut self.events, Log::Ledger, None, draft);
        Ok(())
    }
}

/// One session's journal.
#[derive(Clone, Debug)]
pub struct MemoryJournal {
    session: SessionId,
    /// The epoch in force.
    pub epoch: Epoch,
    /// The turns.
    pub turns: BTreeMap<TurnId, Turn>,
    /// The operations.
    pub operations: BTreeMap<OperationId, Operation>,
    /// The events.
    pub events: Vec<Event>,
}

impl MemoryJournal {
    /// An empty journal.
    #[must_use]
    pub const fn new(session: SessionId, epoch: Epoch) -> Self {
        Self { session, epoch, turns: BTreeMap::new(), operations: BTreeMap::new(), events: Vec::new() }
    }

    fn event(&mut self, draft: Draft) {
        append(&mut self.events, Log::Journal, Some((self.session, self.epoch)), draft);
    }

    /// Opens a turn.
    ///
    /// # Errors
    /// [`Conflict`] when it is there already, or another one is not over.
    pub fn open_turn(&mut self, turn: Turn, draft: Draft) -> Result<(), Conflict> {
        let busy = self.turns.values().any(|t| t.state.word() != TurnStateWord::Ended);
        if busy || self.turns.contains_key(&turn.id) {
            return Err(Conflict);
        }
        self.turns.insert(turn.id, turn);
        self.event(draft);
        Ok(())
    }

    /// Moves a turn on.
    ///
    /// # Errors
    /// [`Conflict`] when it has moved on.
    pub fn move_turn(
        &mut self,
        id: TurnId,
        transition: &Transition<TurnState>,
        draft: Draft,
    ) -> Result<(), Conflict> {
        let turn = self.turns.get_mut(&id).filter(|turn| turn.state == *transition.from()).ok_or(Conflict)?;
        turn.state = transition.to().clone();
        self.event(draft);
        Ok(())
    }

    /// Adds an operation, born with the state that `transition` leads to.
    ///
    /// # Errors
    /// [`Conflict`] when its number is used or its turn is not there.
    pub fn add_operation(
        &mut self,
        mut operation: Operation,
        transition: &Transition<OperationState>,
        draft: Draft,
    ) -> Result<(), Conflict> {
        if self.operations.contains_key(&operation.id) || !self.turns.contains_key(&operation.turn) {
            return Err(Conflict);
        }
        stamp(&mut operation, transition);
        self.operations.insert(operation.id, operation);
        self.event(draft);
        Ok(())
    }

    /// Moves an operation on.
    ///
    /// # Errors
    /// [`Conflict`] when it has moved on.
    pub fn move_operation(
        &mut self,
        id: OperationId,
        transition: &Transition<OperationState>,
        draft: Draft,
    ) -> Result<(), Conflict> {
        let operation = self.operations.get_mut(&id).ok_or(Conflict)?;
        if operation.state.word() != transition.from().word() {
            return Err(Conflict);
        }
        operation.state = transition.to().clone();
        stamp(operation, transition);
        self.event(draft);
        Ok(())
    }
}

/// The times that a store takes from the move itself.
fn stamp(operation: &mut Operation, transition: &Transition<OperationState>) {
    let at = Some(transition.at());
    let word = transition.to().word();
    if word == OperationStateWord::InFlight {
        operation.admitted_at = at;
    }
    let open = matches!(
        word,
        OperationStateWord::Requested | OperationStateWord::AwaitingApproval | OperationStateWord::InFlight
    );
    operation.recorded_at = if open { None } else { at };
}
