//! `/approvals`

use super::table::Routes;
use crate::{
    ServerState,
    answer::Answer,
    extract::{Ask, Body, Caller, Query, Segments, paging},
    idempotent::{self, Made},
    problem::Problem,
    views,
    wire::{AnswerApproval, Stop},
};
use axum::extract::State;
use mate_engine::{EngineError, Verb};
use mate_model::ApprovalId;
use serde::Deserialize;

const LIST: &str = "approvals";

pub(super) fn routes(routes: Routes) -> Routes {
    routes
        .get("/approvals", Verb::ApprovalList, list)
        .get("/approvals/{approval}", Verb::ApprovalShow, show)
        .post("/approvals/{approval}", Verb::ApprovalAnswer, answer)
        .post("/approvals/{approval}/revoke", Verb::ApprovalRevoke, revoke)
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

/// What cannot be an id names nothing that exists.
fn id(text: &str) -> Result<ApprovalId, EngineError> {
    text.parse().map_err(|_| EngineError::NotFound)
}

async fn list(
    State(state): State<ServerState>,
    caller: Caller,
    Query(query): Query<Which>,
) -> Result<Answer, Problem> {
    let page = paging(LIST, query.cursor.as_deref(), query.limit)?;
    let list = state.engine.approvals(&caller.who, query.project.as_deref(), query.all, &page).await?;
    Ok(Answer::list(LIST, list, |approval| views::of(&approval)))
}

async fn show(
    State(state): State<ServerState>,
    caller: Caller,
    Segments(approval): Segments<String>,
) -> Result<Answer, Problem> {
    Ok(Answer::ok(views::of(&state.engine.approval(&caller.who, id(&approval)?).await?)))
}

async fn answer(
    State(state): State<ServerState>,
    caller: Caller,
    Segments(approval): Segments<String>,
    ask: Ask,
    Body(wish, bytes): Body<AnswerApproval>,
) -> Result<Answer, Problem> {
    idempotent::post(&state, &caller, &ask, &bytes, async |_| {
        let AnswerApproval { decision, reason } = wish;
        let engine = &state.engine;
        let answered =
            engine.answer_approval(&caller.who, id(&approval)?, decision, reason.as_deref()).await?;
        Ok(Made::changed(views::of(&answered)))
    })
    .await
}

async fn revoke(
    State(state): State<ServerState>,
    caller: Caller,
    Segments(approval): Segments<String>,
    ask: Ask,
    Body(_, bytes): Body<Stop>,
) -> Result<Answer, Problem> {
    idempotent::post(&state, &caller, &ask, &bytes, async |_| {
        Ok(Made::changed(views::of(&state.engine.revoke_approval(&caller.who, id(&approval)?).await?)))
    })
    .await
}
