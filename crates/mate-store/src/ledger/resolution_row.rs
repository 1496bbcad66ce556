//! A resolution as a row.

use crate::{
    Row, Statement, StoreError, decode,
    params::{json, params},
};
use mate_model::resolution::{Contradiction, Finding, Resolution};

/// The columns of a resolution, for a SELECT.
macro_rules! columns {
    () => {
        "operation, number, project, task, verdict, evidence, proof, permit_repeat, at, applied_at, \
         contradictions, contradiction, contradiction_open"
    };
}
pub(super) use columns;

const ADD: &str =
    "INSERT INTO resolutions (operation, session, number, project, task, verdict, evidence, proof,
        permit_repeat, at, applied_at, contradictions, contradiction, contradiction_open)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, NULL, 0, NULL, 0)";
const CONTRADICT: &str =
    "UPDATE resolutions SET contradictions = $2, contradiction = $3, contradiction_open = $4
    WHERE operation = $1 AND contradictions = $5 AND contradiction_open = $6";

/// The insert of a resolution.
pub(super) fn add(resolution: &Resolution) -> Result<Statement, StoreError> {
    let id = resolution.operation;
    let number = i64::try_from(id.number)
        .map_err(|_| StoreError::Misuse("an operation's number is out of range".to_owned()))?;
    let finding = &resolution.finding;
    Ok(Statement::one(
        ADD,
        params![
            id,
            id.session,
            number,
            resolution.project,
            resolution.task,
            finding.verdict,
            json(&finding.evidence)?,
            finding.proof.as_deref(),
            finding.permit_repeat,
            resolution.at,
        ],
    ))
}

/// Puts the contradiction beside a resolution that stands as it was read.
pub(super) fn contradict(
    resolution: &Resolution,
    contradiction: &Contradiction,
) -> Result<Statement, StoreError> {
    let acknowledges = contradiction.acknowledgement.is_some();
    Ok(Statement::one(
        CONTRADICT,
        params![
            resolution.operation,
            resolution.contradictions + i64::from(!acknowledges),
            json(contradiction)?,
            !acknowledges,
            resolution.contradictions,
            resolution.open_contradiction().is_some(),
        ],
    ))
}

/// Reads a resolution.
pub(super) fn decode(row: &Row) -> Result<Resolution, StoreError> {
    let resolution = Resolution {
        operation: row.parse("operation")?,
        project: row.parse("project")?,
        task: row.parse("task")?,
        finding: Finding {
            verdict: row.parse("verdict")?,
            evidence: decode::json(row, "evidence")?,
            proof: row.opt_text("proof")?.map(str::to_owned),
            permit_repeat: row.flag("permit_repeat")?,
        },
        at: decode::micros(row, "at")?,
        applied_at: decode::opt_micros(row, "applied_at")?,
        contradictions: row.int("contradictions")?,
        contradiction: decode::opt_json(row, "contradiction")?,
    };
    if row.flag("contradiction_open")? != resolution.open_contradiction().is_some() {
        return Err(row.corrupt("contradiction_open", "it is not what the contradiction says"));
    }
    Ok(resolution)
}
