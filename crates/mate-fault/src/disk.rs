//! What the program does to its own files, told to a test that replays it as a power loss would leave it.
//! SQLite's files are not told of here: a test sees those through a VFS of its own.

use std::path::Path;

/// One thing that was done to a file or a folder.
#[derive(Clone, Copy, Debug)]
pub enum Note<'a> {
    /// A folder was made.
    Folder(&'a Path),
    /// An empty file was made.
    File(&'a Path),
    /// Bytes were written at a place.
    Wrote {
        /// Where the file is.
        path: &'a Path,
        /// From which byte on.
        at: u64,
        /// What.
        bytes: &'a [u8],
    },
    /// A file was cut, or made longer with zeros.
    Resized {
        /// Where the file is.
        path: &'a Path,
        /// Its length now, in bytes.
        length: u64,
    },
    /// A file's content was synced.
    Synced(&'a Path),
    /// A folder's entries were synced.
    SyncedFolder(&'a Path),
    /// A file has another name as well.
    Linked {
        /// The name that it had.
        from: &'a Path,
        /// The further one.
        to: &'a Path,
    },
    /// A name was removed.
    Removed(&'a Path),
}

/// Who hears of it.
pub type Listener = fn(Note<'_>);

#[cfg(feature = "points")]
static LISTENER: std::sync::OnceLock<Listener> = std::sync::OnceLock::new();

/// From now on this listener hears of what is done. The first one stays.
#[cfg(feature = "points")]
pub fn listen(listener: Listener) {
    let _ = LISTENER.set(listener);
}

/// Tells of what was done. Compiled to nothing without the feature `points`.
#[inline]
pub fn note(what: Note<'_>) {
    #[cfg(feature = "points")]
    if let Some(listener) = LISTENER.get() {
        listener(what);
    }
    #[cfg(not(feature = "points"))]
    let _ = what;
}
