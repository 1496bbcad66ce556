//! `/healthz` and `/readyz`: for supervisors, without a token.

use crate::{
    ServerState,
    answer::Answer,
    problem::Problem,
    wire::answer::{Health, Readiness},
};
use axum::{Router, extract::State, routing::get};
use mate_engine::EngineError;

pub(super) fn routes() -> Router<ServerState> {
    Router::new().route("/healthz", get(alive)).route("/readyz", get(ready))
}

/// The process answers.
async fn alive() -> Answer {
    Answer::shown(&Health { status: "ok" })
}

/// The ledger answers too. `set_aside` counts what could not be looked after; the rest goes on.
async fn ready(State(state): State<ServerState>) -> Result<Answer, Problem> {
    state.engine.ledger.authorisation_version().await.map_err(EngineError::from)?;
    Ok(Answer::shown(&Readiness { status: "ready", set_aside: state.engine.aside.count() }))
}
