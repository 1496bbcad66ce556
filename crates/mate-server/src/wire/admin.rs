//! Requests about what an installation consists of.

use super::{SecretText, shape};
use mate_model::containment::Limits;
use mate_model::limit::{Amount, Rate};
use mate_model::verification::Recipe;
use mate_model::words::{ApprovalMode, EffectClass, Role};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// `POST /api/v1/accounts`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AddAccount {
    /// Its name, unique.
    #[schema(value_type = shape::Name)]
    pub name: String,
    /// May manage accounts, connections, runtimes and policies.
    #[serde(default)]
    #[schema(default = false)]
    pub admin: bool,
}

/// `POST /api/v1/tokens`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AddToken {
    /// Whose it will be, by name or id; the caller's own if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<shape::NameOrId>)]
    pub account: Option<String>,
    /// Good for this project only, by name or id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<shape::NameOrId>)]
    pub project: Option<String>,
    /// At most this role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<shape::Role>)]
    pub role: Option<Role>,
    /// When it ends: RFC 3339, or a time from now such as `30d`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<shape::Until>)]
    pub expires: Option<String>,
}

/// `POST /api/v1/projects`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AddProject {
    /// Its name, unique.
    #[schema(value_type = shape::Name)]
    pub name: String,
    /// The directory that its sessions work in, absolute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^/")]
    pub workspace: Option<String>,
    /// Who submits a task can neither approve it nor give leave for its calls.
    #[serde(default)]
    #[schema(default = false)]
    pub distinct_approver: bool,
}

/// `POST /api/v1/projects/{project}/members`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetMember {
    /// Who, by name or id.
    #[schema(value_type = shape::NameOrId)]
    pub account: String,
    /// What they may do.
    #[schema(value_type = shape::Role)]
    pub role: Role,
}

/// `POST /api/v1/runtimes`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AddRuntime {
    /// Its name, unique.
    #[schema(value_type = shape::Name)]
    pub name: String,
    /// A known agent program, whose way to be launched is built in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// The program and its arguments; instead of the preset's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_items = 1, max_items = 100)]
    pub command: Option<Vec<String>>,
    /// Without activity for so many seconds its tasks are shown as quiet, unless they say otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 31_622_400)]
    pub quiet_seconds: Option<u32>,
    /// So many seconds after their start its tasks are asked to stop, unless they say otherwise; 0: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, maximum = 31_622_400)]
    pub deadline_seconds: Option<u32>,
    /// What the processes of one of its sessions may use together: bytes, processes, percent of one processor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<super::Bounds>)]
    pub limits: Option<Limits>,
    /// Environment variables with fixed values, besides the preset's. No secrets: those are passed on by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Names of variables that are passed on from the coordinator's environment, besides the preset's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pass_env: Vec<String>,
    /// What is done about its own tools: off, ask or free; the preset's, or ask, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_tools: Option<String>,
    /// The mode to put each session into, as the runtime calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// The authentication method to choose at the start, as the runtime calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth_method: Option<String>,
}

/// `POST /api/v1/connections`: with a `url` or with a `command`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AddConnection {
    /// Its name, unique; the prefix of its tools.
    #[schema(value_type = shape::Name)]
    pub name: String,
    /// The address of a server that speaks MCP over Streamable HTTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^https?://[^@#/?]+([/?][^@#]*)?$")]
    pub url: Option<String>,
    /// A program that speaks MCP over its standard streams, and its arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_items = 1, max_items = 100)]
    pub command: Option<Vec<String>>,
    /// Environment variables of the program. Sealed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub secret_env: BTreeMap<String, SecretText>,
    /// Headers sent to the address. Sealed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, SecretText>,
    /// `TOOL.FIELD`, or `*.FIELD` for every tool: arguments that are recorded as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow_fields: Vec<String>,
    /// Its tools appear without its name before them.
    #[serde(default)]
    #[schema(default = false)]
    pub bare: bool,
    /// The upstream's annotations decide the effect class where a grant is silent.
    #[serde(default)]
    #[schema(default = false)]
    pub trust_annotations: bool,
    /// The effect class where a grant is silent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<shape::EffectClass>)]
    pub effect: Option<EffectClass>,
    /// Recipes: how calls whose outcome is unknown are looked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<super::VerificationRecipe>, max_items = 20)]
    pub verify: Vec<Recipe>,
    /// The session's workspace is told to the server as its root (MCP roots).
    #[serde(default)]
    #[schema(default = false)]
    pub workspace_root: bool,
}

/// `POST /api/v1/policies`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AddPolicy {
    /// Its name, unique.
    #[schema(value_type = shape::Name)]
    pub name: String,
    /// Statements in Cedar.
    pub text: String,
    /// It takes the place of the one of this name, if there is one.
    #[serde(default)]
    #[schema(default = false)]
    pub replace: bool,
}

/// `POST /api/v1/policies/check`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckPolicy {
    /// Statements in Cedar.
    pub text: String,
}

/// `POST /api/v1/projects/{project}/policies/try`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TryPolicy {
    /// Of this connection, by name or id.
    #[schema(value_type = shape::NameOrId)]
    pub connection: String,
    /// The upstream's own tool name.
    #[schema(min_length = 1, max_length = 256)]
    pub tool: String,
    /// By a task that this account submitted, by name or id; yours if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<shape::NameOrId>)]
    pub account: Option<String>,
    /// In a session of this runtime, by name or id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<shape::NameOrId>)]
    pub runtime: Option<String>,
    /// The upstream says of the tool that it only reads.
    #[serde(default)]
    #[schema(default = false)]
    pub says_read_only: bool,
}

/// `POST /api/v1/connections/{connection}/rotate`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RotateConnection {
    /// Environment variables of the program, to replace or to add. Sealed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub secret_env: BTreeMap<String, SecretText>,
    /// Headers sent to the address, to replace or to add. Sealed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, SecretText>,
    /// Names that the connection does not have are added; else they are refused.
    #[serde(default)]
    pub add: bool,
    /// Variables or headers to remove, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remove: Vec<String>,
}

/// `POST /api/v1/connections/{connection}/set`: what is not named stays.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetConnection {
    /// `TOOL.FIELD`, or `*.FIELD` for every tool: arguments that are recorded as they are from now on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub add_fields: Vec<String>,
    /// Those that are not any more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remove_fields: Vec<String>,
    /// The effect class where a grant is silent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<shape::EffectClass>)]
    pub effect: Option<EffectClass>,
    /// No effect class is set any more.
    #[serde(default)]
    pub unset_effect: bool,
    /// Whether the upstream's annotations decide the effect class where a grant is silent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust_annotations: Option<bool>,
    /// Whether the server is told the session's workspace as its root, from its next start on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_root: Option<bool>,
    /// Recipes, in place of those that are there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<super::VerificationRecipe>>)]
    pub verify: Option<Vec<Recipe>>,
}

/// `POST /api/v1/connections/{connection}/authorize`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AuthorizeConnection {
    /// Where the browser is to be sent back: an address on the loopback of whoever asks.
    pub redirect_uri: String,
    /// The scopes to ask for; what the server names if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// What Agent Mate is called at the authorisation server: an id, or the address of a client's document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// Its secret there. Sealed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<SecretText>,
}

/// `POST /api/v1/connections/{connection}/authorized`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ConnectionAuthorized {
    /// The whole address to which the browser was sent back; it holds the code.
    pub redirected: SecretText,
}

/// `POST /api/v1/grants`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AddGrant {
    /// To which project, by name or id.
    #[schema(value_type = shape::NameOrId)]
    pub project: String,
    /// For which connection, by name or id.
    #[schema(value_type = shape::NameOrId)]
    pub connection: String,
    /// Patterns of the upstream's own tool names.
    #[schema(value_type = Vec<shape::Pattern>, min_items = 1, max_items = 100)]
    pub tools: Vec<String>,
    /// The effect class of these tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<shape::EffectClass>)]
    pub effect: Option<EffectClass>,
    /// When a person is asked; never if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<shape::ApprovalMode>)]
    pub approve: Option<ApprovalMode>,
    /// When it ends: RFC 3339, or a time from now such as `30d`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<shape::Until>)]
    pub expires: Option<String>,
    /// How many calls it is good for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub max_calls: Option<i64>,
    /// It permits nothing by itself: a policy must permit the call as well.
    #[serde(default)]
    #[schema(default = false)]
    pub needs_permit: bool,
    /// How many calls in a time, for each session: `30/min`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<shape::Rate>)]
    pub rate: Option<Rate>,
    /// How much may be spent in all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<shape::Amount>)]
    pub max_spend: Option<Amount>,
    /// What each call costs, besides what its arguments say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<shape::Amount>)]
    pub cost: Option<Amount>,
    /// `TOOL.FIELD`: the argument that says what a call spends.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spend_fields: Vec<String>,
}

/// `POST /api/v1/grants/{grant}/renew`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RenewGrant {
    /// When it ends from now on: RFC 3339, or a time from now such as `30d`; as before if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<shape::Until>)]
    pub expires: Option<String>,
}

/// `POST /api/v1/tokens/{token}/revoke`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RevokeToken {
    /// Also the tokens that were made with it, with those, and so on.
    #[schema(default = false)]
    pub with_children: bool,
}
