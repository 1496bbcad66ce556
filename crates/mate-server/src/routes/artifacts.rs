//! `/artifacts`, and those of a project or a task

use super::table::Routes;
use crate::{
    ServerState,
    answer::Answer,
    content,
    describe::Doc,
    extract::{Ask, Body, Caller, PageQuery, Query, Segments, paging},
    idempotent::{self, Made},
    problem::Problem,
    views,
    wire::{Publish, Stop, answer, shape},
};
use axum::{extract::State, response::Response};
use http::HeaderMap;
use mate_engine::{EngineError, Verb};
use mate_model::{ArtifactId, TaskId};
use serde::Deserialize;
use utoipa::IntoParams;

const LIST: &str = "artifacts";
const OF_TASK: &str = "task_artifacts";

pub(super) fn routes(routes: Routes) -> Routes {
    routes
        .get(
            "/projects/{project}/artifacts",
            Verb::ArtifactList,
            list,
            Doc::lists::<answer::Artifact>().query::<Which>(),
        )
        .get(
            "/tasks/{task}/artifacts",
            Verb::ArtifactList,
            list_of,
            Doc::lists::<answer::Artifact>()
                .query::<PageQuery>()
                .named("artifact.list_of_task", "Lists a task's artifacts."),
        )
        .post(
            "/tasks/{task}/artifacts",
            Verb::ArtifactPublish,
            publish,
            Doc::makes::<answer::Artifact>().takes::<Publish>().refuses(&[
                "project_archived",
                "workspace_missing",
                "not_now",
                "not_kept",
            ]),
        )
        .get("/artifacts/{artifact}", Verb::ArtifactShow, show, Doc::shows::<answer::Artifact>())
        .get(
            "/artifacts/{artifact}/content",
            Verb::ArtifactGet,
            download,
            Doc::sends_content().refuses(&["not_kept", "removed", "too_many_downloads"]),
        )
        .post(
            "/artifacts/{artifact}/remove",
            Verb::ArtifactRemove,
            remove,
            Doc::shows::<answer::Artifact>().may_take::<Stop>().refuses(&["not_kept"]),
        )
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
struct Which {
    /// Of this task.
    #[param(value_type = Option<shape::TaskId>, inline)]
    task: Option<String>,
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
