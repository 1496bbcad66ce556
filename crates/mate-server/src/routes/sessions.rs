//! `/sessions`

use super::table::Routes;
use crate::{
    ServerState,
    answer::Answer,
    extract::{Ask, Body, Caller, Query, Segments, paging},
    idempotent::{self, Made},
    problem::Problem,
    views,
    wire::Stop,
};
use axum::extract::State;
use mate_engine::Verb;
use serde::Deserialize;

const LIST: &str = "sessions";

pub(super) fn routes(routes: Routes) -> Routes {
    routes.get("/sessions", Verb::SessionList, list).get("/sessions/{session}", Verb::SessionShow, show).post(
        "/sessions/{session}/close",
        Verb::SessionClose,
        close,
    )
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Which {
    project: Option<String>,
    cursor: Option<String>,
    limit: Option<u32>,
}

async fn list(
    State(state): State<ServerState>,
    caller: Caller,
    Query(query): Query<Which>,
) -> Result<Answer, Problem> {
    let page = paging(LIST, query.cursor.as_deref(), query.limit)?;
    let list = state.engine.sessions(&caller.who, query.project.as_deref(), &page).await?;
    Ok(Answer::list(LIST, list, views::session))
}

async fn close(
    State(state): State<ServerState>,
    caller: Caller,
    Segments(session): Segments<String>,
    ask: Ask,
    Body(_, bytes): Body<Stop>,
) -> Result<Answer, Problem> {
    idempotent::post(&state, &caller, &ask, &bytes, async |_| {
        Ok(Made::changed(views::session(state.engine.close_session(&caller.who, &session).await?)))
    })
    .await
}

async fn show(
    State(state): State<ServerState>,
    caller: Caller,
    Segments(session): Segments<String>,
) -> Result<Answer, Problem> {
    Ok(Answer::ok(views::session(state.engine.session(&caller.who, &session).await?)))
}
