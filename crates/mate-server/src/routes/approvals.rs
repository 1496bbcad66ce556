//! `/approvals`

use super::table::Routes;
use crate::{
    ServerState,
    answer::Answer,
    describe::Doc,
    extract::{Ask, Body, Caller, Query, Segments, paging},
    idempotent::{self, Made},
    problem::Problem,
    views,
    wire::{AnswerApproval, Stop, answer, shape},
};
use axum::extract::State;
use mate_engine::{EngineError, Verb};
use mate_model::ApprovalId;
use serde::Deserialize;
use utoipa::IntoParams;

const LIST: &str = "approvals";

const ANSWERING: &[&str] = &[
    "approval_answered",
    "approval_over",
    "approval_without_effect",
    "distinct_approver",
    "not_now",
    "project_archived",
];

pub(super) fn routes(routes: Routes) -> Routes {
    routes
        .get("/approvals", Verb::ApprovalList, list, Doc::lists::<answer::Approval>().query::<Which>())
        .get("/approvals/{approval}", Verb::ApprovalShow, show, Doc::shows::<answer::Approval>())
        .post(
            "/approvals/{approval}",
            Verb::ApprovalAnswer,
            answer,
            Doc::shows::<answer::Approval>().takes::<AnswerApproval>().refuses(ANSWERING),
        )
        .post(
            "/approvals/{approval}/revoke",
            Verb::ApprovalRevoke,
            revoke,
            Doc::shows::<answer::Approval>().may_take::<Stop>().refuses(&["nothing_to_revoke"]),
        )
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
struct Which {
    /// Of this project, by name or id; of all one's projects if absent.
    #[param(value_type = Option<shape::NameOrId>, inline)]
    project: Option<String>,
    #[serde(default)]
    /// Also those that are over.
    all: bool,
    /// The `next` of the page before: go on after it.
    #[param(value_type = Option<shape::Cursor>, inline)]
    cursor: Option<String>,
    /// How many items at most; 100 if absent.
    #[param(minimum = 1, maximum = 500)]
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
