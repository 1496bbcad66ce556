//! Getting in the way of a SQLite file, as another program on the machine may.

use rusqlite::Connection;
use std::path::Path;

/// While this is there, nobody else writes to the file. Reading goes on.
#[derive(Debug)]
pub struct WriteLock(Connection);

impl WriteLock {
    /// Waits for its turn, and takes the lock.
    ///
    /// # Errors
    /// SQLite's own words.
    pub fn take(path: &Path) -> Result<Self, String> {
        let take = || {
            let connection = Connection::open(path)?;
            connection.busy_timeout(std::time::Duration::from_secs(30))?;
            connection.execute_batch("BEGIN IMMEDIATE")?;
            Ok(Self(connection))
        };
        take().map_err(|why: rusqlite::Error| format!("{}: {why}", path.display()))
    }
}

impl Drop for WriteLock {
    fn drop(&mut self) {
        // Closing the connection would do it as well.
        let _ = self.0.execute_batch("ROLLBACK");
    }
}
