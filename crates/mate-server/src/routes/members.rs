//! `/projects/{project}/members`

use super::table::Routes;
use crate::{
    ServerState,
    answer::Answer,
    describe::Doc,
    extract::{Ask, Body, Caller, PageQuery, Query, Segments},
    idempotent::{self, Made},
    problem::Problem,
    views,
    wire::{
        SetMember,
        answer::{self, RemovedMember},
    },
};
use axum::extract::State;
use mate_engine::Verb;

const LIST: &str = "members";

pub(super) fn routes(routes: Routes) -> Routes {
    routes
        .get(
            "/projects/{project}/members",
            Verb::MemberList,
            list,
            Doc::lists::<answer::Member>().query::<PageQuery>(),
        )
        .post(
            "/projects/{project}/members",
            Verb::MemberSet,
            set,
            Doc::makes::<answer::Member>().takes::<SetMember>().refuses(&[
                "last_owner",
                "project_archived",
                "account_disabled",
            ]),
        )
        .delete(
            "/projects/{project}/members/{account}",
            Verb::MemberRemove,
            remove,
            Doc::shows::<RemovedMember>().refuses(&["last_owner", "project_archived"]),
        )
}

async fn list(
    State(state): State<ServerState>,
    caller: Caller,
    Segments(project): Segments<String>,
    Query(query): Query<PageQuery>,
) -> Result<Answer, Problem> {
    let list = state.engine.members(&caller.who, &project, &query.page(LIST)?).await?;
    Ok(Answer::list(LIST, list, views::member))
}

async fn set(
    State(state): State<ServerState>,
    caller: Caller,
    Segments(project): Segments<String>,
    ask: Ask,
    Body(wish, bytes): Body<SetMember>,
) -> Result<Answer, Problem> {
    idempotent::post(&state, &caller, &ask, &bytes, async |_| {
        let member = state.engine.set_member(&caller.who, &project, &wish.account, wish.role).await?;
        Ok(Made::created(views::member(member)))
    })
    .await
}

async fn remove(
    State(state): State<ServerState>,
    caller: Caller,
    Segments((project, account)): Segments<(String, String)>,
) -> Result<Answer, Problem> {
    let (account, in_flight) = state.engine.remove_member(&caller.who, &project, &account).await?;
    let gone =
        RemovedMember { id: account.id, account_name: account.name, state: "removed", in_flight: None };
    Ok(Answer::ok(views::with_in_flight(views::shown(&gone), &in_flight)))
}
