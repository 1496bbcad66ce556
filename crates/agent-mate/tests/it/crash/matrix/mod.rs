//! The crash matrix: at every fault point, each process that may die there is killed, on both kinds of store; then
//! the home goes on, and the checker judges all that happened.

mod faults;
mod keys;
mod kill;
mod play;
mod points;
mod scene;
mod sweep;
mod table;

pub(crate) use faults::Faults;
