//! One call through the bridge, from the runtime's request to its outcome, as a worker carries it.

use super::{
    config::{Flaw, Stores},
    keys::{ApprovalKey, OperationVerb},
    state::{At, Breach, NONE, Runtime, Stage, State, Upstream},
    walk::{Walk, send},
};
use mate_model::{approval::ApprovalStateWord, operation::OperationStateWord, words::EffectClass};

impl Walk {
    pub(super) fn call(&mut self, state: &State, slot: usize, call: usize) {
        match state.workers[slot].stages[call] {
            Stage::New => self.request(state, slot, call),
            Stage::Asked if !self.turn_runs(state, slot) => {}
            Stage::Asked => {
                let mut next = *state;
                if self.ledger_takes(&mut next, slot) {
                    next.approval = 0;
                    self.carries(
                        next,
                        slot,
                        call,
                        "[ledger] puts the approval into the inbox",
                        Stage::Waiting,
                    );
                } else {
                    self.is_stale(state, slot);
                }
            }
            Stage::Waiting => self.wait(state, slot, call),
            Stage::Leave => self.admit(state, slot, call),
            Stage::Permit => self.second_read(state, slot, call),
            Stage::Barred => {
                let what = "[journal] settles the call as not sent";
                self.settles(state, slot, call, OperationVerb::NotSent, what, Stage::Done);
            }
            Stage::Admitted => self.dispatch(state, slot, call),
            Stage::Sent => self.listen(state, slot, call),
            Stage::Late => self.listen_late(state, slot, call),
            Stage::Done => {}
        }
    }

    pub(super) fn carries(
        &mut self,
        mut next: State,
        slot: usize,
        call: usize,
        what: &'static str,
        to: Stage,
    ) {
        next.workers[slot].stages[call] = to;
        let at = next.workers[slot].at;
        self.goes(next, slot, what, at);
    }

    fn settles(
        &mut self,
        state: &State,
        slot: usize,
        call: usize,
        verb: OperationVerb,
        what: &'static str,
        to: Stage,
    ) {
        let mut next = *state;
        if !self.journal_takes(&mut next, slot) {
            self.is_stale(state, slot);
            return;
        }
        if self.move_operation(&mut next, call, verb) {
            self.carries(next, slot, call, what, to);
        }
    }

    /// The turn is with the runtime, as far as this worker knows.
    fn turn_runs(&self, state: &State, slot: usize) -> bool {
        state.workers[slot].at == At::Work
    }

    fn request(&mut self, state: &State, slot: usize, call: usize) {
        let asks = self.turn_runs(state, slot) && state.runtime == Runtime::Prompted;
        if !asks || self.operation(state, call) != OperationStateWord::Requested {
            return;
        }
        if self.config.tools[call].approval {
            self.settles(
                state,
                slot,
                call,
                OperationVerb::Await,
                "[journal] writes that the call waits for leave",
                Stage::Asked,
            );
        } else if self.config.has(Flaw::DispatchBeforeIntent) {
            self.dispatch(state, slot, call);
        } else {
            self.admit(state, slot, call);
        }
    }

    fn wait(&mut self, state: &State, slot: usize, call: usize) {
        if !self.turn_runs(state, slot) {
            return;
        }
        let expired = "[journal] writes that nobody gave leave in time";
        match self.machines.approval.state(state.approval).word() {
            ApprovalStateWord::Open => {
                self.settles(state, slot, call, OperationVerb::Expire, expired, Stage::Done);
            }
            ApprovalStateWord::Allowed if self.config.has(Flaw::LeaveNotUsed) => {
                self.carries(*state, slot, call, "takes the leave and leaves it open", Stage::Leave);
            }
            ApprovalStateWord::Allowed => {
                let mut next = *state;
                if !self.ledger_takes(&mut next, slot) {
                    self.is_stale(state, slot);
                    return;
                }
                if let Ok(used) = self.machines.approval.decide(state.approval, ApprovalKey::Use) {
                    next.approval = used;
                    self.carries(next, slot, call, "[ledger] uses the leave", Stage::Leave);
                }
            }
            ApprovalStateWord::Denied => {
                let what = "[journal] writes that leave was denied";
                self.settles(state, slot, call, OperationVerb::Deny, what, Stage::Done);
            }
            ApprovalStateWord::Expired | ApprovalStateWord::Withdrawn | ApprovalStateWord::Used => {}
        }
    }

    fn admit(&mut self, state: &State, slot: usize, call: usize) {
        if !self.turn_runs(state, slot) {
            return;
        }
        let mut next = *state;
        if !self.journal_takes(&mut next, slot) {
            self.is_stale(state, slot);
            return;
        }
        if self.move_operation(&mut next, call, OperationVerb::Admit) {
            next.calls[call].late = !self.authorised(state);
            self.carries(next, slot, call, "[journal] commits the call's intent", Stage::Permit);
        }
    }

    fn second_read(&mut self, state: &State, slot: usize, call: usize) {
        if self.config.has(Flaw::NoSecondRead) {
            self.carries(*state, slot, call, "does not read the ledger again", Stage::Admitted);
            return;
        }
        if self.session(state) != (state.workers[slot].epoch, true) && !self.config.has(Flaw::NoLedgerFence) {
            self.is_stale(state, slot);
            return;
        }
        let to = if self.authorised(state) { Stage::Admitted } else { Stage::Barred };
        self.carries(*state, slot, call, "reads the ledger again", to);
    }

    fn dispatch(&mut self, state: &State, slot: usize, call: usize) {
        let mut next = *state;
        send(&mut next, call);
        next.breach = self.breach_of_sending(state, call).unwrap_or(state.breach);
        self.late_sends |= self.operation(state, call) != OperationStateWord::InFlight;
        self.carries(next, slot, call, "sends the call", Stage::Sent);
        if state.workers[slot].stages[call] == Stage::Admitted {
            self.carries(*state, slot, call, "cannot send: no byte goes out", Stage::Barred);
        }
    }

    fn breach_of_sending(&self, state: &State, call: usize) -> Option<Breach> {
        let used = |state: &State| {
            state.approval != NONE
                && self.machines.approval.state(state.approval).word() == ApprovalStateWord::Used
        };
        if state.calls[call].late {
            return Some(Breach::SentThoughBarred);
        }
        if self.config.tools[call].approval && !used(state) {
            return Some(Breach::SentWithoutLeave);
        }
        let taken_over = self.config.stores == Stores::Shared;
        match self.operation(state, call) {
            OperationStateWord::InFlight => None,
            // A frozen worker's last step, after another one has classified: the record allows for it.
            OperationStateWord::Unknown | OperationStateWord::Abandoned if taken_over => None,
            OperationStateWord::Failed
                if taken_over && self.config.tools[call].class == EffectClass::Read =>
            {
                None
            }
            // A person who says meanwhile that it did not happen may be overtaken by it: the limit of a lease.
            OperationStateWord::Failed if taken_over && state.found[call].person => None,
            OperationStateWord::Requested | OperationStateWord::AwaitingApproval => {
                Some(Breach::SentWithoutIntent)
            }
            OperationStateWord::Unknown
            | OperationStateWord::Abandoned
            | OperationStateWord::Failed
            | OperationStateWord::Denied
            | OperationStateWord::Expired
            | OperationStateWord::Withdrawn
            | OperationStateWord::Succeeded
            | OperationStateWord::NotSent => Some(Breach::SentAfterOutcome),
        }
    }

    fn listen(&mut self, state: &State, slot: usize, call: usize) {
        let lost = |class| if class == EffectClass::Read { Stage::Done } else { Stage::Late };
        let after_loss = lost(self.config.tools[call].class);
        match state.calls[call].upstream {
            Upstream::Success | Upstream::Error => self.answer(state, slot, call),
            Upstream::Silent => {
                let what = "[journal] settles the call as lost";
                self.settles(state, slot, call, OperationVerb::Lost, what, Stage::Done);
            }
            Upstream::Pending if state.workers[slot].at == At::Settle => {
                let what = "[journal] gives the call up at the bound";
                self.settles(state, slot, call, OperationVerb::Lost, what, after_loss);
            }
            Upstream::Pending | Upstream::Untouched => {}
        }
    }

    fn answer(&mut self, state: &State, slot: usize, call: usize) {
        let error = state.calls[call].upstream == Upstream::Error;
        let verb = OperationVerb::Answered { error };
        self.settles(state, slot, call, verb, "[journal] settles the call as answered", Stage::Done);
    }
}
