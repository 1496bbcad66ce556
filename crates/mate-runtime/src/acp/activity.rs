//! What a runtime says that it does, in words of our own. All of it is the runtime's claim.

use super::{Lost, PermissionRequest};
use serde::{Deserialize, Serialize};

/// What comes out of a connection, in the order in which the runtime said it.
#[derive(Debug)]
pub enum Event {
    /// Something the runtime does or says.
    Activity(Activity),
    /// The runtime asks a person.
    Permission(PermissionRequest),
    /// Something is odd; work goes on.
    Diagnostic(Diagnostic),
}

/// Something the runtime does or says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "type")]
pub enum Activity {
    /// Text, joined from the chunks in which it came.
    Message(Message),
    /// A tool call begins. It may be a bridge tool's or one of the runtime's own.
    ToolCall(ToolCall),
    /// A tool call moves on; what is absent did not change.
    ToolUpdate(ToolCall),
    /// The whole plan; replaces the one before.
    Plan {
        /// In the runtime's order, 200 at most.
        entries: Vec<PlanEntry>,
    },
    /// How much was used so far.
    Usage(Usage),
    /// The runtime is in another mode now.
    Mode {
        /// The mode's id.
        id: String,
    },
    /// The commands that the runtime offers changed.
    Commands {
        /// Their names, 200 at most.
        names: Vec<String>,
    },
    /// An update of a kind that is not known here.
    Other {
        /// The kind, as the runtime names it.
        kind: String,
        /// How long it was, in bytes of JSON.
        size: usize,
    },
}

/// Who a text comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The agent, to the reader.
    Agent,
    /// The agent, to itself.
    Thought,
    /// The prompt, echoed or replayed.
    User,
}

/// A piece of text of one role; a longer one comes as several, cut between characters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said. Not redacted yet: a secret may be cut in two by the end of a piece.
    pub text: String,
}

/// A tool call as the runtime shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The runtime's own id of the call.
    pub id: String,
    /// For people.
    pub title: Option<String>,
    /// The tool's name, where the runtime tells it.
    pub name: Option<String>,
    /// `read`, `edit`, `execute`, ... or whatever the runtime says.
    pub kind: Option<String>,
    /// `pending`, `in_progress`, `completed`, `failed`, or whatever the runtime says.
    pub status: Option<String>,
    /// Files it touches, 100 at most.
    pub locations: Vec<String>,
    /// How long the whole update was, in bytes of JSON; its content is not kept.
    pub size: usize,
}

/// One step of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanEntry {
    /// What is to be done.
    pub content: String,
    /// `pending`, `in_progress`, `completed`.
    pub status: String,
    /// `high`, `medium`, `low`.
    pub priority: String,
}

/// What was used; absent is what the runtime does not tell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens in the context now.
    pub context_used: Option<u64>,
    /// Tokens that fit into the context.
    pub context_size: Option<u64>,
    /// Tokens read.
    pub input_tokens: Option<u64>,
    /// Tokens written.
    pub output_tokens: Option<u64>,
    /// Tokens in all.
    pub total_tokens: Option<u64>,
    /// Money, as the runtime reckons it: an amount and a currency, as text.
    pub cost: Option<String>,
}

/// Something odd about the connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "type")]
pub enum Diagnostic {
    /// Lines on standard output that are no messages. Told at the 1st, 2nd, 4th, 8th, ...
    Garbage {
        /// How many so far.
        lines: u64,
        /// The beginning of the latest one.
        sample: String,
    },
    /// The runtime asked for something that was not offered to it, and was refused.
    Refused {
        /// What it asked for.
        method: String,
    },
}

/// Why a runtime ended its turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It says that it is done. That is no success yet.
    EndTurn,
    /// It reached the limit of tokens.
    MaxTokens,
    /// It reached the limit of requests in one turn.
    MaxTurnRequests,
    /// It will not do it.
    Refusal,
    /// It was cancelled.
    Cancelled,
    /// A reason that is not known here.
    Other(String),
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TurnEnd {
    /// The runtime answered the prompt.
    Stopped {
        /// Why it stopped.
        reason: StopReason,
        /// What the turn used, if the answer tells.
        usage: Option<Usage>,
    },
    /// The runtime answered with an error of its own.
    Failed {
        /// JSON-RPC's code.
        code: i32,
        /// The runtime's words, cut to 2,000 characters.
        message: String,
    },
    /// The runtime was gone before it answered.
    Lost(Lost),
}
