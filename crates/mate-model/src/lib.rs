//! What Agent Mate is about, as values: ids, states, commands, decisions and events.
//!
//! Nothing here reads a clock, draws a random number, opens a file or waits. Time and ids are
//! arguments, so every decision can be replayed and explored.
#![forbid(unsafe_code)]

pub mod ambient;
pub mod approval;
pub mod confinement;
pub mod containment;
pub mod event;
pub mod ids;
pub mod limit;
pub mod moves;
pub mod operation;
pub mod record;
pub mod records;
pub mod replay;
pub mod resolution;
pub mod round;
pub mod session;
pub mod task;
pub mod text;
pub mod transition;
pub mod turn;
pub mod verification;
pub mod words;

pub use ambient::{Clock, Entropy, Micros};
pub use ids::{
    AccountId, ApprovalId, ArtifactId, ConnectionId, GrantId, OperationId, PolicyId, ProjectId, RuntimeId,
    SessionId, TaskId, TokenId, TurnId,
};
pub use transition::{Epoch, Refusal, Transition};
