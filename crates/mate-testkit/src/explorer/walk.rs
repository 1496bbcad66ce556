//! From one moment to all next ones: who may step, and what the stores take.

use super::{
    config::{Config, Flaw, Stores},
    keys::{OperationKey, OperationVerb, Over, SessionKey, TaskKey, TurnKey},
    machines::Machines,
    state::{Breach, Container, Life, NONE, Runtime, Stage, State, Upstream, Worker},
};
use mate_model::{operation::OperationStateWord, session::SessionStateWord, task::TaskStateWord};

/// Who makes a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    /// A worker, by its epoch.
    Worker(u8),
    Coordinator,
    Runtime,
    /// The upstream of this operation.
    Upstream(usize),
    Person,
    Fault,
}

/// One step and where it leads.
#[derive(Clone, Copy, Debug)]
pub(super) struct Next {
    pub(super) who: Who,
    pub(super) what: &'static str,
    pub(super) state: State,
}

impl Next {
    /// Whether the step is part of the protocol, that is no person's wish and no fault.
    pub(super) const fn is_protocol(&self) -> bool {
        !matches!(self.who, Who::Person | Who::Fault)
    }
}

/// The machines, the rules, and the steps found from the present moment.
#[derive(Debug)]
pub(super) struct Walk {
    pub(super) machines: Machines,
    pub(super) config: Config,
    pub(super) found: Vec<Next>,
    /// A call went out after another worker had classified it.
    pub(super) late_sends: bool,
}

impl Walk {
    pub(super) fn new(config: Config) -> Self {
        Self { machines: Machines::new(), config, found: Vec::new(), late_sends: false }
    }

    /// All steps from this moment; `found` holds them.
    pub(super) fn look_from(&mut self, state: &State) {
        self.found.clear();
        self.persons(state);
        self.coordinator(state);
        self.runtime(state);
        self.upstreams(state);
        self.faults(state);
        for slot in 0..2 {
            if state.workers[slot].life == Life::Running {
                self.worker(state, slot);
                for call in 0..2 {
                    self.call(state, slot, call);
                }
            }
        }
    }

    pub(super) fn step(&mut self, who: Who, what: &'static str, mut state: State) {
        for call in 0..2 {
            // Of a call that is judged nobody asks again: having carried it is as good as never having seen it.
            let judged = self.operation(&state, call) != OperationStateWord::Requested;
            for worker in &mut state.workers {
                if judged && worker.stages[call] == Stage::Done {
                    worker.stages[call] = Stage::New;
                }
            }
        }
        self.found.push(Next { who, what, state: state.tidy(self.config.tools[0] == self.config.tools[1]) });
    }

    pub(super) fn task(&self, state: &State) -> TaskStateWord {
        self.machines.task.state(state.task).word()
    }

    pub(super) fn operation(&self, state: &State, call: usize) -> OperationStateWord {
        self.machines.operation.state(state.operations[call]).word()
    }

    /// The highest recorded epoch, and whether the session is hosted.
    pub(super) fn session(&self, state: &State) -> (u8, bool) {
        let session = self.machines.session.state(state.session);
        let epoch = u8::try_from(session.epoch().0).unwrap_or(NONE);
        (epoch, session.word() == SessionStateWord::Hosted)
    }

    pub(super) fn stop_requested(&self, state: &State) -> bool {
        self.task(state) == TaskStateWord::StopRequested
    }

    /// Whether a call may be admitted, as the ledger stands.
    pub(super) fn authorised(&self, state: &State) -> bool {
        !state.revoked && self.task(state) == TaskStateWord::Running
    }

    pub(super) fn in_flight(&self, state: &State) -> u8 {
        (0..2).map(|call| u8::from(self.operation(state, call) == OperationStateWord::InFlight)).sum()
    }

    /// Whether somebody holds the lock, as a newcomer finds it.
    pub(super) fn lock_is_held(&self, state: &State) -> bool {
        state.workers.iter().any(|worker| {
            worker.holds
                && match worker.life {
                    Life::Absent => false,
                    Life::Running => true,
                    Life::Frozen => self.config.stores == Stores::Embedded,
                }
        })
    }

    /// Whether the journal takes this worker's write; notes one that it ought to have refused.
    pub(super) fn journal_takes(&self, state: &mut State, slot: usize) -> bool {
        let fresh = state.head == state.workers[slot].epoch;
        self.fence(state, fresh, Flaw::NoJournalFence)
    }

    /// Whether the ledger takes this worker's write: its script names the session's epoch.
    pub(super) fn ledger_takes(&self, state: &mut State, slot: usize) -> bool {
        let fresh = self.session(state) == (state.workers[slot].epoch, true);
        self.fence(state, fresh, Flaw::NoLedgerFence)
    }

    fn fence(&self, state: &mut State, fresh: bool, flaw: Flaw) -> bool {
        if !fresh && self.config.has(flaw) {
            state.breach = Breach::StaleWrite;
            return true;
        }
        fresh
    }

    /// The worker's memory is gone: from here on nobody can say what became of its calls without an outcome.
    pub(super) fn forget(&self, state: &mut State, slot: usize) {
        for call in 0..2 {
            let carried = state.workers[slot].stages[call] != Stage::New;
            state.calls[call].cut |= carried && self.operation(state, call) == OperationStateWord::InFlight;
        }
        state.workers[slot] = Worker::ABSENT;
    }

    /// The worker's process ends, and what it started with it.
    pub(super) fn leave(&self, state: &mut State, slot: usize) {
        self.forget(state, slot);
        if matches!(state.container, Container::Of(owner) if usize::from(owner) == slot) {
            kill_container(state);
        }
    }

    pub(super) fn move_task(&mut self, state: &mut State, key: TaskKey) -> bool {
        let decision = self.machines.task.decide(state.task, key);
        apply(&mut state.task, decision)
    }

    pub(super) fn move_session(&mut self, state: &mut State, key: SessionKey) -> bool {
        let decision = self.machines.session.decide(state.session, key);
        apply(&mut state.session, decision)
    }

    pub(super) fn move_turn(&mut self, state: &mut State, key: TurnKey) -> bool {
        if state.turn == NONE {
            return false;
        }
        let decision = self.machines.turn.decide(state.turn, key);
        apply(&mut state.turn, decision)
    }

    pub(super) fn move_operation(&mut self, state: &mut State, call: usize, verb: OperationVerb) -> bool {
        let key = OperationKey { class: self.config.tools[call].class, verb };
        let decision = self.machines.operation.decide(state.operations[call], key);
        apply(&mut state.operations[call], decision)
    }

    pub(super) fn over(&self, state: &State) -> Option<Over> {
        if state.turn == NONE { None } else { Over::read(self.machines.turn.state(state.turn)) }
    }
}

fn apply(place: &mut u8, decision: Result<u8, mate_model::Refusal>) -> bool {
    match decision {
        Ok(to) => {
            *place = to;
            true
        }
        Err(_) => false,
    }
}

/// Every process in the container is gone; what they were about to say is lost.
pub(super) fn kill_container(state: &mut State) {
    state.container = Container::Dead;
    if state.runtime == Runtime::Prompted {
        state.runtime = Runtime::Silent;
    }
}

/// The call leaves this machine's hands.
pub(super) fn send(state: &mut State, call: usize) {
    state.calls[call].sent = (state.calls[call].sent + 1).min(2);
    state.calls[call].upstream = Upstream::Pending;
}
