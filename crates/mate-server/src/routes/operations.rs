//! `/operations`, and those of a task

use super::table::Routes;
use crate::{
    ServerState,
    answer::Answer,
    cursor,
    extract::{Ask, Body, Caller, Query, Segments, limit, paging, word},
    idempotent::{self, Made},
    problem::Problem,
    views,
    wire::{ResolveOperation, Stop},
};
use axum::extract::State;
use mate_engine::{EngineError, Verb};
use mate_model::{OperationId, TaskId};
use serde::Deserialize;
use serde_json::json;

const LIST: &str = "operations";
const ACROSS: &str = "all_operations";

pub(super) fn routes(routes: Routes) -> Routes {
    routes
        .get("/operations", Verb::OperationList, list)
        .get("/operations/{operation}", Verb::OperationShow, show)
        .post("/operations/{operation}/resolve", Verb::OperationResolve, resolve)
        .post("/operations/{operation}/verify", Verb::OperationVerify, verify)
        .get("/tasks/{task}/operations", Verb::OperationList, list_of)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Which {
    state: Option<String>,
    cursor: Option<String>,
    limit: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WhichOf {
    task: Option<String>,
    project: Option<String>,
    state: Option<String>,
    cursor: Option<String>,
    limit: Option<u32>,
}

async fn list(
    State(state): State<ServerState>,
    caller: Caller,
    Query(query): Query<WhichOf>,
) -> Result<Answer, Problem> {
    let WhichOf { task, project, state: wanted, cursor, limit } = query;
    if let Some(task) = task {
        if project.is_some() {
            return Err(Problem::parameter("project", "a task is in one project: leave one of the two out"));
        }
        return page(&state, &caller, &task, &Which { state: wanted, cursor, limit }).await;
    }
    let wanted = word("state", wanted.as_deref())?;
    let page = paging(ACROSS, cursor.as_deref(), limit)?;
    let list = state.engine.operations(&caller.who, project.as_deref(), wanted, &page).await?;
    Ok(Answer::list(ACROSS, list, |view| views::of(&view)))
}

async fn list_of(
    State(state): State<ServerState>,
    caller: Caller,
    Segments(task): Segments<String>,
    Query(which): Query<Which>,
) -> Result<Answer, Problem> {
    page(&state, &caller, &task, &which).await
}

async fn page(state: &ServerState, caller: &Caller, task: &str, which: &Which) -> Result<Answer, Problem> {
    let task: TaskId = task.parse().map_err(|_| EngineError::NotFound)?;
    let wanted = word("state", which.state.as_deref())?;
    let after = which.cursor.as_deref().map(|text| cursor::decode(LIST, text, "cursor")).transpose()?;
    let after = match after {
        Some(text) => text.parse().map_err(|_| Problem::parameter("cursor", "not a cursor of this list"))?,
        None => 0,
    };
    let limit = limit(which.limit)?;
    let page = state.engine.task_operations(&caller.who, task, wanted, after, limit).await?;
    let next = page.next.map(|number| cursor::encode(LIST, &number.to_string()));
    let items: Vec<_> = page.items.iter().map(views::of).collect();
    Ok(Answer::ok(json!({ "items": items, "next": next })))
}

async fn show(
    State(state): State<ServerState>,
    caller: Caller,
    Segments(operation): Segments<String>,
) -> Result<Answer, Problem> {
    Ok(Answer::ok(views::of(&state.engine.operation(&caller.who, id(&operation)?).await?)))
}

/// What cannot be an id names nothing that exists.
fn id(text: &str) -> Result<OperationId, EngineError> {
    text.parse().map_err(|_| EngineError::NotFound)
}

async fn resolve(
    State(state): State<ServerState>,
    caller: Caller,
    Segments(operation): Segments<String>,
    ask: Ask,
    Body(wish, bytes): Body<ResolveOperation>,
) -> Result<Answer, Problem> {
    idempotent::post(&state, &caller, &ask, &bytes, async |_| {
        let id = id(&operation)?;
        let word = mate_engine::Ask { reason: wish.reason, proof: wish.proof };
        let engine = &state.engine;
        engine.resolve_operation(&caller.who, id, wish.verdict, &word, wish.permit_repeat).await?;
        Ok(Made::changed(views::of(&engine.operation(&caller.who, id).await?)))
    })
    .await
}

async fn verify(
    State(state): State<ServerState>,
    caller: Caller,
    Segments(operation): Segments<String>,
    ask: Ask,
    Body(_, bytes): Body<Stop>,
) -> Result<Answer, Problem> {
    idempotent::post(&state, &caller, &ask, &bytes, async |_| {
        Ok(Made::changed(views::of(&state.engine.verify_operation(&caller.who, id(&operation)?).await?)))
    })
    .await
}
