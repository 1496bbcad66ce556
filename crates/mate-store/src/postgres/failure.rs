//! PostgreSQL's errors in the words of the port.

use super::value::WrongType;
use crate::{ConstraintKind, StoreError};
use std::error::Error as _;
use tokio_postgres::error::DbError;

/// An error before the commit: nothing was written.
pub(super) fn translate(error: &tokio_postgres::Error) -> StoreError {
    if let Some(said) = error.as_db_error() {
        return translate_said(said);
    }
    if error.source().is_some_and(|why| why.downcast_ref::<WrongType>().is_some()) {
        return StoreError::Misuse(with_source(error));
    }
    StoreError::Unavailable { why: with_source(error), maybe_committed: false }
}

/// An error of the commit itself: only a clear refusal by the server proves that nothing was written.
pub(super) fn translate_commit(error: &tokio_postgres::Error) -> StoreError {
    let refused =
        error.as_db_error().is_some_and(|said| matches!(said.code().code().get(..2), Some("23" | "40")));
    match translate(error) {
        known if refused => known,
        unsure => StoreError::Unavailable { why: unsure.to_string(), maybe_committed: true },
    }
}

/// True for the two errors after which the same transaction may simply be run again.
pub(super) fn is_conflict(error: &tokio_postgres::Error) -> bool {
    error.code().is_some_and(|code| matches!(code.code(), "40001" | "40P01"))
}

/// True for what concurrent `CREATE TABLE IF NOT EXISTS` can end with.
pub(super) fn is_made_already(error: &tokio_postgres::Error) -> bool {
    error.code().is_some_and(|code| matches!(code.code(), "23505" | "42P07" | "42710"))
}

fn translate_said(said: &DbError) -> StoreError {
    let code = said.code().code();
    let text = format!("{} ({code})", said.message());
    let kind = match code {
        "23505" => Some(ConstraintKind::Unique),
        "23503" => Some(ConstraintKind::ForeignKey),
        "23502" => Some(ConstraintKind::NotNull),
        _ if code.starts_with("23") => Some(ConstraintKind::Check),
        _ => None,
    };
    if let Some(kind) = kind {
        return StoreError::Constraint { kind, detail: text };
    }
    match code {
        "40001" | "40P01" | "55P03" | "57014" | "53300" | "25P03" => StoreError::Busy(text),
        "53100" => StoreError::Full(text),
        "3D000" => StoreError::Unavailable {
            why: format!("{text}: create the database, as with `createdb`, or correct `store.database`"),
            maybe_committed: false,
        },
        "25006" => StoreError::ReadOnly(text),
        "XX001" | "XX002" => StoreError::Damaged(text),
        _ => match code.get(..2) {
            Some("08" | "28" | "3D" | "53" | "57" | "58") => {
                StoreError::Unavailable { why: text, maybe_committed: false }
            }
            Some("22" | "42") => StoreError::Misuse(text),
            _ => StoreError::Other(text),
        },
    }
}

fn with_source(error: &tokio_postgres::Error) -> String {
    error.source().map_or_else(|| error.to_string(), |why| format!("{error}: {why}"))
}
