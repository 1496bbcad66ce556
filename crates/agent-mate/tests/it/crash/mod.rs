//! Correct through every crash: the checker that judges a whole history, and those who make histories for it.

mod chaos;
mod checker;
mod checker_tests;
mod compared;
mod history;
mod matrix;
mod poison;
mod records;

pub(crate) use matrix::Faults;
