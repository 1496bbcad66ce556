//! What was done to the files of one home, in order, with what was said to others in between.

use mate_fault::disk::Note;
use mate_model::{OperationId, TaskId, TurnId};
use std::{
    path::{Path, PathBuf},
    sync::{Mutex, OnceLock},
};

/// One thing that was done, or said.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    Folder(PathBuf),
    File(PathBuf),
    Wrote(PathBuf, u64, Vec<u8>),
    Resized(PathBuf, u64),
    Synced(PathBuf),
    SyncedFolder(PathBuf),
    Linked(PathBuf, PathBuf),
    Removed(PathBuf),
    Said(Mark),
}

/// What somebody else knows from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// A caller was told that the task is accepted.
    Submitted(TaskId),
    /// The prompt went out.
    Prompted(TurnId),
    /// The call went out.
    Sent(OperationId),
    /// The upstream answered.
    Answered(OperationId),
    /// The runtime heard the answer.
    Told(OperationId),
    /// The task ended, and its callers know.
    Ended(TaskId),
}

static ROOT: OnceLock<PathBuf> = OnceLock::new();
static EVENTS: Mutex<Vec<Event>> = Mutex::new(Vec::new());

/// Begins to record what happens below `root`.
pub(crate) fn begin(root: &Path) {
    ROOT.set(root.to_owned()).expect("one record for each process");
    mate_fault::disk::listen(|note_| {
        let own = |path: &Path| path.to_owned();
        let event = match note_ {
            Note::Folder(path) => Event::Folder(own(path)),
            Note::File(path) => Event::File(own(path)),
            Note::Wrote { path, at, bytes } => Event::Wrote(own(path), at, bytes.to_vec()),
            Note::Resized { path, length } => Event::Resized(own(path), length),
            Note::Synced(path) => Event::Synced(own(path)),
            Note::SyncedFolder(path) => Event::SyncedFolder(own(path)),
            Note::Linked { from, to } => Event::Linked(own(from), own(to)),
            Note::Removed(path) => Event::Removed(own(path)),
        };
        if event.path().is_some_and(is_recorded) {
            note(event);
        }
    });
}

/// Whether the path is below the recorded folder.
pub(crate) fn is_recorded(path: &Path) -> bool {
    ROOT.get().is_some_and(|root| path.starts_with(root))
}

pub(crate) fn note(event: Event) {
    EVENTS.lock().expect("no panic under it").push(event);
}

pub(crate) fn say(mark: Mark) {
    note(Event::Said(mark));
}

/// Everything so far.
pub(crate) fn events() -> Vec<Event> {
    EVENTS.lock().expect("no panic under it").clone()
}

impl Event {
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::Folder(path)
            | Self::File(path)
            | Self::Wrote(path, ..)
            | Self::Resized(path, _)
            | Self::Synced(path)
            | Self::SyncedFolder(path)
            | Self::Linked(path, _)
            | Self::Removed(path) => Some(path),
            Self::Said(_) => None,
        }
    }
}
