//! What the tests share.

mod client;
mod gate;
mod processes;
mod raw;

pub(crate) use client::{Lines, Rig, hello, rig, text};
pub(crate) use gate::{Notes, Ticks};
pub(crate) use processes::{Children, connection, count, evil, http, probe, task_upstream};
pub(crate) use raw::{
    closing_http, raw_http, resuming_http, scripted, serve_http, serve_listener, slow_http, standard, unasked,
};
use std::time::Duration;

/// Waits for a condition, never for time; fails after 20 s.
pub(crate) async fn until(what: &str, condition: impl Fn() -> bool) {
    for _ in 0..4000 {
        if condition() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("did not happen within 20 s: {what}");
}
