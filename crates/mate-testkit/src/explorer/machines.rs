//! The real machines of the model, with their states numbered so that a world fits into few bytes.
//!
//! A command is a small key; what it does to a numbered state is asked of the model's `decide` once and remembered.

use super::{
    hash::FastMap,
    keys::{ApprovalKey, OperationKey, SessionKey, TaskKey, TurnKey},
};
use mate_model::{Refusal, Transition};
use std::hash::Hash;

/// A command of one machine, small enough to be compared by the million.
pub(super) trait Key: Copy + Eq + Hash {
    /// The machine's state.
    type State: Clone + Eq + Hash;

    /// What the model says.
    fn decide(self, state: &Self::State) -> Result<Transition<Self::State>, Refusal>;
}

/// One machine of the model: its states by number, and its decisions so far.
#[derive(Debug)]
pub(super) struct Machine<K: Key> {
    states: Vec<K::State>,
    numbers: FastMap<K::State, u8>,
    decisions: FastMap<(u8, K), Result<u8, Refusal>>,
}

impl<K: Key> Machine<K> {
    pub(super) fn starting_with(first: K::State) -> Self {
        let mut machine =
            Self { states: Vec::new(), numbers: FastMap::default(), decisions: FastMap::default() };
        machine.number(first);
        machine
    }

    fn number(&mut self, state: K::State) -> u8 {
        if let Some(number) = self.numbers.get(&state) {
            return *number;
        }
        let number = u8::try_from(self.states.len()).unwrap_or(u8::MAX);
        assert!(number < u8::MAX, "the exploration is not bounded: more than 254 states of one machine");
        self.states.push(state.clone());
        self.numbers.insert(state, number);
        number
    }

    /// The state with this number.
    pub(super) fn state(&self, number: u8) -> &K::State {
        &self.states[usize::from(number)]
    }

    /// What `decide` says of this command in this state.
    pub(super) fn decide(&mut self, number: u8, key: K) -> Result<u8, Refusal> {
        if let Some(known) = self.decisions.get(&(number, key)) {
            return known.clone();
        }
        let decision = match key.decide(self.state(number)) {
            Ok(transition) => {
                assert!(transition.from() == self.state(number), "a transition starts elsewhere");
                Ok(self.number(transition.into_to()))
            }
            Err(refusal) => Err(refusal),
        };
        self.decisions.insert((number, key), decision.clone());
        decision
    }
}

/// All machines of the product.
#[derive(Debug)]
pub(super) struct Machines {
    pub(super) task: Machine<TaskKey>,
    pub(super) session: Machine<SessionKey>,
    pub(super) turn: Machine<TurnKey>,
    pub(super) operation: Machine<OperationKey>,
    pub(super) approval: Machine<ApprovalKey>,
}

impl Machines {
    /// Each with its first state as number 0.
    pub(super) fn new() -> Self {
        use super::keys::{FIRST_APPROVAL, FIRST_SESSION};
        use mate_model::{operation::OperationState, task::TaskState, turn::TurnState};
        Self {
            task: Machine::starting_with(TaskState::Proposed),
            session: Machine::starting_with(FIRST_SESSION),
            turn: Machine::starting_with(TurnState::Starting),
            operation: Machine::starting_with(OperationState::Requested),
            approval: Machine::starting_with(FIRST_APPROVAL),
        }
    }
}
