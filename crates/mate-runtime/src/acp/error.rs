//! What can go wrong with a runtime.

use super::parse;
use crate::container::Exit;
use mate_rpc::Fault;
use serde_json::Value;

/// Why there is no runtime to speak with any more.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Lost {
    /// Its process ended.
    #[error("the runtime's process ended: {exit}{}", tail(.stderr))]
    Exited {
        /// How.
        exit: Exit,
        /// The last lines it complained.
        stderr: Vec<String>,
    },
    /// It closed its output and lives on.
    #[error("the runtime closed its output{}", tail(.stderr))]
    Silent {
        /// The last lines it complained.
        stderr: Vec<String>,
    },
    /// It sent a line that never ends.
    #[error("the runtime sent a line of more than {limit} bytes; it is not listened to any more")]
    TooLong {
        /// The limit.
        limit: usize,
    },
    /// It does not read what it is sent.
    #[error("the runtime closed its input")]
    Deaf,
    /// The connection was given up on this side.
    #[error("the connection to the runtime was closed")]
    Closed,
}

fn tail(stderr: &[String]) -> String {
    if stderr.is_empty() { String::new() } else { format!("; it said: {}", stderr.join(" | ")) }
}

/// Why a runtime did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum AcpError {
    /// It is gone.
    #[error(transparent)]
    Lost(#[from] Lost),
    /// It took too long.
    #[error("the runtime did not answer {method} within {seconds} s; see its log, or raise the time-out")]
    TimedOut {
        /// The request.
        method: &'static str,
        /// How long was waited.
        seconds: u64,
    },
    /// It answered with an error.
    #[error("the runtime refused {method}: {message} ({code})")]
    Refused {
        /// The request.
        method: &'static str,
        /// JSON-RPC's code.
        code: i32,
        /// The runtime's words, cut to 2,000 characters.
        message: String,
    },
    /// Its answer cannot be used.
    #[error("the runtime's answer to {method} cannot be used: {why}")]
    Unusable {
        /// The request.
        method: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// It speaks another version.
    #[error(
        "the runtime speaks protocol version {version}, and only 1 is known here; use a release of it that speaks 1"
    )]
    Version {
        /// Its version.
        version: String,
    },
    /// It cannot do that.
    #[error("the runtime does not offer {what}")]
    NotOffered {
        /// What was wanted.
        what: &'static str,
    },
    /// Its tools cannot be reached by it.
    #[error("the runtime takes no MCP server over HTTP, and no stdio relay was offered to it")]
    NoWay,
    /// A turn is running.
    #[error("the runtime is busy with a prompt; wait for its end or cancel it")]
    Busy,
    /// There is no session yet.
    #[error("no session was opened with the runtime")]
    NoSession,
    /// A session is open already; one process never serves two.
    #[error("this runtime process has a session already; start another process")]
    SecondSession,
    /// The request could not be made.
    #[error("the request cannot be written: {0}")]
    Unwritable(String),
}

impl AcpError {
    /// What an answer says that is an error. One that is not as JSON-RPC wants it is shown as it is.
    pub(super) fn refused(method: &'static str, fault: &Fault) -> Self {
        let error: Value = serde_json::from_str(fault.0.get()).unwrap_or_default();
        let code = error["code"].as_i64().and_then(|code| i32::try_from(code).ok()).unwrap_or_default();
        let message = match error["message"].as_str().or_else(|| error.as_str()) {
            Some(words) => parse::error_words(words, error.get("data")),
            None => parse::message(fault.0.get()),
        };
        Self::Refused { method, code, message }
    }
}
