//! From the end of a turn to the end of its task: what is in flight settles, the container is ended and proved
//! empty where that is needed, the task is concluded.

use super::{
    config::Flaw,
    keys::{Over, TaskKey, TurnKey},
    state::{At, Breach, NONE, State},
    walk::{Walk, kill_container},
    worker::recovers,
};
use mate_model::{Refusal, task::TaskStateWord, turn::TurnStateWord};

impl Walk {
    pub(super) fn close(&mut self, state: &State, slot: usize) {
        let mut next = *state;
        next.evidence |= recovers(state, slot);
        let closed = self.move_turn(&mut next, TurnKey::Close { in_flight: self.in_flight(state) });
        if closed || self.turn(state) == Some(TurnStateWord::Ended) {
            self.journals(state, next, slot, "[journal] closes the turn", At::End);
        }
    }

    /// Waits for what is in flight. Where the end asks for it the container is ended meanwhile.
    pub(super) fn settle(&mut self, state: &State, slot: usize) {
        if !self.wants_proof(state) || state.evidence {
            self.close(state, slot);
            return;
        }
        self.end_container(state, slot);
        // A stop that came last may not have been seen yet.
        if !self.ends_by_itself(state) {
            self.close(state, slot);
        }
    }

    pub(super) fn end(&mut self, state: &State, slot: usize) {
        if state.evidence {
            self.goes(*state, slot, "has its proof of an empty container", At::Read);
        } else if self.wants_proof(state) {
            self.end_container(state, slot);
        } else {
            self.goes(*state, slot, "needs no proof of an empty container", At::Read);
        }
    }

    /// Whether the turn was cancelled or lost: the container is ended, stop or no stop.
    fn ends_by_itself(&self, state: &State) -> bool {
        matches!(self.over(state), Some(Over::Cancelled | Over::Lost | Over::LostAtOwnWork))
    }

    /// Whether the turn's end has to be followed by the end of the container. Without a prompt it came before.
    fn wants_proof(&self, state: &State) -> bool {
        let unprompted = matches!(self.over(state), Some(Over::StoppedFirst | Over::NotStarted));
        !self.config.has(Flaw::StopWithoutEvidence)
            && !unprompted
            && (self.stop_requested(state) || self.ends_by_itself(state))
    }

    fn end_container(&mut self, state: &State, slot: usize) {
        let careless = self.config.has(Flaw::EvidenceWithoutEnding);
        let next = if careless { *state } else { self.with_ended_container(state, slot) };
        self.goes(next, slot, "ends the container and sees that it is empty", At::Evidence);
    }

    pub(super) fn with_ended_container(&self, state: &State, slot: usize) -> State {
        let mut next = *state;
        if self.own_container(state, slot) {
            kill_container(&mut next);
        }
        next
    }

    pub(super) fn prove(&mut self, state: &State, slot: usize, to: At) {
        let next = State { evidence: true, ..*state };
        self.journals(state, next, slot, "[journal] writes that the container is empty", to);
    }

    /// How the turn was over and what the task becomes of it, as the stores stand; nothing while it is not over.
    pub(super) fn conclusion(&mut self, state: &State, slot: usize) -> Option<(Over, Result<u8, Refusal>)> {
        let stop = self.stop_requested(state);
        let over = self.over_or_never_opened(state)?;
        let unknown = (0..2).any(|call| self.is_unsettled(state, call));
        let forged = self.config.has(Flaw::StopWithoutEvidence) && over != Over::StoppedFirst;
        let evidence = state.evidence || forged;
        let epoch = state.workers[slot].epoch;
        let key = TaskKey::Conclude { epoch, over, unknown, stop, evidence };
        Some((over, self.machines.task.decide(state.task, key)))
    }

    /// How the turn was over. A task that was stopped before it had a turn ends as one stopped first.
    fn over_or_never_opened(&self, state: &State) -> Option<Over> {
        let never_opened = state.turn == NONE && self.stop_requested(state);
        self.over(state).or_else(|| never_opened.then_some(Over::StoppedFirst))
    }

    pub(super) fn read(&mut self, state: &State, slot: usize) {
        let what = "reads the journal and the task";
        let Some((over, conclusion)) = self.conclusion(state, slot) else {
            // Another worker has ended the task before it had a turn.
            self.goes(*state, slot, what, At::Quit);
            return;
        };
        match conclusion {
            Ok(to) => {
                let mut next = *state;
                let unknown = (0..2).any(|call| self.is_unsettled(state, call));
                let word = self.machines.task.state(to).word();
                if !as_the_contract_says(word, over, unknown, self.stop_requested(state)) {
                    next.breach = Breach::WrongEnd;
                }
                next.workers[slot].from = state.task;
                next.workers[slot].to = to;
                self.goes(next, slot, what, At::Conclude);
            }
            Err(Refusal::NoEvidence) => self.goes(*state, slot, what, At::End),
            Err(_) => self.goes(*state, slot, what, At::Quit),
        }
    }

    pub(super) fn conclude(&mut self, state: &State, slot: usize) {
        let mut next = *state;
        if !self.ledger_takes(&mut next, slot) {
            self.is_stale(state, slot);
            return;
        }
        let worker = state.workers[slot];
        next.workers[slot].from = NONE;
        next.workers[slot].to = NONE;
        if state.task == worker.from {
            next.task = worker.to;
            self.goes(next, slot, "[ledger] concludes the task", At::Quit);
        } else {
            next.breach = state.breach;
            self.goes(next, slot, "finds the task changed", At::Read);
        }
    }
}

/// CONTRACT section 3, written down a second time.
fn as_the_contract_says(word: TaskStateWord, over: Over, unknown: bool, stop: bool) -> bool {
    let expected = match over {
        Over::EndTurn => TaskStateWord::Completed,
        Over::Cancelled | Over::Errored | Over::Lost | Over::LostAtOwnWork if stop => TaskStateWord::Stopped,
        Over::LostAtOwnWork => TaskStateWord::Unknown,
        Over::Cancelled | Over::Errored | Over::Lost | Over::NotStarted => TaskStateWord::Failed,
        Over::StoppedFirst => TaskStateWord::Stopped,
    };
    word == if unknown { TaskStateWord::Unknown } else { expected }
}
