//! What must hold in every moment, and across every step.

use super::{
    keys::Over,
    state::{Breach, Container, NONE, State, Upstream},
    walk::Walk,
};
use mate_model::{
    approval::ApprovalStateWord,
    moves,
    operation::OperationStateWord,
    task::{End, StopEvidence, TaskState, TaskStateWord},
    turn::TurnStateWord,
    words::{EffectClass, EvidenceKind},
};

/// Each invariant, in words; `docs/state-machines.md` lists them.
pub const INVARIANTS: &[&str] = &[
    "no store takes a write of a stale epoch",
    "no call is sent without its committed intent, and none after an outcome that rules it out",
    "no call whose authority had ended, or whose task had been asked to stop, before its intent is sent",
    "no call that needs leave is sent without a leave that was used for it",
    "each call is sent at most once, and none whose record says that it was not",
    "a turn's prompt is sent at most once, and never without its committed intent",
    "`succeeded` only with the upstream's own success, `failed` only with its own error (or class `read`)",
    "`unknown` only when a cut came between intent and outcome, or the call was sent and no answer came",
    "a call that was cut between intent and outcome is never called succeeded or not sent by itself",
    "the first evidence stands, in the ledger; the journal says `unknown` or the same, and nothing that the ledger has not",
    "a task leaves `unknown` when every call is settled, and what the runtime itself had done, and not before",
    "nothing of a turn is in flight or waits when the turn has ended, and nothing of it before its prompt",
    "`completed` only after the runtime's own end of turn, with no unknown operation",
    "`stopped` only with evidence, with the container empty, and with no call in flight or unknown",
    "a task ends only after its turn has ended in the journal, and as the contract reads that end",
    "final is final, in both stores; epochs never go back; each move is one of the legal moves",
    "a lock that the kernel holds for a frozen worker is never taken",
];

impl Walk {
    /// What is wrong with this moment, if anything.
    pub(super) fn wrong(&self, state: &State) -> Option<&'static str> {
        breach(state.breach)
            .or_else(|| self.wrong_calls(state))
            .or_else(|| self.wrong_resolution(state))
            .or_else(|| self.wrong_turn(state))
            .or_else(|| self.wrong_task(state))
    }

    fn wrong_calls(&self, state: &State) -> Option<&'static str> {
        let ended = self.turn(state) == Some(TurnStateWord::Ended);
        let prompted = matches!(self.turn(state), Some(TurnStateWord::Prompted | TurnStateWord::Settling));
        for index in 0..2 {
            let call = state.calls[index];
            let read = self.config.tools[index].class == EffectClass::Read;
            if call.sent > 1 {
                return Some("a call was sent twice");
            }
            if self.config.tools[index].approval && call.sent > 0 && !self.leave_was_used(state) {
                return Some("a call was sent without a leave that was used");
            }
            let word = self.operation(state, index);
            let found = state.found[index];
            let wrong = match word {
                // A person may err, and says so by name.
                OperationStateWord::Succeeded | OperationStateWord::Failed if found.person => false,
                OperationStateWord::Succeeded => call.upstream != Upstream::Success,
                OperationStateWord::Failed if self.failed_by_answer(state, index) => {
                    call.upstream != Upstream::Error
                }
                OperationStateWord::Failed => !read,
                OperationStateWord::NotSent => call.sent > 0 || call.cut,
                OperationStateWord::Unknown => !call.cut && call.sent == 0,
                OperationStateWord::InFlight | OperationStateWord::AwaitingApproval => !prompted || ended,
                OperationStateWord::Denied
                | OperationStateWord::Expired
                | OperationStateWord::Withdrawn
                | OperationStateWord::Requested => call.sent > 0,
                OperationStateWord::Abandoned => false,
            };
            if wrong {
                return Some("an operation's state contradicts what happened");
            }
            let by_loss = matches!(
                word,
                OperationStateWord::InFlight | OperationStateWord::Unknown | OperationStateWord::Abandoned
            ) || (word == OperationStateWord::Failed && read);
            if call.cut && !by_loss && found.verdict.is_none() {
                return Some("a call that was cut was given an outcome without proof");
            }
        }
        None
    }

    fn leave_was_used(&self, state: &State) -> bool {
        state.approval != NONE
            && self.machines.approval.state(state.approval).word() == ApprovalStateWord::Used
    }

    /// Whether the inbox still shows something that nobody can use any more.
    pub(super) fn leave_is_open(&self, state: &State) -> bool {
        state.approval != NONE
            && matches!(
                self.machines.approval.state(state.approval).word(),
                ApprovalStateWord::Open | ApprovalStateWord::Allowed
            )
    }

    fn wrong_turn(&self, state: &State) -> Option<&'static str> {
        if state.prompts > 1 {
            return Some("a prompt was sent twice");
        }
        let unprompted = match self.turn(state) {
            None | Some(TurnStateWord::Starting) => true,
            Some(TurnStateWord::Prompted | TurnStateWord::Settling) => false,
            Some(TurnStateWord::Ended) => {
                matches!(self.over(state), Some(Over::NotStarted | Over::StoppedFirst))
            }
        };
        (unprompted && state.prompts > 0).then_some("a prompt was sent without its intent")
    }

    fn wrong_task(&self, state: &State) -> Option<&'static str> {
        let ended = self.turn(state) == Some(TurnStateWord::Ended);
        let untouched = state.turn == NONE && state.prompts == 0;
        let open = (0..2).any(|call| {
            self.operation(state, call) == OperationStateWord::InFlight || self.is_unsettled(state, call)
        });
        match self.task(state) {
            TaskStateWord::Proposed | TaskStateWord::Accepted | TaskStateWord::Rejected => {
                (!untouched).then_some("a task that was never claimed has a turn")
            }
            TaskStateWord::Completed if self.over(state) != Some(Over::EndTurn) || !ended || open => {
                Some("a task is completed without its proof")
            }
            TaskStateWord::Failed if !ended || open || self.own_is_unsettled(state) => {
                Some("a task failed while something is open")
            }
            TaskStateWord::Stopped => self.wrong_stop(state, ended, open),
            TaskStateWord::Unknown if !ended => Some("a task is unknown before its turn has ended"),
            TaskStateWord::Completed
            | TaskStateWord::Failed
            | TaskStateWord::Unknown
            | TaskStateWord::Running
            | TaskStateWord::StopRequested => None,
        }
    }

    fn wrong_stop(&self, state: &State, ended: bool, open: bool) -> Option<&'static str> {
        let TaskState::Ended { end: End::Stopped { evidence }, .. } = self.machines.task.state(state.task)
        else {
            return Some("a task is stopped without a stop's end");
        };
        if open {
            return Some("a task is stopped while a call is in flight or unknown");
        }
        match evidence {
            StopEvidence::NeverStarted if state.prompts > 0 => Some("a prompted task was never started"),
            StopEvidence::NeverStarted if state.turn == NONE => None,
            StopEvidence::ContainerEmpty { .. } if !state.evidence => {
                Some("a task is stopped without evidence in the journal")
            }
            StopEvidence::NeverStarted | StopEvidence::ContainerEmpty { .. }
                if !ended || state.container != Container::Dead =>
            {
                Some("a task is stopped and its container lives")
            }
            StopEvidence::NeverStarted | StopEvidence::ContainerEmpty { .. } => None,
        }
    }

    /// What is wrong with this step, if anything.
    pub(super) fn wrong_step(&self, from: &State, to: &State) -> Option<&'static str> {
        let (old, new) = (self.task(from), self.task(to));
        if from.task != to.task && !moves::TASK.contains(&(old, new)) {
            return Some("a task made a move that is not legal");
        }
        if let Some(wrong) = self.wrong_finding(from, to) {
            return Some(wrong);
        }
        if self.session(from).0 > self.session(to).0 || from.head > to.head {
            return Some("an epoch went back");
        }
        if from.turn != to.turn {
            let legal = match (self.turn(from), self.turn(to)) {
                (None, Some(TurnStateWord::Starting)) => true,
                (Some(old), Some(new)) => moves::TURN.contains(&(old, new)),
                (_, None) | (None, Some(_)) => false,
            };
            if !legal {
                return Some("a turn made a move that is not legal");
            }
        }
        // Calls of the same kind may have changed places.
        let legal = |places: [usize; 2]| {
            (0..2).all(|call| {
                let moved = from.operations[call] != to.operations[places[call]];
                let words = (self.operation(from, call), self.operation(to, places[call]));
                !moved || moves::OPERATION.contains(&words)
            })
        };
        (!legal([0, 1]) && !legal([1, 0])).then_some("an operation made a move that is not legal")
    }

    /// Whether an operation failed by the upstream's own word.
    pub(super) fn failed_by_answer(&self, state: &State, call: usize) -> bool {
        self.kind_of(state, call)
            .is_some_and(|kind| matches!(kind, EvidenceKind::Answer | EvidenceKind::LateAnswer))
    }

    /// Whether the journal says that an operation was unknown, and was settled.
    pub(super) fn was_resolved(&self, state: &State, call: usize) -> bool {
        self.kind_of(state, call)
            .is_some_and(|kind| matches!(kind, EvidenceKind::Person | EvidenceKind::LateAnswer))
    }

    /// What proves an operation's outcome, as the journal has it.
    fn kind_of(&self, state: &State, call: usize) -> Option<EvidenceKind> {
        self.machines.operation.state(state.operations[call]).evidence().map(|evidence| evidence.kind)
    }
}

const fn breach(breach: Breach) -> Option<&'static str> {
    match breach {
        Breach::None => None,
        Breach::StaleWrite => Some("a stale epoch wrote"),
        Breach::SentWithoutIntent => Some("a call was sent without a committed intent"),
        Breach::SentAfterOutcome => Some("a call was sent after its outcome was written"),
        Breach::SentThoughBarred => Some("a call was sent whose authority had ended before its intent"),
        Breach::SentWithoutLeave => Some("a call was sent without a leave that was used"),
        Breach::PromptedWithoutIntent => Some("a prompt was sent without its intent"),
        Breach::WrongEnd => Some("a task's end is not the one that the contract names"),
        Breach::StaleWhileHeld => Some("a lock was taken that a frozen worker holds"),
    }
}
