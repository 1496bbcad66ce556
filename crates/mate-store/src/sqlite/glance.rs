//! Reads of a few rows on the caller's own thread, where a hand-over would cost more than the read.
//!
//! The effort is bounded in steps of SQLite's machine, and nothing is waited for: what needs more goes to a
//! reader's thread, as if it had never been tried.

use super::{SqliteOptions, failure::translate, settings, statement};
use crate::{Row, StoreError, Value};
use rusqlite::Connection;
use std::{
    fmt,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

/// Steps of SQLite's machine between two looks at the effort.
const STEPS: i32 = 100;

/// Such spans that one read may take: about a tenth of a millisecond.
const SPANS: u32 = 20;

/// How often a file that is locked at the moment is looked at before it is given up.
const LOOKS: u32 = 400;
/// How long between two of these looks.
const BETWEEN_LOOKS: Duration = Duration::from_millis(25);

pub(super) struct Glance {
    connection: Mutex<Connection>,
    spans: Arc<AtomicU32>,
}

impl fmt::Debug for Glance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Glance").finish_non_exhaustive()
    }
}

impl Glance {
    pub(super) fn open(path: &Path, options: SqliteOptions) -> Result<Self, StoreError> {
        let connection = settings::open_reader(path, options)?;
        connection.busy_timeout(Duration::ZERO).map_err(|why| translate(&why))?;
        let spans = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&spans);
        let over = move || counted.fetch_add(1, Ordering::Relaxed) >= SPANS;
        connection.progress_handler(STEPS, Some(over)).map_err(|why| translate(&why))?;
        Ok(Self { connection: Mutex::new(connection), spans })
    }

    /// That the first migration is committed: until then the file is there, and nothing can be read of it.
    pub(super) fn check_made(&self, path: &Path) -> Result<(), StoreError> {
        const MADE: &str =
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name = 'schema_migrations'";
        for _ in 0..LOOKS {
            match self.at(MADE, &[]) {
                Some(Ok(rows)) if rows.is_empty() => {
                    let why = format!("{}: its tables are being made", path.display());
                    return Err(StoreError::Unavailable { why, maybe_committed: false });
                }
                Some(answer) => return answer.map(drop),
                None => std::thread::sleep(BETWEEN_LOOKS),
            }
        }
        Err(StoreError::Busy(format!("{} stays locked", path.display())))
    }

    /// The answer, or none when the read has to go to a reader's thread.
    pub(super) fn at(&self, sql: &'static str, params: &[Value]) -> Option<Result<Vec<Row>, StoreError>> {
        let connection = self.connection.try_lock().ok()?;
        self.spans.store(0, Ordering::Relaxed);
        match statement::read(&connection, sql, params) {
            Err(StoreError::Busy(_)) => None,
            answer => Some(answer),
        }
    }
}
