//! An operation as a row.

use super::{OperationFacts, operations::call_key};
use crate::{
    Row, Statement, StoreError, Value, decode,
    params::{json, params},
};
use mate_model::{
    Micros, OperationId, SessionId, Transition,
    operation::{Evidence, OperationState, OperationStateWord},
    records::Operation,
    words::DenyReason,
};

const ADD: &str = "INSERT INTO operations (session, number, task, turn, connection, connection_name, tool, class,
        grant_id, decision, runtime_call, trace, digest, call_key, shape, from_state, state, deny_reason, detail,
        expires_at, evidence, requested_at, admitted_at, sent_at, answered_at, recorded_at, duration_us,
        result_size, result_type, repeats, repeat_permitted)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, 'requested', $16, $17, $18, $19,
        NULL, $20, $21, $22, $23, $24, $25, $26, $27, $28, 0)";

const MOVE: &str = "UPDATE operations SET from_state = state, state = $3, deny_reason = $4,
        detail = COALESCE($5, detail), expires_at = COALESCE($6, expires_at), evidence = $7,
        admitted_at = COALESCE($8, admitted_at), recorded_at = $9, sent_at = COALESCE($10, sent_at),
        answered_at = COALESCE($11, answered_at), duration_us = COALESCE($12, duration_us),
        result_size = COALESCE($13, result_size), result_type = COALESCE($14, result_type)
    WHERE session = $1 AND number = $2 AND state = $15";

const DECIDE: &str = "UPDATE operations SET decision = $3 WHERE session = $1 AND number = $2";
const PERMIT: &str = "UPDATE operations SET repeat_permitted = 1 WHERE session = $1 AND number = $2";

/// What a state's data is in columns.
struct Columns<'a> {
    deny: Option<DenyReason>,
    detail: Option<&'a str>,
    expires: Option<Micros>,
    evidence: Option<&'a Evidence>,
    admitted: Option<Micros>,
    recorded: Option<Micros>,
}

fn columns(transition: &Transition<OperationState>) -> Columns<'_> {
    let at = transition.at();
    let over = Columns {
        deny: None,
        detail: None,
        expires: None,
        evidence: None,
        admitted: None,
        recorded: Some(at),
    };
    match transition.to() {
        OperationState::Requested => Columns { recorded: None, ..over },
        OperationState::Denied { reason, detail } => {
            Columns { deny: Some(*reason), detail: Some(detail), ..over }
        }
        OperationState::AwaitingApproval { expires } => {
            Columns { expires: Some(*expires), recorded: None, ..over }
        }
        OperationState::Expired | OperationState::Withdrawn => over,
        OperationState::InFlight => Columns { admitted: Some(at), recorded: None, ..over },
        OperationState::Succeeded { evidence }
        | OperationState::Failed { evidence }
        | OperationState::NotSent { evidence }
        | OperationState::Abandoned { evidence } => Columns { evidence: Some(evidence), ..over },
        OperationState::Unknown { detail } => Columns { detail: Some(detail), ..over },
    }
}

fn place(id: OperationId) -> Result<i64, StoreError> {
    i64::try_from(id.number)
        .map_err(|_| StoreError::Misuse("an operation's number is out of range".to_owned()))
}

/// The number of an operation of this session.
pub(super) fn number(session: SessionId, id: OperationId) -> Result<i64, StoreError> {
    if id.session != session {
        return Err(StoreError::Misuse("an operation of another session".to_owned()));
    }
    place(id)
}

/// The first row of an operation.
pub(super) fn add(
    session: SessionId,
    key: &Value,
    operation: &Operation,
    transition: &Transition<OperationState>,
) -> Result<Statement, StoreError> {
    if *transition.from() != OperationState::Requested || *transition.to() != operation.state {
        return Err(StoreError::Misuse(
            "an operation is born with the state that its move leads to".to_owned(),
        ));
    }
    let to = columns(transition);
    let call = call_key(&operation.connection_name, &operation.tool, &operation.digest);
    let values = params![
        key.clone(),
        number(session, operation.id)?,
        operation.task,
        operation.turn,
        operation.connection,
        operation.connection_name.as_str(),
        operation.tool.as_str(),
        operation.class,
        operation.grant,
        json(&operation.decision)?,
        operation.runtime_call.as_deref(),
        operation.trace.as_str(),
        operation.digest.as_str(),
        call.to_vec(),
        json(&operation.shape)?,
        operation.state.word(),
        to.deny,
        to.detail,
        to.expires,
        operation.requested_at,
        to.admitted,
        operation.sent_at,
        operation.answered_at,
        to.recorded,
        operation.duration_us,
        operation.result_size,
        operation.result_type.as_deref(),
        operation.repeats.map(|id| id.to_string()),
    ];
    Ok(Statement::one(ADD, values))
}

/// The compare-and-set that applies a move.
pub(super) fn apply(
    session: SessionId,
    key: &Value,
    id: OperationId,
    transition: &Transition<OperationState>,
    facts: &OperationFacts,
) -> Result<Statement, StoreError> {
    let to = columns(transition);
    let values = params![
        key.clone(),
        number(session, id)?,
        transition.to().word(),
        to.deny,
        to.detail,
        to.expires,
        to.evidence.map(json).transpose()?,
        to.admitted,
        to.recorded,
        facts.sent_at,
        facts.answered_at,
        facts.duration_us,
        facts.result_size,
        facts.result_type.as_deref(),
        transition.from().word(),
    ];
    Ok(Statement::one(MOVE, values))
}

/// Notes that one identical call is allowed.
pub(super) fn permit_repeat(session: &Value, number: i64) -> Statement {
    Statement::one(PERMIT, params![session.clone(), number])
}

/// Notes what decided, at the second read as well.
pub(super) fn decide(
    session: &Value,
    number: i64,
    decision: &serde_json::Value,
) -> Result<Statement, StoreError> {
    Ok(Statement::one(DECIDE, params![session.clone(), number, json(decision)?]))
}

/// Reads an operation.
pub(super) fn decode(row: &Row) -> Result<Operation, StoreError> {
    let number: u64 = row.number("number")?;
    Ok(Operation {
        id: OperationId { session: row.parse("session")?, number },
        task: row.parse("task")?,
        turn: row.parse("turn")?,
        connection: row.opt_parse("connection")?,
        connection_name: row.text("connection_name")?.to_owned(),
        tool: row.text("tool")?.to_owned(),
        class: row.parse("class")?,
        grant: row.opt_parse("grant_id")?,
        decision: decode::json(row, "decision")?,
        runtime_call: row.opt_text("runtime_call")?.map(str::to_owned),
        trace: row.text("trace")?.to_owned(),
        digest: row.text("digest")?.to_owned(),
        shape: decode::json(row, "shape")?,
        state: state(row)?,
        requested_at: decode::micros(row, "requested_at")?,
        admitted_at: decode::opt_micros(row, "admitted_at")?,
        sent_at: decode::opt_micros(row, "sent_at")?,
        answered_at: decode::opt_micros(row, "answered_at")?,
        recorded_at: decode::opt_micros(row, "recorded_at")?,
        duration_us: row.opt_int("duration_us")?,
        result_size: row.opt_int("result_size")?,
        result_type: row.opt_text("result_type")?.map(str::to_owned),
        repeats: row.opt_parse("repeats")?,
        repeat_permitted: row.flag("repeat_permitted")?,
    })
}

fn state(row: &Row) -> Result<OperationState, StoreError> {
    let detail = || row.text("detail").map(str::to_owned);
    let evidence = || decode::json(row, "evidence");
    Ok(match row.parse("state")? {
        OperationStateWord::Requested => return Err(row.corrupt("state", "`requested` is never stored")),
        OperationStateWord::Denied => {
            OperationState::Denied { reason: row.parse("deny_reason")?, detail: detail()? }
        }
        OperationStateWord::AwaitingApproval => {
            OperationState::AwaitingApproval { expires: decode::micros(row, "expires_at")? }
        }
        OperationStateWord::Expired => OperationState::Expired,
        OperationStateWord::Withdrawn => OperationState::Withdrawn,
        OperationStateWord::InFlight => OperationState::InFlight,
        OperationStateWord::Succeeded => OperationState::Succeeded { evidence: evidence()? },
        OperationStateWord::Failed => OperationState::Failed { evidence: evidence()? },
        OperationStateWord::NotSent => OperationState::NotSent { evidence: evidence()? },
        OperationStateWord::Unknown => OperationState::Unknown { detail: detail()? },
        OperationStateWord::Abandoned => OperationState::Abandoned { evidence: evidence()? },
    })
}
