//! The stores: one port, two drivers, and (later) every SQL statement of the project.
//!
//! The same SQL text runs on SQLite and PostgreSQL. This crate is the only one that knows SQL;
//! see [`port`] for the subset in which it is written and the rules that keep both engines equal.
#![forbid(unsafe_code)]

mod artifact_columns;
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
pub use journal::{
    BULK, Change, JOURNAL_SCHEMA, JournalError, JournalHead, JournalReader, JournalWriter, LeftArtifact,
    OperationFacts, Pending, Takeover, UpstreamTask, Written,
};
pub use ledger::{
    AdmissionRow, ArtifactRoom, ArtifactsOf, Authority, Authorization, AuthorizationState, Claim, Continued,
    DuePlace, IdempotencyKey, IdempotencyRecord, IndexedArtifact, LEDGER_SCHEMA, Ledger, LedgerError,
    NewTask, Offered, StoredContent, Submitted, TaskAuthority, Unsettled, Verification,
};
pub use migration::{Migration, Schema, SchemaState};
pub use page::Page;
pub use port::{Database, Engine, Expect, MAX_ROWS, Statement};
pub use postgres::PostgresDatabase;
pub use row::Row;
pub use sqlite::{SqliteDatabase, SqliteOptions};
pub use value::Value;
