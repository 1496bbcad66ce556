//! `/set-aside`: what the coordinator could not look after.

use super::table::Routes;
use crate::{ServerState, answer::Answer, extract::Caller, problem::Problem, time::rfc3339};
use axum::extract::State;
use mate_engine::{Verb, aside::Stuck};
use serde_json::json;

pub(super) fn routes(routes: Routes) -> Routes {
    routes.get("/set-aside", Verb::AsideList, list)
}

async fn list(State(state): State<ServerState>, caller: Caller) -> Result<Answer, Problem> {
    let stuck = state.engine.set_aside(&caller.who).await?;
    let view = |Stuck { session, why, since }: Stuck| json!({ "session": session, "why": why, "since": rfc3339(since) });
    let items: Vec<_> = stuck.into_iter().map(view).collect();
    Ok(Answer::ok(json!({ "items": items, "next": null })))
}
