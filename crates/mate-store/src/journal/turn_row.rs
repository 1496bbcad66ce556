//! A turn as a row.

use crate::{
    Row, Statement, StoreError, Value, decode,
    params::{json, params},
};
use mate_model::{
    SessionId, Transition, TurnId,
    records::Turn,
    task::StopEvidence,
    turn::{TurnEnd, TurnState, TurnStateWord},
    words::{Context, ReportStatus},
};

const ADD: &str = "INSERT INTO turns (session, id, number, task, from_state, state, report, evidence,
        own_activity, created_at)
    VALUES ($1, $2, $3, $4, '', 'starting', $5, $6, $7, $8)";
const MOVE: &str = "UPDATE turns SET from_state = state, state = $3, prompted_at = COALESCE($4, prompted_at),
        state_at = $5, end_json = $6, report = COALESCE($7, report), evidence = COALESCE($8, evidence)
    WHERE session = $1 AND id = $2 AND state = $9";
const REPORT: &str = "UPDATE turns SET report = $3 WHERE session = $1 AND id = $2";
const OWN_ACTIVITY: &str = "UPDATE turns SET own_activity = $3 WHERE session = $1 AND id = $2";
const CONTEXT: &str =
    "UPDATE turns SET context = $3, conversation = $4, note = $5 WHERE session = $1 AND id = $2";
const EVIDENCE: &str = "UPDATE turns SET evidence = $3 WHERE session = $1 AND id = $2";

/// The first row of a turn.
pub(super) fn add(session: &Value, turn: &Turn) -> Result<Statement, StoreError> {
    if turn.state != TurnState::Starting {
        return Err(StoreError::Misuse("a turn is opened in the state `starting`".to_owned()));
    }
    let evidence = turn.evidence.as_ref().map(json).transpose()?;
    Ok(Statement::one(
        ADD,
        params![
            session.clone(),
            turn.id,
            turn.number,
            turn.task,
            turn.report,
            evidence,
            turn.own_activity,
            turn.created_at
        ],
    ))
}

/// The compare-and-set that applies a move.
pub(super) fn apply(
    session: &Value,
    turn: TurnId,
    transition: &Transition<TurnState>,
    report: Option<ReportStatus>,
    evidence: Option<&StopEvidence>,
) -> Result<Statement, StoreError> {
    let (at, end): (_, Option<&TurnEnd>) = match transition.to() {
        TurnState::Starting => (None, None),
        TurnState::Prompted { at } => (Some(*at), None),
        TurnState::Settling { end, at } | TurnState::Ended { end, at } => (Some(*at), Some(end)),
    };
    let word = transition.to().word();
    let prompted = if word == TurnStateWord::Prompted { at } else { None };
    let (end, evidence) = (end.map(json).transpose()?, evidence.map(json).transpose()?);
    let from = transition.from().word();
    Ok(Statement::one(MOVE, params![session.clone(), turn, word, prompted, at, end, report, evidence, from]))
}

/// Writes what the agent reported.
pub(super) fn report(session: &Value, turn: TurnId, status: ReportStatus) -> Statement {
    Statement::one(REPORT, params![session.clone(), turn, status])
}

/// Writes how many of the runtime's own tools are at work.
pub(super) fn own_activity(session: &Value, turn: TurnId, count: i64) -> Statement {
    Statement::one(OWN_ACTIVITY, params![session.clone(), turn, count])
}

/// Writes what the runtime knows of the conversation, and the note that the prompt begins with.
pub(super) fn context(
    session: &Value,
    turn: TurnId,
    context: Context,
    conversation: Option<&str>,
    note: Option<&str>,
) -> Statement {
    Statement::one(CONTEXT, params![session.clone(), turn, context, conversation, note])
}

/// Writes what proves that the container is empty.
pub(super) fn evidence(
    session: &Value,
    turn: TurnId,
    evidence: &StopEvidence,
) -> Result<Statement, StoreError> {
    Ok(Statement::one(EVIDENCE, params![session.clone(), turn, json(evidence)?]))
}

/// Reads a turn.
pub(super) fn decode(row: &Row) -> Result<Turn, StoreError> {
    let at = || decode::micros(row, "state_at");
    let end = || decode::json(row, "end_json");
    let state = match row.parse("state")? {
        TurnStateWord::Starting => TurnState::Starting,
        TurnStateWord::Prompted => TurnState::Prompted { at: at()? },
        TurnStateWord::Settling => TurnState::Settling { end: end()?, at: at()? },
        TurnStateWord::Ended => TurnState::Ended { end: end()?, at: at()? },
    };
    Ok(Turn {
        id: row.parse("id")?,
        number: row.int("number")?,
        task: row.parse("task")?,
        state,
        report: row.opt_parse("report")?,
        own_activity: row.int("own_activity")?,
        evidence: decode::opt_json(row, "evidence")?,
        context: row.opt_parse("context")?,
        conversation: row.opt_text("conversation")?.map(str::to_owned),
        note: row.opt_text("note")?.map(str::to_owned),
        created_at: decode::micros(row, "created_at")?,
    })
}

/// The session as a parameter, made once per writer or reader.
pub(super) fn key(session: SessionId) -> Value {
    Value::from(session)
}
