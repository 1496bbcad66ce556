//! The ledger: what was asked, allowed and decided. Many writers; each write compares and counts.
//!
//! One file for each noun. A state is written only by applying a [`mate_model::Transition`]; whatever happens in a
//! project is numbered and chained in its log by the same script ([`commit`]).

mod accounts;
mod admission;
mod approvals;
mod artifact_contents;
mod artifacts;
mod attention;
mod authorizations;
mod browsers;
mod commit;
mod connections;
mod error;
mod events;
mod grants;
mod idempotency;
mod keys;
mod members;
mod meta;
mod permissions;
mod pins;
mod policies;
mod projects;
mod resolution_row;
mod resolutions;
mod resume;
mod runtimes;
mod sessions;
mod submit;
mod task_row;
mod tasks;
mod tokens;
mod verifications;

pub use admission::{AdmissionRow, TaskAuthority};
pub use approvals::{InboxPlace, MAX_WAITING};
pub use artifact_contents::{ArtifactRoom, Offered, StoredContent};
pub use artifacts::{ArtifactsOf, IndexedArtifact};
pub use attention::MAX_SUBJECTS;
pub use authorizations::{Authorization, AuthorizationState};
pub use browsers::NewBrowser;
pub use error::LedgerError;
pub use events::LedgerHead;
pub use idempotency::{Claim, IdempotencyKey, IdempotencyRecord};
pub use keys::{KeyRow, Sealed, SealedIn};
pub use policies::MAX_POLICIES;
pub use resolutions::Unsettled;
pub use submit::{Continued, NewTask, Submitted};
pub use tokens::Authority;
pub use verifications::{DuePlace, Verification};

use crate::{Database, Migration, Schema, SchemaState, StoreError};
use std::sync::{Arc, atomic::AtomicI64};

/// The ledger's schema.
pub const LEDGER_SCHEMA: Schema = Schema {
    name: "ledger",
    migrations: &[Migration {
        number: 1,
        name: "first",
        sqlite: include_str!("../../migrations/sqlite/ledger/0001_first.sql"),
        postgres: include_str!("../../migrations/postgres/ledger/0001_first.sql"),
        oldest_reader: 1,
    }],
};

/// The channel that rings after each write.
pub const LEDGER_BELL: &str = "ledger";

/// The ledger on one store. Clones share what keeps writers of one process out of each other's way.
#[derive(Clone, Debug)]
pub struct Ledger {
    db: Arc<dyn Database>,
    lanes: Arc<commit::Lanes>,
    highest: Arc<AtomicI64>,
}

impl Ledger {
    /// The ledger that `db` holds. Call [`Ledger::migrate`] before the first use.
    #[must_use]
    pub fn new(db: Arc<dyn Database>) -> Self {
        Self { db, lanes: Arc::default(), highest: Arc::new(AtomicI64::new(i64::MIN)) }
    }

    /// Brings the schema up to date.
    ///
    /// # Errors
    /// As [`Database::migrate`].
    pub async fn migrate(&self) -> Result<SchemaState, StoreError> {
        self.db.migrate(&LEDGER_SCHEMA).await
    }

    /// The store behind the ledger, for its doorbell.
    #[must_use]
    pub fn database(&self) -> &Arc<dyn Database> {
        &self.db
    }
}
