//! Honest programs for the demo and the tests: a scripted agent runtime and an MCP server whose effects
//! can be counted. They speak the real protocols over pipes and know nothing of Agent Mate.
#![forbid(unsafe_code)]

mod effect;
mod effect_log;
mod effect_tools;

pub use effect::{EffectOptions, effect_server_main};
