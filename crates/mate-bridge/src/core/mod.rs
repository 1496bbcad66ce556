//! JSON-RPC 2.0 as raw text, from `mate-rpc`, and what MCP's own bodies need beside it.

mod bounded;
pub(crate) mod era;
pub(crate) mod faults;
pub(crate) mod mirrored;
pub(crate) mod object;
pub(crate) mod schema;

pub(crate) use bounded::{MOST, bounded};
pub(crate) use mate_rpc::{Answer, Fault, Id, Message, Notification, Request, Response, lines, message, raw};
pub(crate) use object::Object;

/// The protocol versions that both sides speak, newest first.
pub(crate) const VERSIONS: [&str; 2] = ["2025-11-25", "2025-06-18"];
/// An older one that an upstream may still answer with.
pub(crate) const OLD_UPSTREAM_VERSIONS: [&str; 2] = ["2025-03-26", "2024-11-05"];
