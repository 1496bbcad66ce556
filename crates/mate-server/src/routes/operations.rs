//! `/operations`, and those of a task

use super::table::Routes;
use crate::{
    ServerState,
    answer::Answer,
    cursor,
    describe::Doc,
    extract::{Ask, Body, Caller, Query, Segments, limit, paging, word},
    idempotent::{self, Made},
    problem::Problem,
    views,
    wire::{ResolveOperation, Stop, answer, shape},
};
use axum::extract::State;
use mate_engine::{EngineError, Verb};
use mate_model::{OperationId, TaskId};
use serde::Deserialize;
use serde_json::json;
use utoipa::IntoParams;

const LIST: &str = "operations";
const ACROSS: &str = "all_operations";

pub(super) fn routes(routes: Routes) -> Routes {
    routes
        .get("/operations", Verb::OperationList, list, Doc::lists::<answer::Operation>().query::<WhichOf>())
        .get("/operations/{operation}", Verb::OperationShow, show, Doc::shows::<answer::Operation>())
        .post(
            "/operations/{operation}/resolve",
            Verb::OperationResolve,
            resolve,
            Doc::shows::<answer::Operation>()
                .takes::<ResolveOperation>()
                .refuses(&["already_resolved", "not_unknown"]),
        )
        .post(
            "/operations/{operation}/verify",
            Verb::OperationVerify,
            verify,
            Doc::shows::<answer::Operation>().may_take::<Stop>().refuses(&[
                "no_recipe",
                "not_unknown",
                "turn_running",
            ]),
        )
        .get(
            "/tasks/{task}/operations",
            Verb::OperationList,
            list_of,
            Doc::lists::<answer::Operation>()
                .query::<Which>()
                .named("operation.list_of_task", "Lists a task's operations, in request order."),
        )
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
struct Which {
    /// In this state.
    #[param(value_type = Option<shape::OperationState>, inline)]
    state: Option<String>,
    /// The `next` of the page before: go on after it.
    #[param(value_type = Option<shape::Cursor>, inline)]
    cursor: Option<String>,
    /// How many items at most; 100 if absent.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
struct WhichOf {
    /// Of this task.
    #[param(value_type = Option<shape::TaskId>, inline)]
    task: Option<String>,
    /// Of this project, by name or id; of all one's projects if absent.
    #[param(value_type = Option<shape::NameOrId>, inline)]
    project: Option<String>,
    /// In this state.
    #[param(value_type = Option<shape::OperationState>, inline)]
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
