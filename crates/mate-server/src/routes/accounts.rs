//! `/accounts`

use super::table::Routes;
use crate::{
    ServerState,
    answer::Answer,
    describe::Doc,
    extract::{Ask, Body, Caller, PageQuery, Query, Segments},
    idempotent::{self, Made},
    problem::Problem,
    views,
    wire::{AddAccount, Stop, answer},
};
use axum::extract::State;
use mate_engine::Verb;

const LIST: &str = "accounts";

pub(super) fn routes(routes: Routes) -> Routes {
    routes
        .get("/accounts", Verb::AccountList, list, Doc::lists::<answer::Account>().query::<PageQuery>())
        .post(
            "/accounts",
            Verb::AccountAdd,
            add,
            Doc::makes::<answer::Account>().takes::<AddAccount>().refuses(&["name_taken"]),
        )
        .get("/accounts/{account}", Verb::AccountShow, show, Doc::shows::<answer::Account>())
        .post(
            "/accounts/{account}/disable",
            Verb::AccountDisable,
            disable,
            Doc::shows::<answer::Account>().may_take::<Stop>().refuses(&["last_administrator"]),
        )
        .post(
            "/accounts/{account}/enable",
            Verb::AccountEnable,
            enable,
            Doc::shows::<answer::Account>().may_take::<Stop>(),
        )
}

async fn list(
    State(state): State<ServerState>,
    caller: Caller,
    Query(query): Query<PageQuery>,
) -> Result<Answer, Problem> {
    let list = state.engine.accounts(&caller.who, &query.page(LIST)?).await?;
    Ok(Answer::list(LIST, list, views::account))
}

async fn show(
    State(state): State<ServerState>,
    caller: Caller,
    Segments(account): Segments<String>,
) -> Result<Answer, Problem> {
    Ok(Answer::ok(views::account(state.engine.account(&caller.who, &account).await?)))
}

async fn add(
    State(state): State<ServerState>,
    caller: Caller,
    ask: Ask,
    Body(wish, bytes): Body<AddAccount>,
) -> Result<Answer, Problem> {
    idempotent::post(&state, &caller, &ask, &bytes, async |id| {
        let account = state.engine.add_account(&caller.who, id, &wish.name, wish.admin).await?;
        Ok(Made::created(views::account(account)))
    })
    .await
}

async fn disable(
    State(state): State<ServerState>,
    caller: Caller,
    Segments(account): Segments<String>,
    ask: Ask,
    Body(_, bytes): Body<Stop>,
) -> Result<Answer, Problem> {
    idempotent::post(&state, &caller, &ask, &bytes, async |_| {
        let (account, in_flight) = state.engine.disable_account(&caller.who, &account).await?;
        Ok(Made::changed(views::with_in_flight(views::account(account), &in_flight)))
    })
    .await
}

async fn enable(
    State(state): State<ServerState>,
    caller: Caller,
    Segments(account): Segments<String>,
    ask: Ask,
    Body(_, bytes): Body<Stop>,
) -> Result<Answer, Problem> {
    idempotent::post(&state, &caller, &ask, &bytes, async |_| {
        Ok(Made::changed(views::account(state.engine.enable_account(&caller.who, &account).await?)))
    })
    .await
}
