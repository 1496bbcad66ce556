//! What is written into the session's folder: which container there is, and that it has ended.

use super::{Identity, Leaf};
use crate::confine::Confined;
use mate_model::{
    Micros,
    containment::{Containment, HeldLimit, Means},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

/// The file that names the session's latest container; there before anything runs in it.
pub const RECORD_FILE: &str = "container.json";
/// The file in which a person states that nothing of the latest container lives.
pub const STATEMENT_FILE: &str = "container-statement.json";
/// The file that says how the latest container ended.
pub const EXIT_FILE: &str = "container-exit.json";

/// A container, as written before anything runs in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContainerRecord {
    /// How its processes are held together.
    pub means: Means,
    /// The process that starts all others, as numbered outside; with a namespace, its process 1.
    pub init: Identity,
    /// The keeper's outer process, which waits for the end and writes it down.
    pub keeper: Identity,
    /// The inode of the PID namespace of `init`; its own with that means only.
    pub namespace: u64,
    /// Whether the container has a `/proc` of its own, so that processes outside cannot be seen.
    pub own_proc: bool,
    /// How its processes are confined.
    pub confined: Confined,
    /// Its cgroup.
    pub leaf: Option<Leaf>,
    /// What its processes are limited to.
    pub limits: Vec<HeldLimit>,
}

impl ContainerRecord {
    /// How it holds its processes, for the session's record.
    #[must_use]
    pub fn containment(&self) -> Containment {
        Containment {
            means: self.means,
            with_cgroup: self.leaf.is_some(),
            limits: self.limits.clone(),
            confined: self.confined.clone(),
        }
    }
}

/// The end of a container, written by its keeper after the kernel reported it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExitRecord {
    /// Which container.
    pub container: ContainerRecord,
    /// When the keeper learned of the end.
    pub ended_at: Micros,
    /// The exit code or signal of process 1, for people.
    pub status: String,
}

/// A person's statement that nothing of a container lives, where the machine cannot prove it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatementRecord {
    /// Of which container.
    pub container: ContainerRecord,
    /// When it was stated.
    pub at: Micros,
    /// How the person knows.
    pub reason: String,
}

impl StatementRecord {
    /// Reads the statement in `folder`, if there is one.
    ///
    /// # Errors
    /// When the file is there and cannot be read or understood.
    pub fn read(folder: &Path) -> Result<Option<Self>, RecordError> {
        read(&folder.join(STATEMENT_FILE))
    }

    /// Writes the statement, durably.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), RecordError> {
        write(folder, STATEMENT_FILE, self)
    }
}

/// A file of the container that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// It cannot be read or written.
    #[error("{path}: {source}")]
    Io {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Its content is not what a keeper writes.
    #[error("{path} is damaged: {source}; see which processes of the session live, then remove the file")]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
}

impl ContainerRecord {
    /// Reads the record in `folder`, if there is one.
    ///
    /// # Errors
    /// When the file is there and cannot be read or understood.
    pub fn read(folder: &Path) -> Result<Option<Self>, RecordError> {
        read(&folder.join(RECORD_FILE))
    }

    /// Writes the record, durably.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), RecordError> {
        write(folder, RECORD_FILE, self)
    }
}

impl ExitRecord {
    /// Reads the record of the end in `folder`, if there is one.
    ///
    /// # Errors
    /// When the file is there and cannot be read or understood.
    pub fn read(folder: &Path) -> Result<Option<Self>, RecordError> {
        read(&folder.join(EXIT_FILE))
    }

    /// Writes the record, durably.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), RecordError> {
        write(folder, EXIT_FILE, self)
    }
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, RecordError> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(RecordError::Io { path: path.to_owned(), source }),
    };
    serde_json::from_slice(&bytes)
        .map(Some)
        .map_err(|source| RecordError::Damaged { path: path.to_owned(), source })
}

/// A reader sees the old file or the new one, whole; after a power loss too.
fn write<T: Serialize>(folder: &Path, name: &str, value: &T) -> Result<(), RecordError> {
    let path = folder.join(name);
    let run = || -> io::Result<()> {
        let fresh = folder.join(format!("{name}.new"));
        let mut file = File::create(&fresh)?;
        file.write_all(&serde_json::to_vec_pretty(value)?)?;
        file.sync_all()?;
        mate_fault::point!("record.before_rename");
        fs::rename(&fresh, &path)?;
        File::open(folder)?.sync_all()
    };
    run().map_err(|source| RecordError::Io { path, source })
}
