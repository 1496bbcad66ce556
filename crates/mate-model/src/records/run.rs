//! What was done: turns and operations, and what they want of people.

use crate::{
    AccountId, ApprovalId, ConnectionId, GrantId, Micros, OperationId, ProjectId, TaskId, TokenId, TurnId,
    approval::{ApprovalKind, ApprovalState, Decision},
    operation::OperationState,
    task::StopEvidence,
    turn::{TurnEnd, TurnState},
    words::{ApprovalMode, Context, EffectClass, ReportStatus},
};
use serde_json::Value;

/// One prompt until it stops, as the journal has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Its id.
    pub id: TurnId,
    /// Its number in the session, from 1.
    pub number: i64,
    /// The task it carries.
    pub task: TaskId,
    /// Its state.
    pub state: TurnState,
    /// What the agent reported, if it did.
    pub report: Option<ReportStatus>,
    /// Tool calls of the runtime's own that are at work, as it showed them last.
    pub own_activity: i64,
    /// What proves that the container is empty, if it was ended for this turn.
    pub evidence: Option<StopEvidence>,
    /// What the runtime knew of the conversation, once it was ready or known not to be.
    pub context: Option<Context>,
    /// The runtime's own id of the conversation that the prompt went to, where it can be kept.
    pub conversation: Option<String>,
    /// The recovery note that the prompt began with, as it was sent.
    pub note: Option<String>,
    /// When it was opened.
    pub created_at: Micros,
}

impl Turn {
    /// A turn that begins.
    #[must_use]
    pub const fn opened(id: TurnId, number: i64, task: TaskId, created_at: Micros) -> Self {
        Self {
            id,
            number,
            task,
            state: TurnState::Starting,
            report: None,
            own_activity: 0,
            evidence: None,
            context: None,
            conversation: None,
            note: None,
            created_at,
        }
    }

    /// Whether its prompt may have been sent.
    #[must_use]
    pub const fn was_prompted(&self) -> bool {
        match &self.state {
            TurnState::Starting => false,
            TurnState::Prompted { .. } | TurnState::Settling { .. } => true,
            TurnState::Ended { end, .. } => match end {
                TurnEnd::Answered { .. } | TurnEnd::Errored { .. } | TurnEnd::Lost { .. } => true,
                TurnEnd::NotStarted { .. } | TurnEnd::ContextLost { .. } | TurnEnd::StoppedFirst => false,
            },
        }
    }
}

/// An operation, as the journal has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// Its id: the session and the number there.
    pub id: OperationId,
    /// The task.
    pub task: TaskId,
    /// The turn.
    pub turn: TurnId,
    /// The connection; none when the runtime named a tool that no connection has.
    pub connection: Option<ConnectionId>,
    /// The connection's name at that time, or what the runtime wrote in its place.
    pub connection_name: String,
    /// The upstream's own tool name, or what the runtime wrote.
    pub tool: String,
    /// What the call may change.
    pub class: EffectClass,
    /// The grant that allowed it.
    pub grant: Option<GrantId>,
    /// Why it was allowed or refused: which grant or policy; bounded.
    pub decision: Value,
    /// The runtime's own id of the call, where it gave one.
    pub runtime_call: Option<String>,
    /// The W3C trace id that went with the call.
    pub trace: String,
    /// The keyed digest of the canonical arguments, in hexadecimal.
    pub digest: String,
    /// The arguments' shape: names, types and sizes, and the fields that the connection allows.
    pub shape: Value,
    /// Its state.
    pub state: OperationState,
    /// When it was asked for.
    pub requested_at: Micros,
    /// When its intent was decided.
    pub admitted_at: Option<Micros>,
    /// When the first byte was handed to the upstream's stream, at the earliest.
    pub sent_at: Option<Micros>,
    /// When the answer was there.
    pub answered_at: Option<Micros>,
    /// When the outcome was written.
    pub recorded_at: Option<Micros>,
    /// From sent to answered, by a clock that never goes back; microseconds.
    pub duration_us: Option<i64>,
    /// The size of the result, in bytes of JSON.
    pub result_size: Option<i64>,
    /// What the result is made of: `text`, `text,image`, `structured`, ...
    pub result_type: Option<String>,
    /// The uncertain operation that this one was allowed to repeat.
    pub repeats: Option<OperationId>,
    /// Whoever resolved it allowed one identical call.
    pub repeat_permitted: bool,
}

/// Something that needs a person: an outcome that nobody knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attention {
    /// The task it belongs to.
    pub task: TaskId,
    /// What it is about: an operation's id, or a turn's for the runtime's own activity.
    pub subject: String,
    /// Since when.
    pub opened_at: Micros,
    /// When it was settled, if it was.
    pub closed_at: Option<Micros>,
}

/// A request that waits for a person, or waited, in the ledger's inbox.
#[derive(Clone, Debug, PartialEq)]
pub struct Approval {
    /// The operation's id, or one of its own for a tool of the runtime's.
    pub id: ApprovalId,
    /// The project.
    pub project: ProjectId,
    /// The task.
    pub task: TaskId,
    /// The turn that it can be used in.
    pub turn: TurnId,
    /// Whether the answer is for this call alone, or for the tool until the task ends.
    pub mode: ApprovalMode,
    /// The connection; none for a tool of the runtime's own.
    pub connection: Option<ConnectionId>,
    /// The connection's name; empty for a tool of the runtime's own.
    pub connection_name: String,
    /// The tool; of the runtime's own, how it calls what it wants to do. Redacted, bounded.
    pub tool: String,
    /// What it may change.
    pub class: EffectClass,
    /// The keyed digest of the exact request.
    pub digest: String,
    /// The arguments' shape.
    pub shape: Value,
    /// Its state.
    pub state: ApprovalState,
    /// When it ends, answered or not.
    pub expires_at: Micros,
    /// What a person answered, if somebody did; it stays when the state moves on.
    pub answer: Option<Answer>,
    /// When and why it ended without an answer, or without its use.
    pub over: Option<Over>,
    /// When it was asked.
    pub created_at: Micros,
}

/// The end of a request that nobody answered, or whose answer was of no use any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Over {
    /// When.
    pub at: Micros,
    /// Why, in words.
    pub why: String,
}

impl Approval {
    /// What it is for.
    #[must_use]
    pub const fn kind(&self) -> ApprovalKind {
        match self.id {
            ApprovalId::Call(_) => ApprovalKind::Call,
            ApprovalId::OwnTool { .. } => ApprovalKind::OwnTool,
        }
    }
}

/// A person's answer, as it was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// What.
    pub decision: Decision,
    /// Who.
    pub by: AccountId,
    /// By which token: from where.
    pub with: TokenId,
    /// When.
    pub at: Micros,
    /// Why, where the answer was no.
    pub reason: Option<String>,
}

/// Leave for one tool until its task ends, from the answer to the tool's first call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permission {
    /// The approval that it comes from.
    pub id: ApprovalId,
    /// The task.
    pub task: TaskId,
    /// The connection.
    pub connection: ConnectionId,
    /// The connection's name.
    pub connection_name: String,
    /// The tool.
    pub tool: String,
    /// Who gave it.
    pub given_by: AccountId,
    /// When.
    pub given_at: Micros,
    /// When it was taken back, if it was.
    pub revoked_at: Option<Micros>,
}
