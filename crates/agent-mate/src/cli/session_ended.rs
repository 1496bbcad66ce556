//! `agent-mate session confirm-ended`: a statement on the machine itself, beside the records of the container.

use super::{
    Context,
    exit::{Exit, Failure},
};
use mate_engine::surroundings::SystemClock;
use mate_model::{Clock as _, SessionId};
use mate_runtime::container::{
    ContainerRecord, Evidence, Living, Proof, StatementRecord, in_any_container, prove_empty,
};
use serde_json::json;

/// The longest reason that is kept; characters.
const LONGEST: usize = 2_000;

/// Writes the statement; recovery takes it as the evidence it is.
pub(super) fn confirm(session: &str, reason: String, context: &Context) -> Result<Exit, Failure> {
    if i32::try_from(std::process::id()).is_ok_and(|pid| in_any_container(pid).unwrap_or(true)) {
        return Err(refused("what runs inside a session states nothing about sessions"));
    }
    let id: SessionId =
        session.parse().map_err(|_| Failure::usage("that is not the id of a session".to_owned()))?;
    if reason.trim().is_empty() || reason.chars().count() > LONGEST || reason.contains('\0') {
        return Err(Failure::usage(format!("--reason: say how you know, in 1 to {LONGEST} characters")));
    }
    let folder = context.home.session(id);
    let folder = folder.path();
    match prove_empty(folder) {
        Err(Living::Unwitnessed { .. }) => {}
        Ok(Evidence { proof: Proof::Stated { .. }, .. }) => {
            return Err(refused("it is stated already that nothing of the session lives"));
        }
        Ok(_) => {
            return Err(refused("it needs no statement: it is proved that nothing of the session lives"));
        }
        Err(living) => return Err(refused(&living.to_string())),
    }
    let record = ContainerRecord::read(folder).map_err(|error| Failure::internal(error.to_string()))?;
    let container = record.ok_or_else(|| refused("the session has had no container"))?;
    let statement = StatementRecord { container, at: SystemClock::default().now(), reason };
    statement.write(folder).map_err(|error| Failure::internal(error.to_string()))?;
    context.screen.made(
        &json!({ "id": id, "stated": statement.reason }),
        "It is on record. The coordinator now classifies what the session did.",
        &[],
    )?;
    Ok(Exit::Done)
}

fn refused(why: &str) -> Failure {
    Failure::new(Exit::Refused, "not_done", why.to_owned())
}
