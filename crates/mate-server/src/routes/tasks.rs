//! `/projects/{project}/tasks` and `/tasks`

use super::table::Routes;
use crate::{
    ServerState,
    answer::Answer,
    cursor,
    describe::Doc,
    extract::{Ask, Body, Caller, Query, Segments, limit, word},
    idempotent::{self, Made},
    problem::Problem,
    submission, views,
    wire::{AddTask, Reject, ResolveTask, Resume, Stop, answer, shape},
};
use axum::extract::State;
use mate_engine::{EngineError, Verb};
use mate_model::TaskId;
use serde::Deserialize;
use serde_json::json;
use utoipa::IntoParams;

const LIST: &str = "tasks";

const SUBMITTING: &[&str] =
    &["session_busy", "session_closed", "workspace_missing", "project_archived", "distinct_approver"];
const RESUMING: &[&str] = &[
    "already_continued",
    "not_resumable",
    "still_live",
    "not_now",
    "runtime_removed",
    "session_busy",
    "session_closed",
    "workspace_missing",
    "project_archived",
];
const MOVING: &[&str] = &["already", "final", "not_now", "stale", "distinct_approver", "project_archived"];

pub(super) fn routes(routes: Routes) -> Routes {
    routes
        .get("/projects/{project}/tasks", Verb::TaskList, list, Doc::lists::<answer::Task>().query::<Which>())
        .post(
            "/projects/{project}/tasks",
            Verb::TaskAdd,
            add,
            Doc::makes::<answer::Task>().takes::<AddTask>().refuses(SUBMITTING),
        )
        .get("/tasks/{task}", Verb::TaskShow, show, Doc::shows::<answer::Task>())
        .get("/tasks/{task}/report", Verb::TaskReport, report, Doc::shows::<answer::Report>())
        .post(
            "/tasks/{task}/approve",
            Verb::TaskApprove,
            approve,
            Doc::shows::<answer::Task>().may_take::<Stop>().refuses(MOVING),
        )
        .post(
            "/tasks/{task}/reject",
            Verb::TaskReject,
            reject,
            Doc::shows::<answer::Task>().may_take::<Reject>().refuses(MOVING),
        )
        .post(
            "/tasks/{task}/stop",
            Verb::TaskStop,
            stop,
            Doc::shows::<answer::Task>().may_take::<Stop>().refuses(MOVING),
        )
        .post(
            "/tasks/{task}/kill",
            Verb::TaskKill,
            kill,
            Doc::shows::<answer::Task>().may_take::<Stop>().refuses(MOVING),
        )
        .post(
            "/tasks/{task}/resume",
            Verb::TaskResume,
            resume,
            Doc::makes::<answer::Task>().may_take::<Resume>().refuses(RESUMING),
        )
        .post(
            "/tasks/{task}/resolve",
            Verb::TaskResolve,
            resolve,
            Doc::shows::<answer::Task>().takes::<ResolveTask>().refuses(&[
                "not_unknown",
                "operations_unknown",
                "stale",
            ]),
        )
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
struct Which {
    /// In this state.
    #[param(value_type = Option<shape::TaskState>, inline)]
    state: Option<String>,
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
    let wanted = word("state", which.state.as_deref())?;
    let before = which.cursor.as_deref().map(|text| cursor::decode(LIST, text, "cursor")).transpose()?;
    let before = before.map(|text| text.parse()).transpose();
    let before = before.map_err(|_| Problem::parameter("cursor", "not a cursor of this list"))?;
    let limit = limit(which.limit)?;
    let page = state.engine.tasks(&caller.who, &project, wanted, before, limit).await?;
    let next = page.next.map(|id| cursor::encode(LIST, &id.to_string()));
    let items: Vec<_> = page.items.iter().map(views::of).collect();
    Ok(Answer::ok(json!({ "items": items, "next": next })))
}

async fn add(
    State(state): State<ServerState>,
    caller: Caller,
    Segments(project): Segments<String>,
    ask: Ask,
    Body(wish, bytes): Body<AddTask>,
) -> Result<Answer, Problem> {
    submission::submit(&state, &caller, &ask, &bytes, project, wish).await
}

/// What cannot be an id names nothing that exists.
fn id(text: &str) -> Result<TaskId, EngineError> {
    text.parse().map_err(|_| EngineError::NotFound)
}

async fn show(
    State(state): State<ServerState>,
    caller: Caller,
    Segments(task): Segments<String>,
) -> Result<Answer, Problem> {
    Ok(Answer::ok(views::of(&state.engine.task(&caller.who, id(&task)?).await?)))
}

async fn report(
    State(state): State<ServerState>,
    caller: Caller,
    Segments(task): Segments<String>,
) -> Result<Answer, Problem> {
    let report = state.engine.report(&caller.who, id(&task)?).await?;
    let mut body = views::of(&report);
    body["task"] = views::of(&report.task);
    Ok(Answer::ok(body))
}

async fn approve(
    State(state): State<ServerState>,
    caller: Caller,
    Segments(task): Segments<String>,
    ask: Ask,
    Body(_, bytes): Body<Stop>,
) -> Result<Answer, Problem> {
    idempotent::post(&state, &caller, &ask, &bytes, async |_| {
        let task = state.engine.approve(&caller.who, id(&task)?).await?;
        Ok(Made::changed(views::of(&state.engine.view(task).await?)))
    })
    .await
}

async fn reject(
    State(state): State<ServerState>,
    caller: Caller,
    Segments(task): Segments<String>,
    ask: Ask,
    Body(wish, bytes): Body<Reject>,
) -> Result<Answer, Problem> {
    idempotent::post(&state, &caller, &ask, &bytes, async |_| {
        let reason = wish.reason.as_deref().unwrap_or_default();
        let task = state.engine.reject(&caller.who, id(&task)?, reason).await?;
        Ok(Made::changed(views::of(&state.engine.view(task).await?)))
    })
    .await
}

async fn resolve(
    State(state): State<ServerState>,
    caller: Caller,
    Segments(task): Segments<String>,
    ask: Ask,
    Body(wish, bytes): Body<ResolveTask>,
) -> Result<Answer, Problem> {
    idempotent::post(&state, &caller, &ask, &bytes, async |_| {
        let word = mate_engine::Ask { reason: wish.reason, proof: wish.proof };
        let task = state.engine.resolve_task(&caller.who, id(&task)?, &word).await?;
        Ok(Made::changed(views::of(&state.engine.view(task).await?)))
    })
    .await
}

async fn stop(
    State(state): State<ServerState>,
    caller: Caller,
    Segments(task): Segments<String>,
    ask: Ask,
    Body(_, bytes): Body<Stop>,
) -> Result<Answer, Problem> {
    ask_to_stop(&state, &caller, &ask, &bytes, &task, false).await
}

async fn kill(
    State(state): State<ServerState>,
    caller: Caller,
    Segments(task): Segments<String>,
    ask: Ask,
    Body(_, bytes): Body<Stop>,
) -> Result<Answer, Problem> {
    ask_to_stop(&state, &caller, &ask, &bytes, &task, true).await
}

async fn resume(
    State(state): State<ServerState>,
    caller: Caller,
    Segments(task): Segments<String>,
    ask: Ask,
    Body(wish, bytes): Body<Resume>,
) -> Result<Answer, Problem> {
    submission::resume(&state, &caller, &ask, &bytes, id(&task)?, wish).await
}

async fn ask_to_stop(
    state: &ServerState,
    caller: &Caller,
    ask: &Ask,
    bytes: &[u8],
    task: &str,
    kill: bool,
) -> Result<Answer, Problem> {
    idempotent::post(state, caller, ask, bytes, async |_| {
        let task = state.engine.stop(&caller.who, id(task)?, kill).await?;
        Ok(Made::changed(views::of(&state.engine.view(task).await?)))
    })
    .await
}
