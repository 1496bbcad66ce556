//! Agent runtimes: the container their processes live in, and the protocol they speak.
//!
//! * [`container`]: a container of processes that dies with the session worker and leaves evidence.
//! * [`confine`]: what a session must not see is not there for it.
//! * [`acp`]: a runtime driven over the Agent Client Protocol; no type of the protocol leaves it.
//! * [`presets`]: how well-known runtimes are launched.

pub mod acp;
pub mod confine;
pub mod container;
pub mod presets;
pub mod registration;
