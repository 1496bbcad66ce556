//! `/runtimes`

use super::table::Routes;
use crate::{
    ServerState,
    answer::Answer,
    describe::Doc,
    extract::{Ask, Body, Caller, PageQuery, Query, Segments},
    idempotent::{self, Made},
    problem::Problem,
    views,
    wire::{AddRuntime, answer},
};
use axum::extract::State;
use mate_engine::{Verb, admin::Patience};

const LIST: &str = "runtimes";

pub(super) fn routes(routes: Routes) -> Routes {
    routes
        .get("/runtimes", Verb::RuntimeList, list, Doc::lists::<answer::Runtime>().query::<PageQuery>())
        .post(
            "/runtimes",
            Verb::RuntimeAdd,
            add,
            Doc::makes::<answer::Runtime>().takes::<AddRuntime>().refuses(&["name_taken"]),
        )
        .get("/runtimes/{runtime}", Verb::RuntimeShow, show, Doc::shows::<answer::Runtime>())
        .delete("/runtimes/{runtime}", Verb::RuntimeRemove, remove, Doc::shows::<answer::Runtime>())
}

async fn list(
    State(state): State<ServerState>,
    caller: Caller,
    Query(query): Query<PageQuery>,
) -> Result<Answer, Problem> {
    let list = state.engine.runtimes(&caller.who, &query.page(LIST)?).await?;
    Ok(Answer::list(LIST, list, views::runtime))
}

async fn show(
    State(state): State<ServerState>,
    caller: Caller,
    Segments(runtime): Segments<String>,
) -> Result<Answer, Problem> {
    Ok(Answer::ok(views::runtime(state.engine.runtime(&caller.who, &runtime).await?)))
}

async fn add(
    State(state): State<ServerState>,
    caller: Caller,
    ask: Ask,
    Body(wish, bytes): Body<AddRuntime>,
) -> Result<Answer, Problem> {
    idempotent::post(&state, &caller, &ask, &bytes, async |id| {
        let registration = state.registrar.registration(&wish)?;
        let patience =
            Patience { quiet_seconds: wish.quiet_seconds, deadline_seconds: wish.deadline_seconds };
        let notices = state.registrar.notices(&registration);
        let runtime = state.engine.add_runtime(&caller.who, id, &wish.name, registration, patience).await?;
        let mut view = views::runtime(runtime);
        view["notices"] = notices.into();
        Ok(Made::created(view))
    })
    .await
}

async fn remove(
    State(state): State<ServerState>,
    caller: Caller,
    Segments(runtime): Segments<String>,
) -> Result<Answer, Problem> {
    let mut gone = views::runtime(state.engine.remove_runtime(&caller.who, &runtime).await?);
    gone["state"] = "removed".into();
    Ok(Answer::ok(gone))
}
