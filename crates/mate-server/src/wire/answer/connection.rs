//! Connections.

use super::InFlight;
use crate::wire::shape;
use mate_model::{ConnectionId, verification::Recipe, words::EffectClass};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// A connection: a configured link to an upstream MCP server. Its secrets are never shown.
#[derive(Debug, Serialize, ToSchema)]
pub struct Connection {
    /// Its id.
    #[schema(value_type = shape::ConnectionId)]
    pub id: ConnectionId,
    /// Its name; the prefix of its tools.
    pub name: String,
    /// `stdio` or `http`.
    pub kind: &'static str,
    /// The address, of one over HTTP.
    pub url: Option<String>,
    /// The program and its arguments, of one over standard streams.
    pub command: Option<Vec<String>>,
    /// The names of its sealed environment variables.
    pub secret_env: Vec<String>,
    /// The names of its sealed headers.
    pub headers: Vec<String>,
    /// `TOOL.FIELD`: arguments that are recorded as they are.
    pub allow_fields: Vec<String>,
    /// Its tools appear without its name before them.
    pub bare: bool,
    /// The upstream's annotations decide the effect class where a grant is silent.
    pub trust_annotations: bool,
    /// The effect class where a grant is silent.
    #[schema(value_type = Option<shape::EffectClass>)]
    pub effect: Option<EffectClass>,
    /// Recipes: how calls whose outcome is unknown are looked for.
    #[schema(value_type = Vec<crate::wire::VerificationRecipe>)]
    pub verify: Vec<Recipe>,
    /// The session's workspace is told to the server as its root (MCP roots).
    pub workspace_root: bool,
    /// When it was made.
    #[schema(value_type = shape::Time)]
    pub created_at: String,
    /// `removed`, where it was removed just now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<&'static str>,
    /// Where it was taken away just now: what was on its way, and may have happened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<InFlight>,
}

/// A connection whose secrets were changed, and what became of each that was named.
#[derive(Debug, Serialize, ToSchema)]
pub struct RotatedConnection {
    /// The connection as it is now.
    #[serde(flatten)]
    pub connection: Connection,
    /// Names of secrets whose value was replaced.
    pub replaced: Vec<String>,
    /// Names that are new.
    pub added: Vec<String>,
    /// Names that are gone.
    pub removed: Vec<String>,
}

/// Where a person has to say yes.
#[derive(Debug, Serialize, ToSchema)]
pub struct AuthorizationAsked {
    /// The connection.
    #[schema(value_type = shape::ConnectionId)]
    pub id: ConnectionId,
    /// `asked`.
    pub state: &'static str,
    /// Its name.
    pub name: String,
    /// The address to open in a browser.
    pub url: String,
}

/// What an authorisation server gave.
#[derive(Debug, Serialize, ToSchema)]
pub struct Authorized {
    /// The connection.
    #[schema(value_type = shape::ConnectionId)]
    pub id: ConnectionId,
    /// `authorized`.
    pub state: &'static str,
    /// Its name.
    pub name: String,
    /// The authorisation server.
    pub issuer: String,
    /// What it is for.
    pub scope: Option<String>,
    /// It is renewed by itself.
    pub refreshes: bool,
    /// When what was given ends.
    #[schema(value_type = Option<shape::Time>)]
    pub expires_at: Option<String>,
}

/// What connecting came to.
#[derive(Debug, Serialize, ToSchema)]
pub struct Look {
    /// The connection.
    #[schema(value_type = shape::ConnectionId)]
    pub id: ConnectionId,
    /// `well` or `ill`.
    pub state: &'static str,
    /// Its name.
    pub name: String,
    /// The kind of problem, as a word.
    #[schema(value_type = Option<String>)]
    pub code: Value,
    /// The version of the protocol that was spoken.
    #[schema(value_type = Option<String>)]
    pub protocol: Value,
    /// How many tools are offered.
    pub tools: usize,
    /// What is wrong: `code`, `detail`, and what to do `next`.
    #[schema(value_type = Option<Object>)]
    pub problem: Value,
    /// What is worth knowing.
    #[schema(value_type = Option<Vec<Value>>)]
    pub notices: Value,
    /// What the program wrote to its standard error. Untrusted text.
    #[schema(value_type = Value)]
    pub said: Value,
}

/// A tool as its upstream offers it. Untrusted text.
#[derive(ToSchema)]
#[schema(value_type = Object)]
pub struct Tool(pub Value);
