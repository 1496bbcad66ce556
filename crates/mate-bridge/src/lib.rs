//! The bridge between an agent runtime and the tools that it was granted, over MCP.
//!
//! To the runtime it is one MCP server; to each configured connection it is an MCP client. It decides
//! nothing: a [`Gate`] does, and records. What the bridge promises is fidelity (what an upstream answered
//! reaches the runtime as the same text) and truth (each call is sent at most once, and ends as answered,
//! as proved not to have been sent, or as unknown).
#![forbid(unsafe_code)]

mod bridge;
mod config;
mod core;
mod front;
mod gate;
mod hub;
pub mod oauth;
mod parts;
mod probe;
mod upstream;

pub use bridge::{Bridge, BridgeConfig, BridgeError, InFlight};
pub use config::{Child, ConnectionSpec, Credentials, HttpSpec, Limits, Spawner, StdioSpec, Transport};
pub use front::relay::relay_main;
pub use gate::{Admission, Answering, Call, Gate, Named, Outcome, Receipt, Settled, Ticket};
pub use parts::{MANY, NoContent, Part, PartKind, Place, content, parts};
pub use probe::{Code, Finding, Probe, ProbedTool, probe};
pub use upstream::Progress;
