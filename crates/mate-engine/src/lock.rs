//! The session's lock: held means that a worker lives, or that somebody classifies after one.
//!
//! The lock belongs to an open file, so it can be handed to a new process as its standard input, and the
//! kernel lets go of it when the last holder is gone, however it went.

use crate::SessionFolder;
use std::{
    fs::{File, OpenOptions, TryLockError},
    io,
    os::unix::fs::OpenOptionsExt,
};

/// The held lock of one session.
#[derive(Debug)]
pub struct SessionLock(File);

impl SessionLock {
    /// Takes the lock, or says that somebody has it (`None`).
    ///
    /// # Errors
    /// What the file system says.
    pub fn try_take(folder: &SessionFolder) -> io::Result<Option<Self>> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(folder.lock())?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// The file, to be handed on.
    #[must_use]
    pub fn into_file(self) -> File {
        self.0
    }

    /// A lock that was handed on: checked by taking it again, which succeeds for the same open file alone.
    ///
    /// # Errors
    /// That the lock is somebody else's.
    pub fn handed(file: File, folder: &SessionFolder) -> io::Result<Self> {
        file.try_lock().map_err(|_| io::Error::other("the session's lock was not handed over"))?;
        match Self::try_take(folder)? {
            None => Ok(Self(file)),
            Some(_) => Err(io::Error::other("the file that was handed over is not the session's lock")),
        }
    }
}
