//! The stores: one port, two drivers, and (later) every SQL statement of the project.
//!
//! The same SQL text runs on SQLite and PostgreSQL. This crate is the only one that knows SQL;
//! see [`port`] for the subset in which it is written and the rules that keep both engines equal.
#![forbid(unsafe_code)]

pub mod bell;
pub mod chain;
mod decode;
pub mod error;
pub mod journal;
pub mod ledger;
pub mod migration;
pub mod page;
mod params;
pub mod port;
pub mod postgres;
pub mod row;
pub mod sqlite;
pub mod value;

pub use bell::Doorbell;
pub use error::{ConstraintKind, StoreError};
pub use journal::{Change, JOURNAL_SCHEMA, JournalError, JournalReader, JournalWriter};
pub use ledger::{LEDGER_SCHEMA, Ledger, LedgerError};
pub use migration::{Migration, Schema, SchemaState};
pub use page::Page;
pub use port::{Database, Engine, Expect, MAX_ROWS, Statement};
pub use row::Row;
pub use value::Value;
