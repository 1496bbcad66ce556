//! Operations. What the engine shows is written as it is; this says how it looks.

use super::Artifact;
use crate::wire::shape;
use serde_json::Value;
use utoipa::ToSchema;

/// An operation: the record of one outside action.
#[derive(Debug, ToSchema)]
pub struct Operation {
    /// Its id.
    #[schema(value_type = shape::OperationId)]
    pub id: String,
    /// Its state.
    #[schema(value_type = shape::OperationState)]
    pub state: String,
    /// Its task.
    #[schema(value_type = shape::TaskId)]
    pub task: String,
    /// Its turn.
    #[schema(value_type = shape::TurnId)]
    pub turn: String,
    /// Its session.
    #[schema(value_type = shape::SessionId)]
    pub session: String,
    /// The connection's id.
    #[schema(value_type = Option<shape::ConnectionId>)]
    pub connection: Option<String>,
    /// The connection's name at that time.
    pub connection_name: String,
    /// The upstream's own tool name. Untrusted text.
    pub tool: String,
    /// What the call may change.
    #[schema(value_type = shape::EffectClass)]
    pub effect: String,
    /// The grant that allowed it.
    #[schema(value_type = Option<shape::GrantId>)]
    pub grant: Option<String>,
    /// Which grant or policy decided, and how.
    pub decision: Value,
    /// By whose leave it went out, or why it was refused, in words. Not in lists.
    pub authority: Option<String>,
    /// The name of the person whose leave it needed and had. Not in lists.
    pub allowed_by: Option<String>,
    /// When that leave was given.
    #[schema(value_type = Option<shape::Time>)]
    pub allowed_at: Option<String>,
    /// The name of the person who settled it, if one did. Not in lists.
    pub resolved_by: Option<String>,
    /// Why it was denied, if it was.
    #[schema(value_type = Option<shape::DenyReason>)]
    pub deny_reason: Option<String>,
    /// The call has an outcome that the journal cannot take at the moment; it is kept beside it.
    pub held: bool,
    /// What there is to say of its state.
    pub detail: Option<String>,
    /// What proves its outcome.
    pub evidence: Option<Evidence>,
    /// The runtime's own id of the call.
    pub runtime_call: Option<String>,
    /// The W3C trace id.
    pub trace: String,
    /// The keyed digest of the arguments.
    pub digest: String,
    /// The arguments' shape.
    pub arguments: Value,
    /// When the runtime asked for it.
    #[schema(value_type = shape::Time)]
    pub requested_at: String,
    /// When its intent was decided.
    #[schema(value_type = Option<shape::Time>)]
    pub admitted_at: Option<String>,
    /// When it was handed to the upstream's transport.
    #[schema(value_type = Option<shape::Time>)]
    pub sent_at: Option<String>,
    /// When the upstream answered.
    #[schema(value_type = Option<shape::Time>)]
    pub answered_at: Option<String>,
    /// When the outcome was written.
    #[schema(value_type = Option<shape::Time>)]
    pub recorded_at: Option<String>,
    /// From sent to answered, in microseconds.
    pub duration_us: Option<i64>,
    /// The size of the result in bytes.
    pub result_size: Option<i64>,
    /// What the result is made of.
    pub result_type: Option<String>,
    /// When it was settled, if it was unknown.
    #[schema(value_type = Option<shape::Time>)]
    pub resolved_at: Option<String>,
    /// What was looked at.
    pub proof: Option<String>,
    /// Whoever settled it permits one identical call more.
    pub permit_repeat: Option<bool>,
    /// What evidence says that came later and says otherwise.
    pub contradiction: Option<Contradiction>,
    /// When that came.
    #[schema(value_type = Option<shape::Time>)]
    pub contradicted_at: Option<String>,
    /// When a person took note of it.
    #[schema(value_type = Option<shape::Time>)]
    pub acknowledged_at: Option<String>,
    /// What the upstream calls the task as which it carries the call out. Not in lists.
    pub upstream_task: Option<String>,
    /// How often the upstream was asked whether it has happened. Not in lists.
    pub looks: Option<i64>,
    /// What the last of these looks came to, in words.
    pub last_look: Option<String>,
    /// When it is looked for next.
    #[schema(value_type = Option<shape::Time>)]
    pub next_look_at: Option<String>,
    /// What its result left behind, 100 at most. Not in lists.
    pub artifacts: Option<Vec<Artifact>>,
}

/// What proves an outcome.
#[derive(Debug, ToSchema)]
pub struct Evidence {
    /// Of which kind it is.
    #[schema(value_type = shape::EvidenceKind)]
    pub kind: String,
    /// Who gave it, where a person did.
    #[schema(value_type = Option<shape::AccountId>)]
    pub by: Option<String>,
    /// In words; redacted.
    pub detail: String,
}

/// Evidence to the contrary.
#[derive(Debug, ToSchema)]
pub struct Contradiction {
    /// What it comes to.
    #[schema(value_type = shape::Resolution)]
    pub r#as: String,
    /// What it is.
    pub evidence: Evidence,
    /// Who took note of it, if somebody did.
    #[schema(value_type = Option<shape::AccountId>)]
    pub acknowledged_by: Option<String>,
    /// What that person says of it.
    pub acknowledgement: Option<String>,
}
