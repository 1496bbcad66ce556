//! `/tokens`

use super::table::Routes;
use crate::{
    ServerState,
    answer::Answer,
    describe::Doc,
    extract::{Ask, Body, Caller, Query, Segments, paging},
    idempotent::{self, Made},
    problem::Problem,
    views,
    wire::{AddToken, RevokeToken, answer, shape},
};
use axum::extract::State;
use mate_engine::{Verb, admin::NewToken};
use serde::Deserialize;
use utoipa::IntoParams;

const LIST: &str = "tokens";

pub(super) fn routes(routes: Routes) -> Routes {
    routes
        .get("/tokens", Verb::TokenList, list, Doc::lists::<answer::Token>().query::<Which>())
        .post(
            "/tokens",
            Verb::TokenAdd,
            add,
            Doc::makes::<answer::MadeToken>().may_take::<AddToken>().refuses(&[
                "account_disabled",
                "project_archived",
                "reaches_further",
            ]),
        )
        .post(
            "/tokens/{token}/revoke",
            Verb::TokenRevoke,
            revoke,
            Doc::shows::<answer::Token>().may_take::<RevokeToken>().refuses(&["last_token"]),
        )
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
struct Which {
    /// Of this account, by name or id; of one's own if absent.
    #[param(value_type = Option<shape::NameOrId>, inline)]
    account: Option<String>,
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
    Query(query): Query<Which>,
) -> Result<Answer, Problem> {
    let page = paging(LIST, query.cursor.as_deref(), query.limit)?;
    let list = state.engine.tokens(&caller.who, query.account.as_deref(), &page).await?;
    let now = state.engine.clock.now();
    Ok(Answer::list(LIST, list, |token| views::token(&token, now)))
}

async fn add(
    State(state): State<ServerState>,
    caller: Caller,
    ask: Ask,
    Body(wish, bytes): Body<AddToken>,
) -> Result<Answer, Problem> {
    idempotent::post(&state, &caller, &ask, &bytes, async |id| {
        let AddToken { account, project, role, expires } = wish;
        let new = NewToken { account, project, role, expires };
        let shown = state.engine.add_token(&caller.who, id, new).await?;
        let made = Made::created(views::token(&shown.token, state.engine.clock.now()));
        Ok(made.showing("token", shown.secret.map(|secret| secret.reveal().to_owned())))
    })
    .await
}

async fn revoke(
    State(state): State<ServerState>,
    caller: Caller,
    Segments(token): Segments<String>,
    ask: Ask,
    Body(wish, bytes): Body<RevokeToken>,
) -> Result<Answer, Problem> {
    idempotent::post(&state, &caller, &ask, &bytes, async |_| {
        let gone = state.engine.revoke_token(&caller.who, &token, wish.with_children).await?;
        let mut shown = views::token(&gone.token, state.engine.clock.now());
        if wish.with_children {
            shown["also_revoked"] = views::shown(&gone.also);
        }
        Ok(Made::changed(views::with_in_flight(shown, &gone.in_flight)))
    })
    .await
}
