//! What the runtime asks a person.

use super::{ToolCall, parse};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::oneshot;

/// One answer that a person may give.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionOption {
    /// What to answer with.
    pub id: String,
    /// For people.
    pub name: String,
    /// `allow_once`, `allow_always`, `reject_once`, `reject_always`, or whatever the runtime says.
    pub kind: String,
}

/// An answer to a permission request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PermissionAnswer {
    /// The option with this id.
    Selected(String),
    /// No answer; the turn is being cancelled, or nobody is there.
    Cancelled,
}

/// The runtime waits for a person's word on a tool call, its own or the bridge's.
#[derive(Debug)]
pub struct PermissionRequest {
    /// Counts the requests of this connection, from 1.
    pub id: u64,
    /// The call, as far as the runtime shows it.
    pub tool: ToolCall,
    /// The call as the runtime sent it; untrusted, and only good for a digest.
    pub exact: Box<Value>,
    /// The answers it takes.
    pub options: Vec<PermissionOption>,
    /// Takes the one answer. Dropped unanswered it counts as [`PermissionAnswer::Cancelled`]; it is
    /// closed when the runtime does not wait any more.
    pub answer: oneshot::Sender<PermissionAnswer>,
}

impl PermissionRequest {
    /// The option of a kind, the narrower one first: `allow` or `reject`.
    #[must_use]
    pub fn option(&self, allow: bool) -> Option<&PermissionOption> {
        let kinds = if allow { ["allow_once", "allow_always"] } else { ["reject_once", "reject_always"] };
        kinds.iter().find_map(|kind| self.options.iter().find(|option| option.kind == *kind))
    }
}

/// The request, and where its answer will come from.
pub(super) fn request(id: u64, params: &Value) -> (PermissionRequest, oneshot::Receiver<PermissionAnswer>) {
    let (answer, answered) = oneshot::channel();
    let tool = parse::tool_call(&params["toolCall"], params.to_string().len());
    let exact = Box::new(params["toolCall"].clone());
    (PermissionRequest { id, tool, exact, options: parse::permission_options(params), answer }, answered)
}

/// The answer as the protocol wants it.
pub(super) fn answer(answer: PermissionAnswer) -> Value {
    match answer {
        PermissionAnswer::Selected(option) => json!({"outcome": {"outcome": "selected", "optionId": option}}),
        PermissionAnswer::Cancelled => json!({"outcome": {"outcome": "cancelled"}}),
    }
}
