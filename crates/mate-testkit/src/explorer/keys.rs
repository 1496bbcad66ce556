//! The commands that the exploration gives, as small keys, and how each is put to the model.

use super::machines::Key;
use mate_model::{
    AccountId, Epoch, Micros, Refusal, Transition, TurnId,
    approval::{ApprovalCommand, ApprovalState},
    operation::{Evidence, OperationCommand, OperationState, Outcome, Verdict},
    session::{SessionCommand, SessionState},
    task::{End, StopEvidence, TaskCommand, TaskState},
    turn::{Facts, TurnCommand, TurnEnd, TurnState, conclusion},
    words::{DenyReason, EffectClass, EvidenceKind, StopReason, UnknownReason},
};
use uuid::Uuid;

const NOW: Micros = Micros(1);
const BOUND: Micros = Micros(2);
const PERSON: AccountId = AccountId::new(Uuid::from_u128(1));
const TURN: TurnId = TurnId::new(Uuid::from_u128(2));

/// The session before any worker.
pub(super) const FIRST_SESSION: SessionState = SessionState::Idle { epoch: Epoch(0) };
/// An approval when it is asked for.
pub(super) const FIRST_APPROVAL: ApprovalState = ApprovalState::Open { expires: BOUND };

/// How a turn was over, as far as the exploration tells ends apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Over {
    EndTurn,
    Cancelled,
    Errored,
    Lost,
    LostAtOwnWork,
    NotStarted,
    StoppedFirst,
}

impl Over {
    fn end(self) -> TurnEnd {
        let detail = String::new();
        match self {
            Self::EndTurn => TurnEnd::Answered { reason: StopReason::EndTurn, empty: false },
            Self::Cancelled => TurnEnd::Answered { reason: StopReason::Cancelled, empty: false },
            Self::Errored => TurnEnd::Errored { detail },
            Self::Lost => TurnEnd::Lost { own_activity: false, detail },
            Self::LostAtOwnWork => TurnEnd::Lost { own_activity: true, detail },
            Self::NotStarted => TurnEnd::NotStarted { detail },
            Self::StoppedFirst => TurnEnd::StoppedFirst,
        }
    }

    /// The end in words.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::EndTurn => "answered: end_turn",
            Self::Cancelled => "answered: cancelled",
            Self::Errored => "answered with an error",
            Self::Lost => "lost",
            Self::LostAtOwnWork => "lost, the runtime's own tool at work",
            Self::NotStarted => "not started",
            Self::StoppedFirst => "stopped first",
        }
    }

    /// The end that a stored turn has.
    pub(super) fn read(state: &TurnState) -> Option<Self> {
        let (TurnState::Settling { end, .. } | TurnState::Ended { end, .. }) = state else { return None };
        Some(match end {
            TurnEnd::Answered { reason: StopReason::Cancelled, .. } => Self::Cancelled,
            TurnEnd::Answered { .. } => Self::EndTurn,
            TurnEnd::Errored { .. } => Self::Errored,
            TurnEnd::Lost { own_activity: true, .. } => Self::LostAtOwnWork,
            TurnEnd::Lost { own_activity: false, .. } => Self::Lost,
            // Both leave no prompt and no container behind, and the task fails.
            TurnEnd::NotStarted { .. } | TurnEnd::ContextLost { .. } => Self::NotStarted,
            TurnEnd::StoppedFirst => Self::StoppedFirst,
        })
    }
}

/// A command to the task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum TaskKey {
    Approve,
    Reject,
    Claim { epoch: u8 },
    Stop { kill: bool },
    Conclude { epoch: u8, over: Over, unknown: bool, stop: bool, evidence: bool },
    Settle,
}

/// The proof that the exploration's container is empty.
fn container_empty() -> StopEvidence {
    StopEvidence::ContainerEmpty { means: "pid_namespace".to_owned(), at: NOW, proof: String::new() }
}

fn read_conclusion(
    over: Over,
    unknown: bool,
    stop: bool,
    evidence: bool,
) -> Result<(End, Option<UnknownReason>), Refusal> {
    conclusion(Facts {
        end: &over.end(),
        report: None,
        unknown_operations: u64::from(unknown),
        stop_requested: stop,
        evidence: evidence.then(container_empty),
    })
}

impl Key for TaskKey {
    type State = TaskState;

    fn decide(self, state: &TaskState) -> Result<Transition<TaskState>, Refusal> {
        let epoch_of = |epoch: u8| Epoch(i64::from(epoch));
        let command = match self {
            Self::Approve => TaskCommand::Approve { by: PERSON },
            Self::Reject => TaskCommand::Reject { by: PERSON, reason: String::new() },
            Self::Claim { epoch } => TaskCommand::Claim { turn: TURN, epoch: epoch_of(epoch) },
            Self::Stop { kill } => TaskCommand::Stop { by: Some(PERSON), kill },
            Self::Conclude { epoch, over, unknown, stop, evidence } => {
                let (end, uncertain) = read_conclusion(over, unknown, stop, evidence)?;
                TaskCommand::Conclude { epoch: epoch_of(epoch), end, uncertain }
            }
            Self::Settle => TaskCommand::Settle,
        };
        state.decide(command, NOW)
    }
}

/// A command to the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum SessionKey {
    Host,
    Release { epoch: u8 },
}

impl Key for SessionKey {
    type State = SessionState;

    fn decide(self, state: &SessionState) -> Result<Transition<SessionState>, Refusal> {
        let command = match self {
            Self::Host => SessionCommand::Host,
            Self::Release { epoch } => SessionCommand::Release { epoch: Epoch(i64::from(epoch)) },
        };
        state.decide(command, NOW)
    }
}

/// A command to the turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum TurnKey {
    Prompt,
    Finish { over: Over, in_flight: u8 },
    Close { in_flight: u8 },
}

impl Key for TurnKey {
    type State = TurnState;

    fn decide(self, state: &TurnState) -> Result<Transition<TurnState>, Refusal> {
        let command = match self {
            Self::Prompt => TurnCommand::Prompt,
            Self::Finish { over, in_flight } => {
                TurnCommand::Finish { end: over.end(), in_flight: u64::from(in_flight) }
            }
            Self::Close { in_flight } => TurnCommand::Close { in_flight: u64::from(in_flight) },
        };
        let transition = state.decide(command, NOW)?;
        let permitted = transition.committed_prompt().is_some();
        assert_eq!(permitted, self == Self::Prompt, "only the move to prompted permits a prompt");
        Ok(transition)
    }
}

/// A command to an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum OperationVerb {
    Deny,
    Await,
    Expire,
    Withdraw,
    Admit,
    Answered { error: bool },
    NotSent,
    Lost,
    Resolve { verdict: Verdict, person: bool },
}

/// A command to an operation of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct OperationKey {
    pub(super) class: EffectClass,
    pub(super) verb: OperationVerb,
}

impl Key for OperationKey {
    type State = OperationState;

    fn decide(self, state: &OperationState) -> Result<Transition<OperationState>, Refusal> {
        let detail = String::new();
        let command = match self.verb {
            OperationVerb::Deny => OperationCommand::Deny { reason: DenyReason::ByPerson, detail },
            OperationVerb::Await => OperationCommand::Await { expires: BOUND },
            OperationVerb::Expire => OperationCommand::Expire,
            OperationVerb::Withdraw => OperationCommand::Withdraw,
            OperationVerb::Admit => OperationCommand::Admit,
            OperationVerb::Answered { error } => {
                OperationCommand::Settle(Outcome::Result { error: error.then(String::new) })
            }
            OperationVerb::NotSent => OperationCommand::Settle(Outcome::NotSent { detail }),
            OperationVerb::Lost => OperationCommand::Settle(Outcome::Lost { detail }),
            OperationVerb::Resolve { verdict, person } => {
                let kind = if person { EvidenceKind::Person } else { EvidenceKind::LateAnswer };
                let by = person.then_some(PERSON);
                OperationCommand::Resolve { verdict, evidence: Evidence { kind, by, detail } }
            }
        };
        let transition = state.decide(self.class, command, NOW)?;
        let id =
            mate_model::OperationId { session: mate_model::SessionId::new(Uuid::from_u128(3)), number: 1 };
        let permitted = transition.committed_intent(id).is_some();
        assert_eq!(permitted, self.verb == OperationVerb::Admit, "only the intent permits a call");
        Ok(transition)
    }
}

/// A command to an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum ApprovalKey {
    Allow,
    Deny,
    Withdraw,
    Use,
}

impl Key for ApprovalKey {
    type State = ApprovalState;

    fn decide(self, state: &ApprovalState) -> Result<Transition<ApprovalState>, Refusal> {
        let command = match self {
            Self::Allow => ApprovalCommand::Allow { by: PERSON },
            Self::Deny => ApprovalCommand::Deny { by: PERSON, reason: String::new() },
            Self::Withdraw => ApprovalCommand::Withdraw,
            Self::Use => ApprovalCommand::Use,
        };
        state.decide(command, NOW)
    }
}
