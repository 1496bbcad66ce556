//! `/projects`

use super::table::Routes;
use crate::{
    ServerState,
    answer::Answer,
    extract::{Ask, Body, Caller, PageQuery, Query, Segments},
    idempotent::{self, Made},
    problem::Problem,
    views,
    wire::{AddProject, Stop},
};
use axum::extract::State;
use mate_engine::Verb;

const LIST: &str = "projects";

pub(super) fn routes(routes: Routes) -> Routes {
    routes
        .get("/projects", Verb::ProjectList, list)
        .post("/projects", Verb::ProjectAdd, add)
        .get("/projects/{project}", Verb::ProjectShow, show)
        .post("/projects/{project}/archive", Verb::ProjectArchive, archive)
}

async fn list(
    State(state): State<ServerState>,
    caller: Caller,
    Query(query): Query<PageQuery>,
) -> Result<Answer, Problem> {
    let list = state.engine.projects(&caller.who, &query.page(LIST)?).await?;
    Ok(Answer::list(LIST, list, views::project))
}

async fn show(
    State(state): State<ServerState>,
    caller: Caller,
    Segments(project): Segments<String>,
) -> Result<Answer, Problem> {
    Ok(Answer::ok(views::project(state.engine.project(&caller.who, &project, Verb::ProjectShow).await?)))
}

async fn add(
    State(state): State<ServerState>,
    caller: Caller,
    ask: Ask,
    Body(wish, bytes): Body<AddProject>,
) -> Result<Answer, Problem> {
    idempotent::post(&state, &caller, &ask, &bytes, async |id| {
        let project =
            state.engine.add_project(&caller.who, id, &wish.name, wish.workspace.as_deref()).await?;
        Ok(Made::created(views::project(project)))
    })
    .await
}

async fn archive(
    State(state): State<ServerState>,
    caller: Caller,
    Segments(project): Segments<String>,
    ask: Ask,
    Body(_, bytes): Body<Stop>,
) -> Result<Answer, Problem> {
    idempotent::post(&state, &caller, &ask, &bytes, async |_| {
        Ok(Made::changed(views::project(state.engine.archive_project(&caller.who, &project).await?)))
    })
    .await
}
