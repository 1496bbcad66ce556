//! `/set-aside`: what the coordinator could not look after.

use crate::{ServerState, answer::Answer, extract::Caller, problem::Problem, time::rfc3339};
use axum::{Router, extract::State, routing::get};
use mate_engine::aside::Stuck;
use serde_json::json;

pub(super) fn routes() -> Router<ServerState> {
    Router::new().route("/set-aside", get(list))
}

async fn list(State(state): State<ServerState>, caller: Caller) -> Result<Answer, Problem> {
    let stuck = state.engine.set_aside(&caller.who)?;
    let view = |Stuck { session, why, since }: Stuck| json!({ "session": session, "why": why, "since": rfc3339(since) });
    let items: Vec<_> = stuck.into_iter().map(view).collect();
    Ok(Answer::ok(json!({ "items": items, "next": null })))
}
