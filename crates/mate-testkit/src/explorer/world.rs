//! Steps of everybody but the workers: persons, the coordinator, the runtime, upstreams, and faults.

use super::{
    keys::{ApprovalKey, SessionKey, TaskKey},
    state::{Container, Coordinator, Life, NONE, Runtime, State, Upstream, Worker},
    walk::{Walk, Who, kill_container},
};
use mate_model::{task::TaskStateWord, turn::TurnStateWord};

impl Walk {
    pub(super) fn persons(&mut self, state: &State) {
        let wishes = [
            ("approves the task", TaskKey::Approve),
            ("rejects the task", TaskKey::Reject),
            ("asks the task to stop", TaskKey::Stop { kill: false }),
            ("asks the task to be killed", TaskKey::Stop { kill: true }),
        ];
        for (what, key) in wishes {
            let mut next = *state;
            // SIGKILL at once changes nothing that is seen here; it is tried in the full explorations.
            let tried = self.config.full || key != TaskKey::Stop { kill: true };
            if tried && self.move_task(&mut next, key) {
                self.step(Who::Person, what, next);
            }
        }
        if self.config.full && !state.revoked {
            self.step(Who::Person, "revokes the authority", State { revoked: true, ..*state });
        }
        if state.approval != NONE {
            for (what, key) in [("gives leave", ApprovalKey::Allow), ("denies leave", ApprovalKey::Deny)] {
                if let Ok(approval) = self.machines.approval.decide(state.approval, key) {
                    self.step(Who::Person, what, State { approval, ..*state });
                }
            }
        }
        self.resolutions(state);
    }

    pub(super) fn coordinator(&mut self, state: &State) {
        match state.coordinator {
            Coordinator::Idle => {
                let (epoch, hosted) = self.session(state);
                let work = match self.task(state) {
                    TaskStateWord::Accepted | TaskStateWord::Running | TaskStateWord::StopRequested => true,
                    TaskStateWord::Proposed
                    | TaskStateWord::Completed
                    | TaskStateWord::Failed
                    | TaskStateWord::Stopped
                    | TaskStateWord::Rejected
                    | TaskStateWord::Unknown => hosted,
                } || state.found.iter().any(|found| found.verdict.is_some() && !found.applied);
                let room = state.workers.iter().any(|worker| worker.life == Life::Absent);
                if !work || self.lock_is_held(state) || !room {
                    return;
                }
                let mut next = State { coordinator: Coordinator::SawFree, ..*state };
                let starting = state
                    .workers
                    .iter()
                    .any(|worker| worker.life == Life::Running && !worker.holds && worker.epoch == epoch);
                if !starting {
                    self.step(Who::Coordinator, "sees that nobody holds the lock", next);
                } else if state.freezes > 0 {
                    next.freezes -= 1;
                    self.step(Who::Fault, "the coordinator does not wait for the worker it started", next);
                }
            }
            Coordinator::SawFree => {
                let mut next = *state;
                if self.move_session(&mut next, SessionKey::Host) {
                    next.coordinator = Coordinator::Recorded(self.session(&next).0);
                    self.step(Who::Coordinator, "[ledger] records the next epoch", next);
                }
            }
            Coordinator::Recorded(epoch) => {
                let mut next = State { coordinator: Coordinator::Idle, ..*state };
                if let Some(free) = next.workers.iter_mut().find(|worker| worker.life == Life::Absent) {
                    *free = Worker { life: Life::Running, epoch, ..Worker::ABSENT };
                    self.step(Who::Coordinator, "starts a worker with it", next);
                }
            }
        }
    }

    pub(super) fn runtime(&mut self, state: &State) {
        if state.runtime == Runtime::Prompted && state.container != Container::Dead {
            self.step(Who::Runtime, "ends its turn", State { runtime: Runtime::SaysEnd, ..*state });
            let cancelled = State { runtime: Runtime::SaysCancelled, ..*state };
            self.step(Who::Runtime, "says that it was cancelled", cancelled);
            if self.config.full {
                let error = State { runtime: Runtime::SaysError, ..*state };
                self.step(Who::Runtime, "answers the prompt with an error", error);
            }
        }
        if state.container == Container::Orphan {
            let mut next = *state;
            kill_container(&mut next);
            self.step(Who::Runtime, "the processes of a dead worker die", next);
        }
    }

    pub(super) fn upstreams(&mut self, state: &State) {
        for call in 0..2 {
            if state.calls[call].upstream != Upstream::Pending {
                continue;
            }
            for (what, answer) in [
                ("answers with success", Upstream::Success),
                ("breaks off, done or not", Upstream::Silent),
                ("answers with an error", Upstream::Error),
            ] {
                if answer == Upstream::Error && !self.config.full {
                    continue;
                }
                let mut next = *state;
                next.calls[call].upstream = answer;
                self.step(Who::Upstream(call), what, next);
            }
        }
    }

    pub(super) fn faults(&mut self, state: &State) {
        for slot in 0..2 {
            let worker = state.workers[slot];
            if worker.life == Life::Running && state.freezes > 0 {
                let mut next = *state;
                next.freezes -= 1;
                next.workers[slot].life = Life::Frozen;
                self.step(Who::Fault, "the worker is frozen", next);
            }
            if worker.life == Life::Frozen {
                let mut next = *state;
                next.workers[slot].life = Life::Running;
                self.step(Who::Worker(worker.epoch), "wakes", next);
            }
        }
        if state.crashes == 0 {
            return;
        }
        let crashed = State { crashes: state.crashes - 1, ..*state };
        for slot in 0..2 {
            if state.workers[slot].life != Life::Absent {
                let mut next = crashed;
                self.crash_worker(&mut next, slot);
                self.step(Who::Fault, "the worker is killed", next);
            }
        }
        if matches!(state.container, Container::Of(_)) {
            let mut next = crashed;
            kill_container(&mut next);
            self.step(Who::Fault, "the runtime dies", next);
        }
        if state.coordinator != Coordinator::Idle {
            let next = State { coordinator: Coordinator::Idle, ..crashed };
            self.step(Who::Fault, "the coordinator is killed", next);
        }
        if state.workers.iter().any(|worker| worker.life != Life::Absent) {
            let mut next = State { coordinator: Coordinator::Idle, ..crashed };
            self.crash_worker(&mut next, 0);
            self.crash_worker(&mut next, 1);
            kill_container(&mut next);
            self.step(Who::Fault, "everything is killed", next);
        }
    }

    fn crash_worker(&self, state: &mut State, slot: usize) {
        self.forget(state, slot);
        if matches!(state.container, Container::Of(owner) if usize::from(owner) == slot) {
            state.container = Container::Orphan;
        }
    }

    pub(super) fn turn(&self, state: &State) -> Option<TurnStateWord> {
        (state.turn != NONE).then(|| self.machines.turn.state(state.turn).word())
    }
}
