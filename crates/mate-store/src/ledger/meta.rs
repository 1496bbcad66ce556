//! What the ledger keeps of itself: the authorisation version and the highest time it has seen.

use super::{Ledger, LedgerError};
use crate::{Statement, StoreError, params::params};
use mate_model::Micros;
use std::sync::atomic::Ordering;

pub(super) const RAISE_VERSION: &str =
    "UPDATE meta SET value = value + 1 WHERE name = 'authorisation_version'";

const VALUE: &str = "SELECT name, value FROM meta WHERE name = $1";

const RAISE_TIME: &str = "UPDATE meta SET value = $1 WHERE name = 'highest_time' AND value < $1";

/// How far the clock may stand before the highest time seen.
const TOLERANCE: i64 = 2_000_000;

/// How much later than the highest time seen the clock must be before it is written again.
const STEP: i64 = 1_000_000;

impl Ledger {
    /// Raised by every change to an account, token, member, project, connection, grant or policy.
    ///
    /// # Errors
    /// The store's, and [`StoreError::Corrupt`] when the row is missing.
    pub async fn authorisation_version(&self) -> Result<i64, StoreError> {
        self.meta("authorisation_version").await
    }

    /// Refuses a time that is more than 2 seconds before the highest that the ledger has seen, and remembers a
    /// higher one; writes at most once in a second of progress.
    ///
    /// # Errors
    /// [`LedgerError::ClockBehind`], and the store's.
    pub async fn observe_time(&self, now: Micros) -> Result<(), LedgerError> {
        let known = self.highest.load(Ordering::Acquire);
        if now.0 >= known && now.0.saturating_sub(known) < STEP {
            return Ok(());
        }
        let stored = self.meta("highest_time").await?;
        self.highest.fetch_max(stored, Ordering::AcqRel);
        if stored.saturating_sub(now.0) > TOLERANCE {
            return Err(LedgerError::ClockBehind { now, highest: Micros(stored) });
        }
        if now.0.saturating_sub(stored) >= STEP {
            self.db.execute(Statement::any(RAISE_TIME, params![now])).await?;
            self.highest.fetch_max(now.0, Ordering::AcqRel);
        }
        Ok(())
    }

    async fn meta(&self, name: &str) -> Result<i64, StoreError> {
        let rows = self.db.glance(VALUE, params![name]).await?;
        let missing =
            || crate::row::corrupt(VALUE, name.to_owned(), "value", "the row is missing".to_owned());
        rows.first().ok_or_else(missing)?.int("value")
    }
}
