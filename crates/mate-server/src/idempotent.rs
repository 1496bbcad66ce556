//! POSTs with an idempotency key: a repeated one gets the first answer, also after a crash.

use crate::{
    ServerState,
    answer::Answer,
    extract::{Ask, Caller, id_for},
    problem::Problem,
};
use http::StatusCode;
use mate_engine::{EngineError, Verb};
use mate_store::Claim;
use serde_json::Value;
use uuid::Uuid;

/// What a POST brought about.
#[derive(Debug)]
pub(crate) struct Made {
    status: StatusCode,
    /// What may be told again.
    body: Value,
    /// A field that is told once: its name and its value.
    secret: Option<(&'static str, String)>,
}

impl Made {
    /// Something new.
    pub(crate) const fn created(body: Value) -> Self {
        Self { status: StatusCode::CREATED, body, secret: None }
    }

    /// A change of something that was there.
    pub(crate) const fn changed(body: Value) -> Self {
        Self { status: StatusCode::OK, body, secret: None }
    }

    /// With a field that is shown this once.
    pub(crate) fn showing(self, field: &'static str, secret: Option<String>) -> Self {
        Self { secret: secret.map(|secret| (field, secret)), ..self }
    }

    fn answer(self) -> Answer {
        let mut body = self.body;
        if let Some((field, secret)) = self.secret {
            body[field] = secret.into();
        }
        Answer { status: self.status, body, replayed: false }
    }
}

/// Runs `act` at most once for each key, and answers as the first time. `act` gets the id for what it makes; with
/// a key it is always the same one, and `act` finds by it what it made already.
pub(crate) async fn post<F>(
    state: &ServerState,
    caller: &Caller,
    ask: &Ask,
    body: &[u8],
    act: impl FnOnce(Uuid) -> F,
) -> Result<Answer, Problem>
where
    F: Future<Output = Result<Made, EngineError>>,
{
    let Some(key) = ask.keyed(&caller.who, body) else {
        return Ok(act(state.engine.entropy.uuid()).await?.answer());
    };
    let ledger = &state.engine.ledger;
    let now = state.engine.clock.now();
    let claim = ledger.claim(&key, now).await.map_err(EngineError::from)?;
    let fresh = claim == Claim::Fresh;
    let claimed_at = match claim {
        Claim::Mismatch => return Err(EngineError::KeyReused.into()),
        Claim::Replay { status, body } => {
            let answer = replay(status, &body)?;
            // The address was judged again; a project that only the body names was not.
            if let Some(project) = answer.body["project"].as_str().and_then(|id| id.parse().ok()) {
                state.engine.demand(&caller.who, project, Verb::ProjectShow).await?;
            }
            return Ok(answer);
        }
        Claim::Fresh => now,
        // At the same moment, or by a process that died. Either way `act` finds what was made.
        Claim::InProgress { since } => since.unwrap_or(now),
    };
    match act(id_for(&key, claimed_at)).await {
        Ok(made) => {
            let kept = ledger.finish(&key, made.status.as_u16(), &made.body.to_string()).await;
            kept.map_err(EngineError::from)?;
            Ok(made.answer())
        }
        Err(error) => {
            if fresh && let Err(kept) = ledger.release(&key).await {
                tracing::warn!(%kept, "an idempotency key could not be given back");
            }
            Err(error.into())
        }
    }
}

fn replay(status: u16, body: &str) -> Result<Answer, Problem> {
    let body = serde_json::from_str(body)
        .map_err(|error| EngineError::Internal(format!("an answer that was kept cannot be read: {error}")))?;
    let status = StatusCode::from_u16(status)
        .map_err(|error| EngineError::Internal(format!("a status that was kept cannot be read: {error}")))?;
    Ok(Answer { status, body, replayed: true })
}
