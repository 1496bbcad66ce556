//! The journal: what one session did. One writer, the holder of the session's lock, fenced by its epoch.
//!
//! The [`JournalWriter`] queues writes to an actor that commits whatever waits as one script; permissions to send
//! are made there, after the commit. The [`JournalReader`] reads beside it.

mod actor;
mod artifact_row;
mod change;
mod compose;
mod equals;
mod error;
mod events;
mod kept_row;
mod later;
mod operation_row;
mod operations;
mod reader;
mod round_row;
mod takeover;
mod turn_row;
mod upstream_task_row;
mod writer;

pub use artifact_row::LeftArtifact;
pub use change::{Change, OperationFacts, Written};
pub use equals::Equals;
pub use error::JournalError;
pub use operations::call_key;
pub use reader::{JournalHead, JournalReader};
pub use round_row::Round;
pub use takeover::Takeover;
pub use upstream_task_row::UpstreamTask;
pub use writer::{BULK, JournalWriter, Pending};

use crate::{Migration, Schema};

/// The journal's schema.
pub const JOURNAL_SCHEMA: Schema = Schema {
    name: "journal",
    migrations: &[Migration {
        number: 1,
        name: "first",
        sqlite: include_str!("../../migrations/sqlite/journal/0001_first.sql"),
        postgres: include_str!("../../migrations/postgres/journal/0001_first.sql"),
        oldest_reader: 1,
    }],
};
