//! What tests need: real services, thrown away afterwards.
#![forbid(unsafe_code)]

pub mod explorer;
pub mod memory;
pub mod mounts;
pub mod postgres;
pub mod sqlite;
