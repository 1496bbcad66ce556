//! `/artifacts`, and those of a project or a task

use super::table::Routes;
use crate::{
    ServerState,
    answer::Answer,
    content,
    extract::{Ask, Body, Caller, PageQuery, Query, Segments, paging},
    idempotent::{self, Made},
    problem::Problem,
    views,
    wire::{Publish, Stop},
};
use axum::{extract::State, response::Response};
use http::HeaderMap;
use mate_engine::{EngineError, Verb};
use mate_model::{ArtifactId, TaskId};
use serde::Deserialize;

const LIST: &str = "artifacts";
const OF_TASK: &str = "task_artifacts";

pub(super) fn routes(routes: Routes) -> Routes {
    routes
        .get("/projects/{project}/artifacts", Verb::ArtifactList, list)
        .get("/tasks/{task}/artifacts", Verb::ArtifactList, list_of)
        .post("/tasks/{task}/artifacts", Verb::ArtifactPublish, publish)
        .get("/artifacts/{artifact}", Verb::ArtifactShow, show)
        .get("/artifacts/{artifact}/content", Verb::ArtifactGet, download)
        .post("/artifacts/{artifact}/remove", Verb::ArtifactRemove, remove)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Which {
    task: Option<String>,
    cursor: Option<String>,
    limit: Option<u32>,
}

async fn list(
    State(state): State<ServerState>,
    caller: Caller,
    Segments(project): Segments<String>,
    Query(which): Query<Which>,
) -> Result<Answer, Problem> {
    let task = which.task.as_deref().map(task).transpose()?;
    let page = paging(LIST, which.cursor.as_deref(), which.limit)?;
    let list = state.engine.artifacts(&caller.who, &project, task, &page).await?;
    Ok(Answer::list(LIST, list, |view| views::of(&view)))
}

async fn list_of(
    State(state): State<ServerState>,
    caller: Caller,
    Segments(of): Segments<String>,
    Query(query): Query<PageQuery>,
) -> Result<Answer, Problem> {
    let list = state.engine.task_artifacts(&caller.who, task(&of)?, &query.page(OF_TASK)?).await?;
    Ok(Answer::list(OF_TASK, list, |view| views::of(&view)))
}

/// What cannot be an id names nothing that exists.
fn id(text: &str) -> Result<ArtifactId, EngineError> {
    text.parse().map_err(|_| EngineError::NotFound)
}

fn task(text: &str) -> Result<TaskId, EngineError> {
    text.parse().map_err(|_| EngineError::NotFound)
}

async fn show(
    State(state): State<ServerState>,
    caller: Caller,
    Segments(artifact): Segments<String>,
) -> Result<Answer, Problem> {
    Ok(Answer::ok(views::of(&state.engine.artifact(&caller.who, id(&artifact)?).await?)))
}

async fn download(
    State(state): State<ServerState>,
    caller: Caller,
    Segments(artifact): Segments<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let place = state.downloads.clone().try_acquire_owned().map_err(|_| content::too_many())?;
    let found = state.engine.download(&caller.who, id(&artifact)?).await?;
    Ok(content::respond(found, &headers, place))
}

async fn publish(
    State(state): State<ServerState>,
    caller: Caller,
    Segments(of): Segments<String>,
    ask: Ask,
    Body(wish, bytes): Body<Publish>,
) -> Result<Answer, Problem> {
    idempotent::post(&state, &caller, &ask, &bytes, async |id| {
        let id = state.engine.artifact_id_of(id);
        Ok(Made::created(views::of(&state.engine.publish(&caller.who, id, task(&of)?, &wish.path).await?)))
    })
    .await
}

async fn remove(
    State(state): State<ServerState>,
    caller: Caller,
    Segments(artifact): Segments<String>,
    ask: Ask,
    Body(_, bytes): Body<Stop>,
) -> Result<Answer, Problem> {
    idempotent::post(&state, &caller, &ask, &bytes, async |_| {
        Ok(Made::changed(views::of(&state.engine.remove_artifact(&caller.who, id(&artifact)?).await?)))
    })
    .await
}
