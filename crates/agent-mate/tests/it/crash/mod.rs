//! Correct through every crash: the checker that judges a whole history, and those who make histories for it.

mod checker;
mod checker_tests;
mod history;
mod records;

#[cfg(feature = "faults")]
mod matrix;
