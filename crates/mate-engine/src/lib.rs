//! The use cases, one verb per file: what the interfaces, the workers and recovery call.
//!
//! The engine does not know which engine its stores have, who drives the runtime, or what HTTP is.
#![forbid(unsafe_code)]

pub mod admin;
pub mod admit;
pub mod approvals;
pub mod artifact;
pub mod aside;
pub mod browser;
pub mod conclude;
pub mod error;
pub mod home;
mod home_id;
pub mod keys;
pub mod lock;
mod named;
pub mod note;
pub mod oauth;
mod principal;
mod prober;
pub mod recover;
pub mod resolve;
pub mod schedule;
#[cfg(test)]
mod schedule_tests;
pub mod secrets;
pub mod settings;
pub mod spill;
pub mod stores;
pub mod surroundings;
pub mod task;
mod upstream_task;
mod verb;
pub mod verify;
pub mod workspace;

pub use error::EngineError;
pub use home::{Home, SessionFolder, SocketPath};
pub use home_id::{HomeId, StrangeHome};
pub use keys::Keys;
pub use lock::SessionLock;
pub use named::Named;
pub use note::Note;
pub use principal::Principal;
pub use prober::{NoProber, Prober};
pub use recover::{Recovered, Undertaker};
pub use resolve::{Ask, Resolved};
pub use schedule::{Launcher, Round, Scheduler};
pub use settings::Settings;
pub use spill::Spill;
pub use stores::Stores;
pub use task::{
    Conversation, Cursor, EventPage, EventView, OperationPage, OperationView, Recent, Report, Resume, Submit,
    TaskPage, TaskView,
};
pub use verb::{Needs, Verb, table};
pub use verify::Looker;

use mate_guard::Key;
use mate_model::{Clock, Entropy};
use mate_store::Ledger;
use std::sync::Arc;

/// What every use case needs.
pub struct Engine {
    /// What was asked, allowed and decided.
    pub ledger: Ledger,
    /// Where journals are.
    pub stores: Stores,
    /// Where files are.
    pub home: Home,
    /// The home's own secret; keys of sessions and of contents are derived from it. It never changes.
    pub key: Key,
    /// What secrets are sealed under.
    pub keys: Keys,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Ids and secrets.
    pub entropy: Arc<dyn Entropy>,
    /// What could not be looked after.
    pub aside: aside::Aside,
    /// One note of a token's use is written at a time.
    noting: Arc<tokio::sync::Semaphore>,
}

impl Engine {
    /// An engine over opened stores, with `key` as the home's secret and as the key that seals. Nothing is set aside yet.
    #[must_use]
    pub fn new(
        ledger: Ledger,
        stores: Stores,
        home: Home,
        key: Key,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Self {
        let keys = Keys::fixed(key.clone());
        Self {
            ledger,
            stores,
            home,
            key,
            keys,
            clock,
            entropy,
            aside: aside::Aside::default(),
            noting: Arc::new(tokio::sync::Semaphore::new(1)),
        }
    }
    /// The same engine, with secrets sealed under these keys.
    #[must_use]
    pub fn sealing_with(mut self, keys: Keys) -> Self {
        self.keys = keys;
        self
    }
}
