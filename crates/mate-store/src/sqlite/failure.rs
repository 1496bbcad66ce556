//! SQLite's errors in the words of the port.

use crate::{ConstraintKind, StoreError};
use rusqlite::ffi;

/// An error before the commit: nothing was written.
pub(super) fn translate(error: &rusqlite::Error) -> StoreError {
    let said = error.to_string();
    let Some(code) = error.sqlite_error().map(|raw| raw.extended_code) else {
        return StoreError::Misuse(said);
    };
    if let Some(kind) = constraint(code) {
        return StoreError::Constraint { kind, detail: said };
    }
    if code == ffi::SQLITE_IOERR_SHMSIZE {
        return StoreError::Full(said);
    }
    match code & 0xff {
        ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED | ffi::SQLITE_PROTOCOL | ffi::SQLITE_INTERRUPT => {
            StoreError::Busy(said)
        }
        ffi::SQLITE_FULL => StoreError::Full(said),
        ffi::SQLITE_READONLY | ffi::SQLITE_PERM => StoreError::ReadOnly(said),
        ffi::SQLITE_CANTOPEN | ffi::SQLITE_IOERR | ffi::SQLITE_NOMEM => {
            StoreError::Unavailable { why: said, maybe_committed: false }
        }
        ffi::SQLITE_CORRUPT | ffi::SQLITE_NOTADB => StoreError::Damaged(said),
        ffi::SQLITE_ERROR | ffi::SQLITE_TOOBIG | ffi::SQLITE_RANGE | ffi::SQLITE_MISUSE => {
            StoreError::Misuse(said)
        }
        _ => StoreError::Other(said),
    }
}

/// An error of the commit itself. When the log was written and could not be made durable, the next start
/// may still find it whole.
pub(super) fn translate_commit(error: &rusqlite::Error) -> StoreError {
    let mut error = translate(error);
    if let StoreError::Unavailable { maybe_committed, .. } = &mut error {
        *maybe_committed = true;
    }
    error
}

const fn constraint(extended: i32) -> Option<ConstraintKind> {
    if extended & 0xff != ffi::SQLITE_CONSTRAINT {
        return None;
    }
    Some(match extended {
        ffi::SQLITE_CONSTRAINT_UNIQUE | ffi::SQLITE_CONSTRAINT_PRIMARYKEY | ffi::SQLITE_CONSTRAINT_ROWID => {
            ConstraintKind::Unique
        }
        ffi::SQLITE_CONSTRAINT_FOREIGNKEY => ConstraintKind::ForeignKey,
        ffi::SQLITE_CONSTRAINT_NOTNULL => ConstraintKind::NotNull,
        // CHECK, a value of the wrong type in a STRICT table, and what a trigger raises.
        _ => ConstraintKind::Check,
    })
}
