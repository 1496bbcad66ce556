//! JSON-RPC 2.0 as raw text: messages are split into their parts, never rebuilt from a model, so
//! that what one side wrote is what the other side reads.

mod bounded;
pub(crate) mod fault;
pub(crate) mod lines;
pub(crate) mod message;
pub(crate) mod object;
pub(crate) mod schema;

pub(crate) use bounded::{MOST, bounded};
pub(crate) use fault::Fault;
pub(crate) use message::{Answer, Id, Message, Notification, Request, Response};
pub(crate) use object::Object;

use serde_json::value::RawValue;

/// Any serialisable value as raw JSON; `null` if it cannot be written (only maps with odd keys cannot).
pub(crate) fn raw<T: serde::Serialize>(value: &T) -> Box<RawValue> {
    serde_json::value::to_raw_value(value).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// The protocol versions that both sides speak, newest first.
pub(crate) const VERSIONS: [&str; 2] = ["2025-11-25", "2025-06-18"];
/// An older one that an upstream may still answer with.
pub(crate) const OLD_UPSTREAM_VERSIONS: [&str; 2] = ["2025-03-26", "2024-11-05"];
