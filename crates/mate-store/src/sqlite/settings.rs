//! How a connection is opened, and with which settings.

use super::failure::translate;
use crate::StoreError;
use rusqlite::{Connection, OpenFlags};
use std::{path::Path, time::Duration};

/// The oldest SQLite without known bugs that lose commits (3.51.3 ended a race in resetting the log).
const OLDEST_LIBRARY: i32 = 3_051_003;

/// How long a statement waits for a lock that another process holds.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// How often switching to the write-ahead log is tried: SQLite does not always wait by itself here.
const SWITCH_ATTEMPTS: u32 = 400;
/// How long one of these attempts waits.
const SWITCH_WAIT: Duration = Duration::from_millis(25);

/// What may be chosen for one file.
#[derive(Clone, Copy, Debug)]
pub struct SqliteOptions {
    /// Threads that read, each with a connection of its own; at least one.
    pub readers: usize,
    /// Page cache of each connection, in KiB.
    pub cache_kib: u32,
}

impl SqliteOptions {
    /// For a session's journal: little memory.
    pub const JOURNAL: Self = Self { readers: 1, cache_kib: 512 };
    /// For the ledger: more readers, more cache.
    pub const LEDGER: Self = Self { readers: 2, cache_kib: 4096 };
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self::JOURNAL
    }
}

/// Refuses a SQLite that is known to lose commits.
pub(super) fn check_library() -> Result<(), StoreError> {
    if rusqlite::version_number() >= OLDEST_LIBRARY {
        return Ok(());
    }
    let found = rusqlite::version();
    Err(StoreError::Other(format!("SQLite {found} can lose commits: build with 3.51.3 or later")))
}

/// The connection that writes. The file exists already.
pub(super) fn open_writer(path: &Path, options: SqliteOptions) -> Result<Connection, StoreError> {
    check_library()?;
    let connection = open(path, options)?;
    // The switch is the one transaction with a rollback journal: a removal of that which a power loss undoes would
    // roll back all that came later.
    connection.execute_batch("PRAGMA synchronous = EXTRA;").map_err(|why| translate(&why))?;
    use_write_ahead_log(&connection)?;
    // The writer thread checkpoints by itself, after it has answered.
    connection
        .execute_batch(
            "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = 16777216;",
        )
        .map_err(|why| translate(&why))?;
    Ok(connection)
}

/// A connection that cannot write.
pub(super) fn open_reader(path: &Path, options: SqliteOptions) -> Result<Connection, StoreError> {
    let connection = open(path, options)?;
    connection.execute_batch("PRAGMA query_only = ON;").map_err(|why| translate(&why))?;
    Ok(connection)
}

fn open(path: &Path, options: SqliteOptions) -> Result<Connection, StoreError> {
    // Readers open for writing as well: a log left by a killed process must be recovered by whoever comes first.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(|why| translate(&why))?;
    connection.busy_timeout(BUSY_TIMEOUT).map_err(|why| translate(&why))?;
    connection.set_prepared_statement_cache_capacity(128);
    let cache = options.cache_kib;
    connection
        .execute_batch(&format!(
            "PRAGMA cache_size = -{cache}; PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY;
             PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0;"
        ))
        .map_err(|why| translate(&why))?;
    Ok(connection)
}

fn use_write_ahead_log(connection: &Connection) -> Result<(), StoreError> {
    let mut last = StoreError::Busy("others keep it open in another mode".to_owned());
    connection.busy_timeout(SWITCH_WAIT).map_err(|why| translate(&why))?;
    for _ in 0..SWITCH_ATTEMPTS {
        let mode = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0));
        match mode.map_err(|why| translate(&why)) {
            Ok(mode) if mode == "wal" => {
                return connection.busy_timeout(BUSY_TIMEOUT).map_err(|why| translate(&why));
            }
            Ok(mode) => return Err(StoreError::Other(format!("no write-ahead log here, only `{mode}`"))),
            Err(busy @ StoreError::Busy(_)) => last = busy,
            Err(other) => return Err(other),
        }
        std::thread::sleep(SWITCH_WAIT);
    }
    Err(last)
}
