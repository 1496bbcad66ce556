//! Successes that the runtime has not heard of, as rows; with the result, sealed, where there is one.

use crate::{Statement, Value, params::params};
use mate_model::{
    Transition,
    operation::{OperationState, OperationStateWord},
    words::EvidenceKind,
};

const KEEP: &str = "INSERT INTO kept_results (session, call_key, number, sealed)
    VALUES ($1, (SELECT o.call_key FROM operations o WHERE o.session = $1 AND o.number = $2), $2, $3)
    ON CONFLICT (session, call_key, number) DO UPDATE SET sealed = excluded.sealed";
const NOTE: &str = "INSERT INTO kept_results (session, call_key, number, sealed)
    VALUES ($1, (SELECT o.call_key FROM operations o WHERE o.session = $1 AND o.number = $2), $2, NULL)
    ON CONFLICT (session, call_key, number) DO NOTHING";
const DROP: &str = "DELETE FROM kept_results WHERE session = $1 AND number = $2
    AND call_key = (SELECT o.call_key FROM operations o WHERE o.session = $1 AND o.number = $2)";

/// Keeps a result, or only that there was a success.
pub(super) fn keep(session: &Value, number: i64, sealed: Option<&[u8]>) -> Statement {
    Statement::one(KEEP, params![session.clone(), number, sealed.map(<[u8]>::to_vec)])
}

/// Notes a success that nobody has been told of; what was kept of it stays.
pub(super) fn note(session: &Value, number: i64) -> Statement {
    Statement::any(NOTE, params![session.clone(), number])
}

/// The runtime has heard of it.
pub(super) fn drop(session: &Value, number: i64) -> Statement {
    Statement::any(DROP, params![session.clone(), number])
}

/// Whether a move tells of a success that the runtime, which was told of an uncertainty, does not know yet. The
/// success of an allowed repeat is told with the repeat.
pub(super) fn is_news(transition: &Transition<OperationState>) -> bool {
    let OperationState::Succeeded { evidence } = transition.to() else { return false };
    transition.from().word() == OperationStateWord::Unknown && evidence.kind != EvidenceKind::Repeat
}
