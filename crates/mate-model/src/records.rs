//! What the stores keep beside states: plain records, decoded strictly.

use crate::{
    AccountId, ConnectionId, GrantId, Micros, OperationId, ProjectId, RuntimeId, SessionId, TaskId, TokenId,
    TurnId,
    approval::ApprovalState,
    operation::OperationState,
    session::SessionState,
    task::{End, Run, StopEvidence, TaskState},
    transition::Transition,
    turn::{TurnEnd, TurnState},
    verification::Recipe,
    words::{ApprovalMode, Context, EffectClass, FailReason, OnInterruption, ReportStatus, Role},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Who acts: a person or a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Its id.
    pub id: AccountId,
    /// Its name, unique.
    pub name: String,
    /// May manage accounts, connections, runtimes and policies.
    pub admin: bool,
    /// When it was disabled, if it was.
    pub disabled_at: Option<Micros>,
    /// When it was made.
    pub created_at: Micros,
}

/// A bearer token without its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Its id; has no part of the secret.
    pub id: TokenId,
    /// Whose it is.
    pub account: AccountId,
    /// SHA-256 of the secret.
    pub hash: [u8; 32],
    /// Only for this project, if set.
    pub project: Option<ProjectId>,
    /// At most this role, if set.
    pub role: Option<Role>,
    /// When it ends, if ever.
    pub expires_at: Option<Micros>,
    /// When it was revoked, if it was.
    pub revoked_at: Option<Micros>,
    /// When it was made.
    pub created_at: Micros,
}

/// An account's role in a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The project.
    pub project: ProjectId,
    /// The account.
    pub account: AccountId,
    /// The role.
    pub role: Role,
    /// Since when.
    pub added_at: Micros,
}

/// What work belongs together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// Its id.
    pub id: ProjectId,
    /// Its name, unique.
    pub name: String,
    /// The directory that its sessions work in, absolute; none: an empty one per session.
    pub workspace: Option<String>,
    /// When it was archived, if it was.
    pub archived_at: Option<Micros>,
    /// When it was made.
    pub created_at: Micros,
}

/// An agent program, and how to launch it.
#[derive(Clone, Debug, PartialEq)]
pub struct Runtime {
    /// Its id.
    pub id: RuntimeId,
    /// Its name, unique among those not removed.
    pub name: String,
    /// How to launch it; the runtime room knows the shape.
    pub registration: Value,
    /// When it was added.
    pub created_at: Micros,
    /// When it was removed, if it was.
    pub removed_at: Option<Micros>,
}

/// How an upstream server is reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Reach {
    /// A program that speaks MCP over its standard streams, started in the session's container.
    Stdio {
        /// The program and its arguments.
        command: Vec<String>,
    },
    /// A server that speaks MCP over Streamable HTTP.
    Http {
        /// Its address.
        url: String,
    },
}

/// What is set on a connection, besides its secrets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ConnectionSettings {
    /// Its tools appear without the connection's name before them.
    pub bare: bool,
    /// The upstream's annotations (`readOnlyHint`, ...) decide the effect class where the grant is silent.
    pub trust_annotations: bool,
    /// The effect class where the grant is silent.
    pub effect: Option<EffectClass>,
    /// `TOOL.FIELD`: arguments that are recorded as they are.
    pub allow_fields: Vec<String>,
    /// Names of the sealed environment variables given to the upstream's process.
    pub secret_env: Vec<String>,
    /// Names of the sealed headers sent to the upstream.
    pub headers: Vec<String>,
    /// How calls whose outcome is unknown are looked for.
    pub verify: Vec<Recipe>,
}

/// A configured link to an upstream MCP server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// Its id.
    pub id: ConnectionId,
    /// Its name, unique among those not removed; the prefix of its tools.
    pub name: String,
    /// How it is reached.
    pub reach: Reach,
    /// What is set on it.
    pub settings: ConnectionSettings,
    /// Its secrets, sealed as one JSON object `{"env": {..}, "headers": {..}}`; none when it has none.
    pub sealed: Option<Vec<u8>>,
    /// When it was added.
    pub created_at: Micros,
    /// When it was removed, if it was.
    pub removed_at: Option<Micros>,
}

/// A project's authority to use some tools of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Its id.
    pub id: GrantId,
    /// To whom.
    pub project: ProjectId,
    /// For which connection.
    pub connection: ConnectionId,
    /// Globs over the upstream's own tool names.
    pub tools: Vec<String>,
    /// The effect class of these tools, if the grant says.
    pub effect: Option<EffectClass>,
    /// When a person's leave is wanted.
    pub approve: ApprovalMode,
    /// When it ends, if ever.
    pub expires_at: Option<Micros>,
    /// How many calls it is good for, if limited.
    pub max_calls: Option<i64>,
    /// How many calls were reserved.
    pub used_calls: i64,
    /// Who gave it.
    pub created_by: AccountId,
    /// When it was given.
    pub created_at: Micros,
    /// When it was revoked, if it was.
    pub revoked_at: Option<Micros>,
}

/// One conversation with one runtime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// Where it belongs.
    pub project: ProjectId,
    /// With whom.
    pub runtime: RuntimeId,
    /// The directory it works in, absolute.
    pub workspace: String,
    /// Who hosts it.
    pub state: SessionState,
    /// When it was made.
    pub created_at: Micros,
}

/// What a task wants beyond its instructions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TaskPolicy {
    /// The agent must report its result with `agent_mate__report`.
    pub require_report: bool,
    /// What happens when the runtime is lost in the middle of it, and nothing is uncertain.
    pub on_interruption: OnInterruption,
    /// How many times it and what continues it may go on by themselves, counted over all of them.
    pub max_resumes: u32,
}

impl TaskPolicy {
    /// The most that `max_resumes` may be.
    pub const MOST_RESUMES: u32 = 10;
}

impl Default for TaskPolicy {
    fn default() -> Self {
        Self { require_report: false, on_interruption: OnInterruption::Hold, max_resumes: 1 }
    }
}

/// A durable unit of approved work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its id.
    pub id: TaskId,
    /// Where it belongs.
    pub project: ProjectId,
    /// The session that carries it.
    pub session: SessionId,
    /// Who submitted it.
    pub proposer: AccountId,
    /// The token it was submitted with: revoking it ends the task's authority.
    pub token: TokenId,
    /// What the agent is asked to do.
    pub instructions: String,
    /// What it wants beyond that.
    pub policy: TaskPolicy,
    /// Its order in its session, from 1.
    pub number: i64,
    /// The task that it continues.
    pub continues: Option<TaskId>,
    /// The task that continues it. There is at most one, apart from rejected ones.
    pub continued_by: Option<TaskId>,
    /// How many times the tasks that it continues, and it, went on by themselves.
    pub resumes: i64,
    /// Its last claim, also after its end; none when it never started.
    pub claim: Option<Run>,
    /// Its state.
    pub state: TaskState,
    /// When it was submitted.
    pub created_at: Micros,
}

impl Task {
    /// The task after a move that its store has taken.
    #[must_use]
    pub fn moved(self, state: TaskState) -> Self {
        let claim = state.run().cloned().or(self.claim);
        Self { state, claim, ..self }
    }

    /// Whether this move ends it by an interruption after which its policy wants it to go on.
    #[must_use]
    pub fn is_interrupted_by(&self, transition: &Transition<TaskState>) -> bool {
        let lost = matches!(
            transition.to(),
            TaskState::Ended { end: End::Failed { reason: FailReason::RuntimeLost, .. }, .. }
        );
        lost && self.policy.on_interruption == OnInterruption::Resume
    }
}

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

/// A request that waits for a person, or was answered, as the ledger's inbox has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Approval {
    /// The operation that it is for.
    pub id: OperationId,
    /// Where it belongs.
    pub project: ProjectId,
    /// The task that wants it.
    pub task: TaskId,
    /// The connection's name at that time.
    pub connection_name: String,
    /// The upstream's own tool name.
    pub tool: String,
    /// The keyed digest of the canonical arguments, in hexadecimal: the leave is for these alone.
    pub digest: String,
    /// The arguments' shape.
    pub shape: Value,
    /// Its state.
    pub state: ApprovalState,
    /// When it was asked for.
    pub created_at: Micros,
}
