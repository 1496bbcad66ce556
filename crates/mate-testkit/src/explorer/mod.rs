//! The explorer: every order of steps, crashes and wishes around one task, its turn and two operations.
//!
//! The steps are those of the coordinator and of session workers over two stores (`ARCHITECTURE.md`); each is
//! one atomic write, read or act. The states and the moves are the model's own: the explorer asks
//! `mate_model`'s `decide` and never invents a state. Between any two steps a process may be killed or frozen,
//! and a frozen one may wake when another has taken its place.
//!
//! The coordinator here is careless: it looks at the lock, records an epoch and starts a worker without holding the
//! lock in between. One that hands the lock over takes a subset of these steps.
//!
//! What it does not know: disks that lose what was synced, clocks, and frozen keepers.

mod call;
mod check;
mod config;
pub mod document;
mod ending;
mod hash;
mod keys;
mod machines;
mod plan;
mod report;
mod resolving;
pub mod samples;
mod search;
mod state;
mod survey;
mod walk;
mod worker;
mod world;

pub use check::INVARIANTS;
pub use config::{Config, Flaw, Stores, Tool};
pub use plan::{Exploration, explorations, flawed};
pub use report::{Cut, Report, Violation, word_bit, words};
pub use search::explore;
pub use survey::Survey;
