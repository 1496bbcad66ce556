//! Fault points: places between two durable writes, or between a write and a byte that goes out, at which a test
//! can hold a process and kill whom it likes.
//!
//! Without the feature `points` a point is compiled to nothing: only its name is checked. With it, a process that
//! was started with [`VARIABLE`] set to a folder looks for a file named like the point when it gets there. Is there
//! one, it is renamed to `POINT.hit.PID`, and the process waits at the point until `POINT.go` is there, for a
//! minute at most; then the `hit` file is removed. The file says which reach is meant: `ROLE NUMBER`, where a process has the role that stands among
//! its arguments (`serve`, `session-worker`, `keeper`), and the number counts that process's reaches from when the
//! file was there. An empty file means the next reach of any process. A file `POINT.slow` with a number of
//! milliseconds makes every reach take so much longer. A file `notices.cut` silences every bell.
#![forbid(unsafe_code)]

pub mod disk;
#[cfg(feature = "points")]
mod held;
mod points;

#[cfg(feature = "points")]
pub use held::{handed_on, hold, hold_async};
pub use points::{POINTS, Point, Process, is_known};

/// Names the folder in which points are armed.
pub const VARIABLE: &str = "AGENT_MATE_FAULTS";

/// Whether points are compiled in.
pub const COMPILED_IN: bool = cfg!(feature = "points");

/// Whether a test cuts every path by which one process tells another that it is worth looking: a file `notices.cut`
/// lies in the folder. Never without points compiled in.
#[must_use]
pub fn notices_are_cut() -> bool {
    #[cfg(feature = "points")]
    let cut = held::folder().is_some_and(|folder| folder.join("notices.cut").exists());
    #[cfg(not(feature = "points"))]
    let cut = false;
    cut
}

/// The variable and its value, for a child whose surroundings are named one by one.
#[cfg(not(feature = "points"))]
#[must_use]
pub const fn handed_on() -> Option<(&'static str, std::ffi::OsString)> {
    None
}

/// A point in code that may block its thread, because what really happens there does.
#[cfg(feature = "points")]
#[macro_export]
macro_rules! point {
    ($name:literal) => {{
        const _: () = assert!($crate::is_known($name), "add the point to mate-fault's list");
        $crate::hold($name);
    }};
}

/// A point in asynchronous code: only the task that gets there waits.
#[cfg(feature = "points")]
#[macro_export]
macro_rules! point_async {
    ($name:literal) => {{
        const _: () = assert!($crate::is_known($name), "add the point to mate-fault's list");
        $crate::hold_async($name).await;
    }};
}

/// A point; compiled to nothing.
#[cfg(not(feature = "points"))]
#[macro_export]
macro_rules! point {
    ($name:literal) => {{
        const _: () = assert!($crate::is_known($name), "add the point to mate-fault's list");
    }};
}

/// A point in asynchronous code; compiled to nothing.
#[cfg(not(feature = "points"))]
#[macro_export]
macro_rules! point_async {
    ($name:literal) => {{
        const _: () = assert!($crate::is_known($name), "add the point to mate-fault's list");
    }};
}
