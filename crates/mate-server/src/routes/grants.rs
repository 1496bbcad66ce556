//! `/grants`

use super::table::Routes;
use crate::{
    ServerState,
    answer::Answer,
    describe::Doc,
    extract::{Ask, Body, Caller, PageQuery, Query, Segments, paging},
    idempotent::{self, Made},
    problem::Problem,
    views,
    wire::{AddGrant, RenewGrant, Stop, answer, shape},
};
use axum::extract::State;
use mate_engine::{
    Verb,
    admin::{NewGrant, NewTerms},
};
use mate_model::words::ApprovalMode;
use serde::Deserialize;
use utoipa::IntoParams;

const LIST: &str = "grants";
const PINS: &str = "pins";

pub(super) fn routes(routes: Routes) -> Routes {
    routes
        .get("/grants", Verb::GrantList, list, Doc::lists::<answer::Grant>().query::<Which>())
        .post(
            "/grants",
            Verb::GrantAdd,
            add,
            Doc::makes::<answer::Grant>().takes::<AddGrant>().refuses(&["project_archived"]),
        )
        .get(
            "/grants/{grant}",
            Verb::GrantShow,
            show,
            Doc::shows::<answer::GrantWithPins>().query::<PageQuery>(),
        )
        .post(
            "/grants/{grant}/renew",
            Verb::GrantRenew,
            renew,
            Doc::shows::<answer::Grant>()
                .may_take::<RenewGrant>()
                .refuses(&["grant_revoked", "project_archived"]),
        )
        .post(
            "/grants/{grant}/revoke",
            Verb::GrantRevoke,
            revoke,
            Doc::shows::<answer::Grant>().may_take::<Stop>(),
        )
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
struct Which {
    /// Of this project, by name or id; of all one's projects if absent.
    #[param(value_type = Option<shape::NameOrId>, inline)]
    project: Option<String>,
    #[serde(default)]
    /// Also those that are over.
    all: bool,
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
    let list = state.engine.grants(&caller.who, query.project.as_deref(), query.all, &page).await?;
    let now = state.engine.clock.now();
    Ok(Answer::list(LIST, list, |grant| views::grant(grant, now)))
}

async fn show(
    State(state): State<ServerState>,
    caller: Caller,
    Segments(grant): Segments<String>,
    Query(query): Query<PageQuery>,
) -> Result<Answer, Problem> {
    let grant = state.engine.pinned_grant(&caller.who, &grant, &query.page(PINS)?).await?;
    let next = grant.next.as_deref().map(|tool| crate::cursor::encode(PINS, tool));
    let mut view = views::grant(grant.named, state.engine.clock.now());
    view["pins"] = serde_json::json!({
        "items": grant.pins.iter().map(views::pin).collect::<Vec<_>>(), "next": next,
    });
    Ok(Answer::ok(view))
}

async fn renew(
    State(state): State<ServerState>,
    caller: Caller,
    Segments(grant): Segments<String>,
    ask: Ask,
    Body(wish, bytes): Body<RenewGrant>,
) -> Result<Answer, Problem> {
    idempotent::post(&state, &caller, &ask, &bytes, async |_| {
        let grant = state.engine.renew_grant(&caller.who, &grant, wish.expires.as_deref()).await?;
        Ok(Made::changed(views::grant(grant, state.engine.clock.now())))
    })
    .await
}

async fn add(
    State(state): State<ServerState>,
    caller: Caller,
    ask: Ask,
    Body(wish, bytes): Body<AddGrant>,
) -> Result<Answer, Problem> {
    idempotent::post(&state, &caller, &ask, &bytes, async |id| {
        let AddGrant { project, connection, tools, effect, approve, expires, max_calls, .. } = wish;
        let approve = approve.unwrap_or(ApprovalMode::Never);
        let AddGrant { needs_permit, rate, max_spend, cost, spend_fields, .. } = wish;
        let terms = NewTerms { needs_permit, rate, max_spend, cost, spend_fields };
        let new = NewGrant { project, connection, tools, effect, approve, expires, max_calls, terms };
        let grant = state.engine.add_grant(&caller.who, id, new).await?;
        Ok(Made::created(views::grant(grant, state.engine.clock.now())))
    })
    .await
}

async fn revoke(
    State(state): State<ServerState>,
    caller: Caller,
    Segments(grant): Segments<String>,
    ask: Ask,
    Body(_, bytes): Body<Stop>,
) -> Result<Answer, Problem> {
    idempotent::post(&state, &caller, &ask, &bytes, async |_| {
        let (grant, in_flight) = state.engine.revoke_grant(&caller.who, &grant).await?;
        let shown = views::grant(grant, state.engine.clock.now());
        Ok(Made::changed(views::with_in_flight(shown, &in_flight)))
    })
    .await
}
