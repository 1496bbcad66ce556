//! The HTTP interface: requests in, problem documents and JSON out, and live streams of events.
//!
//! The only crate that knows HTTP. Handlers hold no logic: they read strictly, ask the engine, and show.
#![forbid(unsafe_code)]

mod answer;
mod check;
mod content;
mod cursor;
pub mod describe;
mod extract;
mod idempotent;
mod limits;
mod listen;
mod listings;
pub mod problem;
mod refusal;
mod registrar;
mod routes;
mod state;
mod stream;
mod submission;
pub mod time;
mod views;
mod web;
pub mod wire;

pub use check::{Peer, PeerCheck};
pub use limits::{RateLimit, RateLimits};
pub use listen::{ListenError, Listeners, Spans, serve};
pub use registrar::{PlainCommands, Registrar};
pub use routes::{Route, router, table};
pub use state::ServerState;
