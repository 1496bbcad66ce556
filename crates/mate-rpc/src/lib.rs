//! JSON-RPC 2.0 as raw text, a message a line: what MCP and ACP have in common.
//!
//! Messages are split into their parts, never rebuilt from a model, so that what one side wrote is what the other
//! side reads. No method, no connection and no wait is known here.
//!
//! * [`message`]: one message, read strictly or as leniently as can be done without guessing, and written.
//! * [`lines`]: lines of bounded length from a byte stream.
//! * [`repair`]: a line of a sloppy writer as text that can be read.
#![forbid(unsafe_code)]

mod fault;
pub mod lines;
pub mod message;
mod repair;

pub use fault::Fault;
pub use lines::{Line, Lines};
pub use message::{Answer, Id, Message, Notification, ReadError, Request, Response};
pub use repair::repair;

use serde_json::value::RawValue;

/// Any serialisable value as raw JSON; `null` if it cannot be written (only maps with odd keys cannot).
pub fn raw<T: serde::Serialize>(value: &T) -> Box<RawValue> {
    serde_json::value::to_raw_value(value).unwrap_or_else(|_| RawValue::NULL.to_owned())
}
