//! The HTTP interface over a real ledger and real journals, through the router and through real sockets.
#![expect(clippy::expect_used, clippy::panic, reason = "a test says with it what it needs")]

mod access;
mod bad_input;
mod browsers;
mod described;
mod events;
mod house;
mod idempotency;
mod listening;
mod nouns;
mod openapi;
mod reading;
mod resuming;
mod scope;
mod slow;
mod streams;
mod tasks;
