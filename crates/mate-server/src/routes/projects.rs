//! `/projects`

use super::table::Routes;
use crate::{
    ServerState,
    answer::Answer,
    describe::Doc,
    extract::{Ask, Body, Caller, PageQuery, Query, Segments},
    idempotent::{self, Made},
    problem::Problem,
    views,
    wire::{AddProject, SetProject, Stop, answer},
};
use axum::extract::State;
use mate_engine::{EngineError, Verb, admin::ProjectChange};
use mate_model::records::Project;
use serde_json::Value;

const LIST: &str = "projects";

pub(super) fn routes(routes: Routes) -> Routes {
    routes
        .get("/projects", Verb::ProjectList, list, Doc::lists::<answer::Project>().query::<PageQuery>())
        .post(
            "/projects",
            Verb::ProjectAdd,
            add,
            Doc::makes::<answer::ProjectWithUse>().takes::<AddProject>().refuses(&["name_taken"]),
        )
        .get("/projects/{project}", Verb::ProjectShow, show, Doc::shows::<answer::ProjectWithUse>())
        .post(
            "/projects/{project}/set",
            Verb::ProjectSet,
            set,
            Doc::shows::<answer::ProjectWithUse>().may_take::<SetProject>().refuses(&["project_archived"]),
        )
        .post(
            "/projects/{project}/archive",
            Verb::ProjectArchive,
            archive,
            Doc::shows::<answer::ProjectWithUse>().may_take::<Stop>(),
        )
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
    let project = state.engine.project(&caller.who, &project, Verb::ProjectShow).await?;
    Ok(Answer::ok(whole(&state, project).await?))
}

/// A project with what its artifacts may hold, and hold.
async fn whole(state: &ServerState, project: Project) -> Result<Value, EngineError> {
    let used = state.engine.artifact_use(project.id).await?;
    let mut shown = views::project(project);
    shown["artifact_quota"] = used.artifact_quota.into();
    shown["artifact_bytes"] = used.artifact_bytes.into();
    Ok(shown)
}

async fn set(
    State(state): State<ServerState>,
    caller: Caller,
    Segments(project): Segments<String>,
    ask: Ask,
    Body(wish, bytes): Body<SetProject>,
) -> Result<Answer, Problem> {
    idempotent::post(&state, &caller, &ask, &bytes, async |_| {
        let SetProject { artifact_quota, distinct_approver } = wish;
        let change = ProjectChange { distinct_approver, artifact_quota };
        let project = state.engine.set_project(&caller.who, &project, change).await?;
        Ok(Made::changed(whole(&state, project).await?))
    })
    .await
}

async fn add(
    State(state): State<ServerState>,
    caller: Caller,
    ask: Ask,
    Body(wish, bytes): Body<AddProject>,
) -> Result<Answer, Problem> {
    idempotent::post(&state, &caller, &ask, &bytes, async |id| {
        let project = state
            .engine
            .add_project(&caller.who, id, &wish.name, wish.workspace.as_deref(), wish.distinct_approver)
            .await?;
        Ok(Made::created(whole(&state, project).await?))
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
        let project = state.engine.archive_project(&caller.who, &project).await?;
        Ok(Made::changed(whole(&state, project).await?))
    })
    .await
}
