//! The bridge against real processes, real sockets and raw protocol text.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test says what went wrong by failing")]

mod calls;
mod capabilities;
mod eras;
mod fronts;
mod held;
mod http_truth;
mod https;
mod new_tasks;
mod odd_results;
mod probing;
mod rounds;
mod secrets;
mod stdio_truth;
mod support;
mod tasks;
mod unasked;
