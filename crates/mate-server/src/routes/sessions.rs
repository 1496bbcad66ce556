//! `/sessions`

use super::table::Routes;
use crate::{
    ServerState,
    answer::Answer,
    describe::Doc,
    extract::{Ask, Body, Caller, Query, Segments, paging},
    idempotent::{self, Made},
    problem::Problem,
    views,
    wire::{Stop, answer, shape},
};
use axum::extract::State;
use mate_engine::Verb;
use serde::Deserialize;
use utoipa::IntoParams;

const LIST: &str = "sessions";

pub(super) fn routes(routes: Routes) -> Routes {
    routes
        .get("/sessions", Verb::SessionList, list, Doc::lists::<answer::Session>().query::<Which>())
        .get("/sessions/{session}", Verb::SessionShow, show, Doc::shows::<answer::Session>())
        .post(
            "/sessions/{session}/close",
            Verb::SessionClose,
            close,
            Doc::shows::<answer::Session>()
                .may_take::<Stop>()
                .refuses(&["session_busy", "session_uncertain"]),
        )
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
struct Which {
    /// Of this project, by name or id; of all one's projects if absent.
    #[param(value_type = Option<shape::NameOrId>, inline)]
    project: Option<String>,
    /// The `next` of the page before: go on after it.
    #[param(value_type = Option<shape::Cursor>, inline)]
    cursor: Option<String>,
    /// How many items at most; 100 if absent.
    #[param(minimum = 1, maximum = 500)]
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
