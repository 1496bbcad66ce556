//! What is shown: the answers of the HTTP interface, as far as pages need them.

mod admin;
mod record;

pub use admin::{
    Account, Connection, ConnectionCheck, Grant, Member, Pin, Pins, Project, Runtime, Token, Tool,
};
pub use record::{
    Approval, Artifact, Contrary, Event, Evidence, Operation, Permission, Receipt, Session, Task,
};

use jiff::Timestamp;
use serde::Deserialize;

/// A moment that may not have come.
pub type At = Option<Timestamp>;

/// Part of a list.
#[derive(Clone, Debug, Deserialize)]
#[serde(bound = "T: Deserialize<'de>")]
pub struct List<T> {
    /// The items.
    pub items: Vec<T>,
    /// Where the next part starts.
    #[serde(default)]
    pub next: Option<String>,
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self { items: Vec::new(), next: None }
    }
}
