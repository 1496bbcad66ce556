//! JSON-RPC errors: our own, and those of a peer passed on as they are.

use super::raw;
use serde_json::{json, value::RawValue};

/// An `error` member, as raw JSON.
#[derive(Debug, Clone)]
pub struct Fault(pub Box<RawValue>);

impl Fault {
    fn new(code: i64, message: &str) -> Self {
        Self(raw(&json!({ "code": code, "message": message })))
    }

    /// The text was not JSON.
    #[must_use]
    pub fn parse(message: &str) -> Self {
        Self::new(-32700, message)
    }

    /// JSON, but not a request that can be served.
    #[must_use]
    pub fn invalid_request(message: &str) -> Self {
        Self::new(-32600, message)
    }

    /// A method that nobody here serves.
    #[must_use]
    pub fn no_method(method: &str) -> Self {
        let shown: String = method.chars().take(80).collect();
        Self::new(-32601, &format!("Agent Mate does not serve the method `{shown}`"))
    }

    /// Parameters that cannot be used.
    #[must_use]
    pub fn invalid_params(message: &str) -> Self {
        Self::new(-32602, message)
    }

    /// Something on our side or at the peer failed.
    #[must_use]
    pub fn internal(message: &str) -> Self {
        Self::new(-32603, message)
    }
}
