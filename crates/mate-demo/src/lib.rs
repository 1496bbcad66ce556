//! Honest programs for the demo and the tests: a scripted agent runtime and an MCP server whose effects
//! can be counted. They speak the real protocols over pipes and know nothing of Agent Mate.
#![forbid(unsafe_code)]

mod effect;
mod effect_http;
mod effect_log;
mod effect_tasks;
mod effect_tools;
mod runtime;

pub use effect::{EffectOptions, effect_server_main};
pub use runtime::scripted_runtime_main;
