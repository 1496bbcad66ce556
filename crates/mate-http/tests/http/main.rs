//! The client against real sockets whose servers behave exactly as a test wants.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "a test says what went wrong by failing")]

mod keeping;
mod server;
mod tls;
mod truth;
