//! Evidence for calls that are unknown: people and late answers write it to the ledger, where the first stands; the
//! journal follows, and the task is settled when nothing of it is uncertain.

use super::{
    config::Flaw,
    keys::{OperationVerb, Over, TaskKey},
    state::{At, Found, Stage, State, Upstream},
    walk::{Walk, Who},
};
use mate_model::{
    operation::{OperationStateWord, Verdict},
    task::{End, TaskState, TaskStateWord},
};

impl Walk {
    /// A call that nothing has settled, whatever the journal says.
    pub(super) fn is_unsettled(&self, state: &State, call: usize) -> bool {
        self.operation(state, call) == OperationStateWord::Unknown && state.found[call].verdict.is_none()
    }

    /// Whether the runtime's own last act is uncertain, and nobody has settled it.
    pub(super) fn own_is_unsettled(&self, state: &State) -> bool {
        let stopped = match self.machines.task.state(state.task) {
            TaskState::Unknown { then, .. } => matches!(then, End::Stopped { .. }),
            TaskState::Ended { end, .. } => matches!(end, End::Stopped { .. }),
            TaskState::Proposed
            | TaskState::Accepted { .. }
            | TaskState::Running { .. }
            | TaskState::StopRequested { .. }
            | TaskState::Rejected { .. } => true,
        };
        !stopped && !state.own_settled && self.over(state) == Some(Over::LostAtOwnWork)
    }

    /// Whether the task is unknown although nothing of it is uncertain.
    pub(super) fn is_to_be_settled(&self, state: &State) -> bool {
        let open = (0..2).any(|call| self.is_unsettled(state, call)) || self.own_is_unsettled(state);
        self.task(state) == TaskStateWord::Unknown && !open
    }

    /// What people find out, and say.
    pub(super) fn resolutions(&mut self, state: &State) {
        if self.config.resolves {
            for call in 0..2 {
                for (verdict, what) in [
                    (Verdict::Failed, "[ledger] resolves the call as failed"),
                    (Verdict::Abandoned, "[ledger] resolves the call as abandoned"),
                ] {
                    let mut next = *state;
                    if self.is_unsettled(state, call) {
                        next.found[call] = Found { verdict: Some(verdict), person: true, ..Found::NOTHING };
                        self.step(Who::Person, what, next);
                    }
                }
            }
        }
        if self.task(state) == TaskStateWord::Unknown && self.own_is_unsettled(state) {
            let next = State { own_settled: true, ..*state };
            self.step(Who::Person, "[ledger] settles what the runtime itself had done", next);
        }
        let early = self.config.has(Flaw::SettleTooEarly)
            && self.task(state) == TaskStateWord::Unknown
            && state.found.iter().any(|found| found.verdict.is_some());
        let mut next = *state;
        if (self.is_to_be_settled(state) || early) && self.move_task(&mut next, TaskKey::Settle) {
            // Whoever resolved it looks at once; if that one died, the coordinator looks when it starts.
            let by_nobody_else = early || self.config.has(Flaw::SettleForgotten);
            let who = if by_nobody_else { Who::Person } else { Who::Coordinator };
            self.step(who, "[ledger] settles the task: nothing is uncertain any more", next);
        }
    }

    /// An answer after the call was given up: evidence like any other, from whoever hears it.
    pub(super) fn listen_late(&mut self, state: &State, slot: usize, call: usize) {
        let verdict = match state.calls[call].upstream {
            Upstream::Success => Verdict::Succeeded,
            Upstream::Error => Verdict::Failed,
            Upstream::Untouched | Upstream::Pending | Upstream::Silent => return,
        };
        let mut next = *state;
        if self.config.has(Flaw::LateIntoJournal) {
            if self.journal_takes(&mut next, slot) {
                self.move_operation(&mut next, call, OperationVerb::Resolve { verdict, person: false });
                self.carries(next, slot, call, "[journal] writes the late answer", Stage::Done);
            } else {
                self.is_stale(state, slot);
            }
            return;
        }
        let found = &mut next.found[call];
        match found.verdict {
            None => *found = Found { verdict: Some(verdict), ..Found::NOTHING },
            Some(_) if self.config.has(Flaw::LastEvidenceWins) => {
                *found = Found { verdict: Some(verdict), ..Found::NOTHING };
            }
            Some(first) => found.contrary |= first != verdict,
        }
        self.carries(next, slot, call, "[ledger] gives the late answer as evidence", Stage::Done);
    }

    /// Copies one resolution, step by step, so that a crash may come between the two stores; says whether there was
    /// anything to do.
    pub(super) fn follows(&mut self, state: &State, slot: usize) -> bool {
        for call in 0..2 {
            let found = state.found[call];
            let Some(verdict) = found.verdict.filter(|_| !found.applied) else { continue };
            let at = state.workers[slot].at;
            let mut next = *state;
            if self.operation(state, call) == OperationStateWord::Unknown
                && !self.config.has(Flaw::AppliedBeforeCopied)
            {
                let verb = OperationVerb::Resolve { verdict, person: found.person };
                self.move_operation(&mut next, call, verb);
                self.journals(state, next, slot, "[journal] copies the resolution", at);
            } else if !self.settles_task(state, slot) {
                next.found[call].applied = true;
                self.goes(next, slot, "[ledger] remembers that the journal has it", at);
            }
            return true;
        }
        false
    }

    /// Whoever looks after a session does not leave a task unknown of which nothing is uncertain.
    pub(super) fn settles_task(&mut self, state: &State, slot: usize) -> bool {
        if !self.is_to_be_settled(state) || self.config.has(Flaw::SettleForgotten) {
            return false;
        }
        let mut next = *state;
        self.move_task(&mut next, TaskKey::Settle);
        let at = state.workers[slot].at;
        self.goes(next, slot, "[ledger] settles the task: nothing is uncertain any more", at);
        true
    }

    /// While the turn goes on, a worker takes in what was found out of earlier calls.
    pub(super) fn follows_at_work(&mut self, state: &State, slot: usize) {
        if matches!(state.workers[slot].at, At::Work | At::Settle) {
            self.follows(state, slot);
        }
    }

    /// What is wrong with what was found out, if anything.
    pub(super) fn wrong_resolution(&self, state: &State) -> Option<&'static str> {
        for call in 0..2 {
            let (found, word) = (state.found[call], self.operation(state, call));
            let Some(verdict) = found.verdict else {
                if self.was_resolved(state, call) {
                    return Some("the journal has evidence that the ledger has not");
                }
                continue;
            };
            let copied = word == verdict.state();
            if !copied && (found.applied || word != OperationStateWord::Unknown) {
                return Some("the journal does not follow the resolution that stands");
            }
        }
        None
    }

    /// What is wrong with a step of evidence, if anything. Calls of the same kind may have changed places.
    pub(super) fn wrong_finding(&self, from: &State, to: &State) -> Option<&'static str> {
        let kept = |places: [usize; 2]| {
            (0..2).all(|call| {
                let (old, new) = (from.found[call], to.found[places[call]]);
                old.verdict.is_none()
                    || (old.verdict == new.verdict
                        && old.person == new.person
                        && new.applied >= old.applied
                        && new.contrary >= old.contrary)
            })
        };
        (!kept([0, 1]) && !kept([1, 0])).then_some("a resolution was changed")
    }
}
