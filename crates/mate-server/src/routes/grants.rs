//! `/grants`

use super::table::Routes;
use crate::{
    ServerState,
    answer::Answer,
    extract::{Ask, Body, Caller, Query, Segments, paging},
    idempotent::{self, Made},
    problem::Problem,
    views,
    wire::{AddGrant, Stop},
};
use axum::extract::State;
use mate_engine::{
    Verb,
    admin::{NewGrant, NewTerms},
};
use mate_model::words::ApprovalMode;
use serde::Deserialize;

const LIST: &str = "grants";

pub(super) fn routes(routes: Routes) -> Routes {
    routes
        .get("/grants", Verb::GrantList, list)
        .post("/grants", Verb::GrantAdd, add)
        .get("/grants/{grant}", Verb::GrantShow, show)
        .post("/grants/{grant}/revoke", Verb::GrantRevoke, revoke)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Which {
    project: Option<String>,
    #[serde(default)]
    all: bool,
    cursor: Option<String>,
    limit: Option<u32>,
}

async fn list(
    State(state): State<ServerState>,
    caller: Caller,
    Query(query): Query<Which>,
) -> Result<Answer, Problem> {
    let page = paging(LIST, query.cursor.as_deref(), query.limit)?;
    let list = state.engine.grants(&caller.who, query.project.as_deref(), query.all, &page).await?;
    let now = state.engine.clock.now();
    Ok(Answer::list(LIST, list, |grant| views::grant(grant, now)))
}

async fn show(
    State(state): State<ServerState>,
    caller: Caller,
    Segments(grant): Segments<String>,
) -> Result<Answer, Problem> {
    let grant = state.engine.grant(&caller.who, &grant).await?;
    Ok(Answer::ok(views::grant(grant, state.engine.clock.now())))
}

async fn add(
    State(state): State<ServerState>,
    caller: Caller,
    ask: Ask,
    Body(wish, bytes): Body<AddGrant>,
) -> Result<Answer, Problem> {
    idempotent::post(&state, &caller, &ask, &bytes, async |id| {
        let AddGrant { project, connection, tools, effect, approve, expires, max_calls, needs_permit } = wish;
        let approve = approve.unwrap_or(ApprovalMode::Never);
        let terms = NewTerms { needs_permit };
        let new = NewGrant { project, connection, tools, effect, approve, expires, max_calls, terms };
        let grant = state.engine.add_grant(&caller.who, id, new).await?;
        Ok(Made::created(views::grant(grant, state.engine.clock.now())))
    })
    .await
}

async fn revoke(
    State(state): State<ServerState>,
    caller: Caller,
    Segments(grant): Segments<String>,
    ask: Ask,
    Body(_, bytes): Body<Stop>,
) -> Result<Answer, Problem> {
    idempotent::post(&state, &caller, &ask, &bytes, async |_| {
        let grant = state.engine.revoke_grant(&caller.who, &grant).await?;
        Ok(Made::changed(views::grant(grant, state.engine.clock.now())))
    })
    .await
}
