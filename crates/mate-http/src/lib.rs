//! A small HTTP/1.1 client that always knows whether a request was sent.
//!
//! It speaks to one endpoint (TCP, TLS over TCP, or a Unix socket), keeps a few idle connections for a short while, follows
//! nothing, uses no proxy, and never sends a request twice: a request that met a dead connection gets a second one only
//! if no byte had gone into the first.
#![forbid(unsafe_code)]

mod client;
mod connect;
mod connection;
mod endpoint;
mod keeper;
mod meter;
mod request;
mod response;
mod trust;

pub use client::{Client, Failed};
pub use endpoint::Endpoint;
pub use request::Request;
pub use response::{BodyFault, Response};
pub use trust::Trust;
