//! A worker's main program: from the lock to the release, one step at a time.
//!
//! A step reads or writes one store, or does one thing in the world. A write that a store refuses because of the
//! epoch ends the process.

use super::{
    config::{Flaw, Stores},
    keys::{ApprovalKey, OperationVerb, Over, SessionKey, TaskKey, TurnKey},
    state::{At, Breach, Container, Life, NONE, Runtime, State},
    walk::{Walk, Who, kill_container},
};
use mate_model::{Refusal, operation::OperationStateWord, task::TaskStateWord, turn::TurnStateWord};

impl Walk {
    pub(super) fn worker(&mut self, state: &State, slot: usize) {
        self.follows_at_work(state, slot);
        match state.workers[slot].at {
            At::Lock => self.lock(state, slot),
            At::Empty => {
                let mut next = *state;
                if !self.config.has(Flaw::RecoverWithoutEmptying) {
                    kill_container(&mut next);
                    next.runtime = Runtime::Silent;
                }
                self.goes(next, slot, "makes sure that the container is empty", At::TakeOver);
            }
            At::TakeOver => self.take_over(state, slot),
            At::Classify => self.classify(state, slot),
            At::Claim => self.claim(state, slot),
            At::Open => {
                let mut next = *state;
                if next.turn == NONE {
                    next.turn = 0;
                }
                self.journals(state, next, slot, "[journal] opens the turn", At::Launch);
            }
            At::Launch => self.launch(state, slot),
            At::Look => {
                let to = match self.stop_requested(state) {
                    false => At::Prompt,
                    true if self.config.has(Flaw::StopFirstKeepsContainer) => At::FinishStopped,
                    true => At::EndFirst,
                };
                self.goes(*state, slot, "looks for a stop before the prompt", to);
                let next = self.with_ended_container(state, slot);
                let what = "cannot make the runtime ready, and ends its container";
                self.goes(next, slot, what, At::FinishNotStarted);
            }
            At::EndFirst => {
                let next = self.with_ended_container(state, slot);
                self.goes(next, slot, "ends the container before the prompt", At::EvidenceFirst);
            }
            At::EvidenceFirst => self.prove(state, slot, At::FinishStopped),
            At::Prompt => {
                let mut next = *state;
                let moved = self.move_turn(&mut next, TurnKey::Prompt);
                let to = if moved { At::Send } else { At::Quit };
                self.journals(state, next, slot, "[journal] commits the prompt's intent", to);
            }
            At::Send => self.send_prompt(state, slot),
            At::Work => self.work(state, slot),
            At::Stop => self.stop(state, slot),
            At::Finish => self.finish(state, slot),
            At::FinishNotStarted => self.finish_as(state, slot, Over::NotStarted),
            At::FinishStopped => self.finish_as(state, slot, Over::StoppedFirst),
            At::Settle => self.settle(state, slot),
            At::End => self.end(state, slot),
            At::Evidence => {
                let ended = self.turn(state) == Some(TurnStateWord::Ended);
                self.prove(state, slot, if ended { At::Read } else { At::Settle });
            }
            At::Read => self.read(state, slot),
            At::Conclude => self.conclude(state, slot),
            At::Quit => self.quit(state, slot),
            At::Release => self.release(state, slot),
        }
    }

    pub(super) fn goes(&mut self, mut next: State, slot: usize, what: &'static str, to: At) {
        let who = Who::Worker(next.workers[slot].epoch);
        next.workers[slot].at = to;
        self.step(who, what, next);
    }

    /// The worker writes to the journal and goes on; refused as stale, it ends.
    pub(super) fn journals(
        &mut self,
        state: &State,
        mut next: State,
        slot: usize,
        what: &'static str,
        to: At,
    ) {
        if self.journal_takes(&mut next, slot) {
            self.goes(next, slot, what, to);
        } else {
            self.is_stale(state, slot);
        }
    }

    /// A store refused the worker's write: nothing of it is done, and the process ends.
    pub(super) fn is_stale(&mut self, state: &State, slot: usize) {
        if self.config.has(Flaw::StaleWorkerStays) {
            return;
        }
        let mut ended = *state;
        let who = Who::Worker(ended.workers[slot].epoch);
        self.leave(&mut ended, slot);
        self.step(who, "is refused as stale, and ends", ended);
    }

    pub(super) fn own_container(&self, state: &State, slot: usize) -> bool {
        matches!(state.container, Container::Of(owner) if usize::from(owner) == slot)
    }

    fn lock(&mut self, state: &State, slot: usize) {
        let mut next = *state;
        let who = Who::Worker(next.workers[slot].epoch);
        let current = self.session(state) == (state.workers[slot].epoch, true);
        if self.lock_is_held(state) || !current {
            self.leave(&mut next, slot);
            self.step(who, "finds the session taken, and ends", next);
            return;
        }
        for other in &mut next.workers {
            if other.holds && other.life == Life::Frozen && self.config.stores == Stores::Embedded {
                next.breach = Breach::StaleWhileHeld;
            }
            other.holds = false;
        }
        next.workers[slot].holds = true;
        self.goes(next, slot, "takes the lock", At::Empty);
    }

    fn take_over(&mut self, state: &State, slot: usize) {
        let mut next = *state;
        if state.head >= state.workers[slot].epoch {
            self.is_stale(state, slot);
            return;
        }
        next.head = state.workers[slot].epoch;
        for call in 0..2 {
            next.calls[call].cut |= self.operation(state, call) == OperationStateWord::InFlight;
        }
        self.goes(next, slot, "[journal] takes the journal over", At::Classify);
    }

    fn classify(&mut self, state: &State, slot: usize) {
        for call in 0..2 {
            let mut next = *state;
            let (verb, what) = match self.operation(state, call) {
                OperationStateWord::InFlight if self.config.has(Flaw::DispatchAgain) => {
                    super::walk::send(&mut next, call);
                    (OperationVerb::Lost, "sends the call again")
                }
                OperationStateWord::InFlight if self.config.has(Flaw::LostIsNotSent) => {
                    (OperationVerb::NotSent, "[journal] classifies the call as not sent")
                }
                OperationStateWord::InFlight => {
                    (OperationVerb::Lost, "[journal] classifies the call as lost")
                }
                OperationStateWord::AwaitingApproval => {
                    (OperationVerb::Withdraw, "[journal] withdraws the wait for leave")
                }
                OperationStateWord::Requested
                | OperationStateWord::Denied
                | OperationStateWord::Expired
                | OperationStateWord::Withdrawn
                | OperationStateWord::Succeeded
                | OperationStateWord::Failed
                | OperationStateWord::NotSent
                | OperationStateWord::Unknown
                | OperationStateWord::Abandoned => continue,
            };
            self.move_operation(&mut next, call, verb);
            self.journals(state, next, slot, what, At::Classify);
            return;
        }
        match self.turn(state) {
            Some(TurnStateWord::Prompted) if self.config.has(Flaw::PromptAgain) => {
                let mut next = *state;
                next.container = Container::Of(u8::from(slot == 1));
                self.goes(next, slot, "starts the runtime to prompt again", At::Send);
            }
            Some(TurnStateWord::Prompted) => {
                for over in [Over::Lost, Over::LostAtOwnWork] {
                    self.finish_with(state, slot, over, "[journal] classifies the turn as lost");
                }
            }
            Some(TurnStateWord::Settling) => self.close(state, slot),
            Some(TurnStateWord::Ended) if self.config.has(Flaw::EndedTurnWithoutEvidence) => {
                if !matches!(self.conclusion(state, slot), Some((_, Err(Refusal::NoEvidence)))) {
                    self.goes(*state, slot, "finds the turn ended", At::Read);
                }
            }
            Some(TurnStateWord::Ended) => {
                let to = if state.evidence { At::Read } else { At::Evidence };
                self.goes(*state, slot, "finds the turn ended", to);
            }
            None if self.stop_requested(state) => {
                self.goes(*state, slot, "finds a stop and no turn", At::Read);
            }
            Some(TurnStateWord::Starting) if self.stop_requested(state) => {
                self.finish_as(state, slot, Over::StoppedFirst);
            }
            None | Some(TurnStateWord::Starting) => {
                let to = match self.task(state) {
                    TaskStateWord::Accepted | TaskStateWord::Running | TaskStateWord::StopRequested => {
                        At::Claim
                    }
                    TaskStateWord::Proposed
                    | TaskStateWord::Completed
                    | TaskStateWord::Failed
                    | TaskStateWord::Stopped
                    | TaskStateWord::Rejected
                    | TaskStateWord::Unknown => At::Quit,
                };
                self.goes(*state, slot, "finds no prompt's intent", to);
            }
        }
    }

    fn claim(&mut self, state: &State, slot: usize) {
        let mut next = *state;
        if !self.ledger_takes(&mut next, slot) {
            self.is_stale(state, slot);
            return;
        }
        let claimed = self.move_task(&mut next, TaskKey::Claim { epoch: state.workers[slot].epoch });
        let to = if claimed { At::Open } else { At::Quit };
        self.goes(next, slot, "[ledger] claims the task", to);
    }

    fn launch(&mut self, state: &State, slot: usize) {
        if self.stop_requested(state) {
            self.goes(*state, slot, "looks for a stop before the launch", At::FinishStopped);
            return;
        }
        self.goes(*state, slot, "cannot launch the runtime", At::FinishNotStarted);
        if state.workers[slot].holds || self.config.has(Flaw::KeeperWithoutDeadline) {
            let mut next = *state;
            next.container = Container::Of(u8::from(slot == 1));
            self.goes(next, slot, "launches the runtime in its container", At::Look);
        }
    }

    fn send_prompt(&mut self, state: &State, slot: usize) {
        let mut next = *state;
        if self.own_container(state, slot) {
            next.prompts = (next.prompts + 1).min(2);
            next.runtime = Runtime::Prompted;
            if !matches!(self.turn(state), Some(TurnStateWord::Prompted)) {
                next.breach = Breach::PromptedWithoutIntent;
            }
        }
        self.goes(next, slot, "sends the prompt", At::Work);
    }

    fn work(&mut self, state: &State, slot: usize) {
        if state.runtime.has_answered() {
            self.goes(*state, slot, "hears that the turn is over", At::Finish);
        } else if !self.own_container(state, slot) {
            self.goes(*state, slot, "sees that the runtime is gone", At::Finish);
        }
        if self.stop_requested(state) {
            self.goes(*state, slot, "sees the stop request, and cancels", At::Stop);
        }
    }

    fn stop(&mut self, state: &State, slot: usize) {
        if state.runtime.has_answered() {
            self.goes(*state, slot, "hears the answer to the cancel", At::Finish);
        }
        let mut next = *state;
        if self.own_container(state, slot) {
            kill_container(&mut next);
        }
        self.goes(next, slot, "kills the container", At::Finish);
    }

    fn finish(&mut self, state: &State, slot: usize) {
        for call in 0..2 {
            if self.operation(state, call) == OperationStateWord::AwaitingApproval {
                let mut next = *state;
                self.move_operation(&mut next, call, OperationVerb::Withdraw);
                self.journals(state, next, slot, "[journal] withdraws the wait for leave", At::Finish);
                return;
            }
        }
        let what = "[journal] writes how the turn was over";
        match state.runtime {
            Runtime::SaysEnd => self.finish_with(state, slot, Over::EndTurn, what),
            Runtime::SaysCancelled => self.finish_with(state, slot, Over::Cancelled, what),
            Runtime::SaysError => self.finish_with(state, slot, Over::Errored, what),
            Runtime::Silent | Runtime::Prompted => {
                self.finish_with(state, slot, Over::Lost, what);
                self.finish_with(state, slot, Over::LostAtOwnWork, what);
            }
        }
    }

    fn finish_with(&mut self, state: &State, slot: usize, over: Over, what: &'static str) {
        let in_flight = if self.config.has(Flaw::CloseWithoutSettling) { 0 } else { self.in_flight(state) };
        let mut next = *state;
        self.move_turn(&mut next, TurnKey::Finish { over, in_flight });
        next.evidence |= recovers(state, slot);
        let ended = self.turn(&next) == Some(TurnStateWord::Ended);
        self.journals(state, next, slot, what, if ended { At::End } else { At::Settle });
    }

    fn finish_as(&mut self, state: &State, slot: usize, over: Over) {
        self.finish_with(state, slot, over, "[journal] writes that no prompt was sent");
    }

    fn quit(&mut self, state: &State, slot: usize) {
        if self.follows(state, slot) || self.settles_task(state, slot) {
            return;
        }
        let mut next = *state;
        if state.approval != NONE
            && let Ok(withdrawn) = self.machines.approval.decide(state.approval, ApprovalKey::Withdraw)
        {
            if self.ledger_takes(&mut next, slot) {
                next.approval = withdrawn;
                self.goes(next, slot, "[ledger] withdraws what is left in the inbox", At::Quit);
            } else {
                self.is_stale(state, slot);
            }
            return;
        }
        if self.own_container(state, slot) {
            kill_container(&mut next);
        }
        self.goes(next, slot, "ends what it started", At::Release);
    }

    fn release(&mut self, state: &State, slot: usize) {
        let mut next = *state;
        let who = Who::Worker(next.workers[slot].epoch);
        self.move_session(&mut next, SessionKey::Release { epoch: state.workers[slot].epoch });
        self.leave(&mut next, slot);
        self.step(who, "[ledger] releases the session, and ends", next);
    }
}

/// Whether a dead worker's turn is closed: the container was made empty first, and the proof is part of the write.
pub(super) fn recovers(state: &State, slot: usize) -> bool {
    state.workers[slot].at == At::Classify
}
