//! `/set-aside`: what the coordinator could not look after.

use super::table::Routes;
use crate::{
    ServerState, answer::Answer, describe::Doc, extract::Caller, problem::Problem, time::rfc3339,
    wire::answer::SetAside,
};
use axum::extract::State;
use mate_engine::{Verb, aside::Stuck};
use serde_json::json;

pub(super) fn routes(routes: Routes) -> Routes {
    routes.get("/set-aside", Verb::AsideList, list, Doc::lists::<SetAside>())
}

async fn list(State(state): State<ServerState>, caller: Caller) -> Result<Answer, Problem> {
    let stuck = state.engine.set_aside(&caller.who).await?;
    let view = |Stuck { session, why, since }: Stuck| SetAside { session, why, since: rfc3339(since) };
    let items: Vec<_> = stuck.into_iter().map(view).collect();
    Ok(Answer::ok(json!({ "items": items, "next": null })))
}
