//! `/policies`

use super::table::Routes;
use crate::{
    ServerState,
    answer::Answer,
    describe::Doc,
    extract::{Ask, Body, Caller, PageQuery, Query, Segments},
    idempotent::{self, Made},
    problem::Problem,
    views,
    wire::{AddPolicy, CheckPolicy, TryPolicy, answer},
};
use axum::extract::State;
use mate_engine::{EngineError, Verb, admit::Trial};
use mate_model::OperationId;

const LIST: &str = "policies";

pub(super) fn routes(routes: Routes) -> Routes {
    routes
        .get("/policies", Verb::PolicyList, list, Doc::lists::<answer::Policy>().query::<PageQuery>())
        .post(
            "/policies",
            Verb::PolicyAdd,
            add,
            Doc::makes::<answer::PolicyWithReport>()
                .takes::<AddPolicy>()
                .refuses(&["name_taken", "too_many_policies"]),
        )
        .post(
            "/policies/check",
            Verb::PolicyCheck,
            check,
            Doc::shows::<answer::PolicyReport>().takes::<CheckPolicy>().unkeyed(),
        )
        .post(
            "/projects/{project}/policies/try",
            Verb::PolicyTry,
            try_call,
            Doc::shows::<answer::TriedCall>().takes::<TryPolicy>().unkeyed(),
        )
        .get(
            "/policies/explain/{operation}",
            Verb::PolicyExplain,
            explain,
            Doc::shows::<answer::Explanation>(),
        )
        .get("/policies/{policy}", Verb::PolicyShow, show, Doc::shows::<answer::PolicyWithReport>())
        .delete("/policies/{policy}", Verb::PolicyRemove, remove, Doc::shows::<answer::PolicyWithReport>())
}

async fn list(
    State(state): State<ServerState>,
    caller: Caller,
    Query(query): Query<PageQuery>,
) -> Result<Answer, Problem> {
    let list = state.engine.policies(&caller.who, &query.page(LIST)?).await?;
    Ok(Answer::list(LIST, list, |policy| views::policy(&policy)))
}

async fn show(
    State(state): State<ServerState>,
    caller: Caller,
    Segments(policy): Segments<String>,
) -> Result<Answer, Problem> {
    Ok(Answer::ok(views::named_policy(&state.engine.policy(&caller.who, &policy).await?)))
}

async fn add(
    State(state): State<ServerState>,
    caller: Caller,
    ask: Ask,
    Body(wish, bytes): Body<AddPolicy>,
) -> Result<Answer, Problem> {
    idempotent::post(&state, &caller, &ask, &bytes, async |id| {
        let AddPolicy { name, text, replace } = wish;
        let added = state.engine.add_policy(&caller.who, id, &name, text, replace).await?;
        Ok(Made::created(views::named_policy(&added)))
    })
    .await
}

async fn check(
    State(state): State<ServerState>,
    caller: Caller,
    Body(wish, _): Body<CheckPolicy>,
) -> Result<Answer, Problem> {
    Ok(Answer::ok(views::policy_report(&state.engine.check_policy(&caller.who, &wish.text).await?)))
}

/// Changes nothing.
async fn try_call(
    State(state): State<ServerState>,
    caller: Caller,
    Segments(project): Segments<String>,
    Body(wish, _): Body<TryPolicy>,
) -> Result<Answer, Problem> {
    let TryPolicy { connection, tool, account, runtime, says_read_only } = wish;
    let trial = Trial { project, connection, tool, account, runtime, says_read_only };
    Ok(Answer::ok(views::of(&state.engine.try_call(&caller.who, &trial).await?)))
}

async fn explain(
    State(state): State<ServerState>,
    caller: Caller,
    Segments(operation): Segments<String>,
) -> Result<Answer, Problem> {
    let id: OperationId = operation.parse().map_err(|_| EngineError::NotFound)?;
    Ok(Answer::ok(views::of(&state.engine.explain(&caller.who, id).await?)))
}

async fn remove(
    State(state): State<ServerState>,
    caller: Caller,
    Segments(policy): Segments<String>,
) -> Result<Answer, Problem> {
    let mut gone = views::named_policy(&state.engine.remove_policy(&caller.who, &policy).await?);
    gone["state"] = "removed".into();
    Ok(Answer::ok(gone))
}
