//! What Agent Mate is about, as values: ids, states, commands, decisions and events.
//!
//! Nothing here reads a clock, draws a random number, opens a file or waits. Time and ids are
//! arguments, so every decision can be replayed and explored.
#![forbid(unsafe_code)]

pub mod ambient;
pub mod ids;

pub use ambient::{Clock, Entropy, Micros};
pub use ids::{
    AccountId, ConnectionId, GrantId, OperationId, ProjectId, RuntimeId, SessionId, TaskId, TokenId, TurnId,
};
