//! `/stream` and `/projects/{project}/events`: several logs in one stream, and one by itself.

use super::{
    events::{last_seen, wants_stream},
    table::Routes,
};
use crate::{
    ServerState,
    answer::Answer,
    describe::Doc,
    extract::{Caller, Query, Segments, limit},
    problem::Problem,
    stream::{self, Shown},
    wire::{answer, shape},
};
use axum::{
    extract::{RawQuery, State},
    response::{IntoResponse, Response},
};
use http::HeaderMap;
use mate_engine::Verb;
use serde::Deserialize;
use utoipa::IntoParams;

pub(super) fn routes(routes: Routes) -> Routes {
    routes
        .get(
            "/stream",
            Verb::StreamFollow,
            several,
            Doc::only_streams().query::<Several>().refuses(&["too_many_streams"]),
        )
        .get(
            "/projects/{project}/events",
            Verb::ProjectEvents,
            of_project,
            Doc::streams::<answer::Event>().query::<Which>().refuses(&["too_many_streams"]),
        )
}

/// Read by hand, since two of them may be there several times.
#[derive(IntoParams)]
#[expect(dead_code, reason = "it says what the address takes")]
struct Several {
    /// Projects whose ledgers are followed, by name or id; 20 at most. One of `project` and `task` is needed.
    #[param(value_type = Option<Vec<shape::NameOrId>>, explode, max_items = 20)]
    project: Option<Vec<String>>,
    /// Tasks whose journals are followed; 20 at most.
    #[param(value_type = Option<Vec<shape::TaskId>>, explode, max_items = 20)]
    task: Option<Vec<String>>,
    /// The `id` of an event: what came after it. `now`: only what comes from now on.
    #[param(pattern = "^(now|[A-Za-z0-9_-]{8,512})$")]
    after: Option<String>,
}

async fn several(
    State(state): State<ServerState>,
    caller: Caller,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let wish = stream::parse(query.as_deref().unwrap_or_default())?;
    stream::follow(&state, &caller.who, Shown::Bearer(caller.bearer), wish, last_seen(&headers)).await
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
struct Which {
    /// The `id` of an event, or the `next` of a page: what came after it.
    #[param(value_type = Option<shape::Cursor>, inline)]
    after: Option<String>,
    /// How many items at most; 100 if absent.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
}

async fn of_project(
    State(state): State<ServerState>,
    caller: Caller,
    Segments(project): Segments<String>,
    Query(which): Query<Which>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let limit = limit(which.limit)?;
    if wants_stream(&headers) {
        let wish = stream::Wish::of_project(project, which.after);
        let shown = Shown::Bearer(caller.bearer);
        return stream::follow(&state, &caller.who, shown, wish, last_seen(&headers)).await;
    }
    let project = state.engine.project(&caller.who, &project, Verb::ProjectEvents).await?.id;
    let page = stream::page(&state.engine, project, which.after.as_deref(), limit).await?;
    Ok(Answer::ok(page).into_response())
}
