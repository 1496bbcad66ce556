//! What work is done with: runtimes, connections, and the authority to use these.

use crate::{
    AccountId, ConnectionId, GrantId, Micros, PolicyId, ProjectId, RuntimeId,
    limit::{Rate, Spend},
    verification::Recipe,
    words::{ApprovalMode, EffectClass},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// An agent program, and how to launch it.
#[derive(Clone, Debug, PartialEq)]
pub struct Runtime {
    /// Its id.
    pub id: RuntimeId,
    /// Its name, unique among those not removed.
    pub name: String,
    /// How to launch it; the runtime room knows the shape.
    pub registration: Value,
    /// The quiet time of its tasks that say nothing of it, in seconds.
    pub quiet_seconds: Option<u32>,
    /// The deadline of its tasks that say nothing of it, in seconds after their start.
    pub deadline_seconds: Option<u32>,
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
    /// The upstream is told the session's workspace as its root (MCP roots). Servers that take folders as arguments
    /// replace them by their client's roots, so it is not told unless it is wished.
    pub workspace_root: bool,
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
    /// Under what else.
    pub terms: Terms,
}

/// What else a grant says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// It permits nothing by itself: an administrator's policy must permit the call as well.
    pub needs_permit: bool,
    /// How many calls in a time, for each session.
    pub rate: Option<Rate>,
    /// What may be spent.
    pub spend: Option<Spend>,
}

/// A member of a pinned definition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PinnedField {
    /// Its size in bytes, in its one spelling.
    pub size: u64,
    /// Its BLAKE3 digest, in hexadecimal digits.
    pub digest: String,
}

/// A tool's definition under a grant, as it was first seen after the grant was given or renewed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    /// Under which grant.
    pub grant: GrantId,
    /// The upstream's own name of the tool.
    pub tool: String,
    /// The digest of the whole definition.
    pub digest: String,
    /// Its members.
    pub fields: BTreeMap<String, PinnedField>,
    /// When it was pinned.
    pub pinned_at: Micros,
    /// Another definition that was seen since: the tool is not to be used until the grant is renewed.
    pub change: Option<PinChange>,
}

/// A definition that is another than the pinned one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinChange {
    /// Its digest.
    pub digest: String,
    /// Its members.
    pub fields: BTreeMap<String, PinnedField>,
    /// When it was first seen.
    pub seen_at: Micros,
}

/// An administrator's statement in Cedar about what may be called, for the whole installation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Its id.
    pub id: PolicyId,
    /// Its name, unique among those not removed.
    pub name: String,
    /// The text, as it was written.
    pub text: String,
    /// Who added it.
    pub created_by: AccountId,
    /// When it was added.
    pub created_at: Micros,
    /// When it was removed, if it was.
    pub removed_at: Option<Micros>,
}
