//! OAuth 2.1 as MCP uses it: who may give tokens for a server, and asking them for some.
//!
//! Everything here is asked anew by whoever needs it; nothing is kept. Answers are bounded, no redirect is followed, and
//! what is sent goes to `https` addresses, or to this machine where the server itself is on it.

mod discover;
mod fault;
mod metadata;
mod tokens;
mod wire;

pub use discover::{Discovered, discover};
pub use fault::Fault;
pub use metadata::Server;
pub use tokens::{Client, CodeGrant, Redirected, Tokens, authorization_url, exchange, refresh, register};
