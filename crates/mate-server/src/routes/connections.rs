//! `/connections`

use super::table::Routes;
use crate::{
    ServerState,
    answer::Answer,
    extract::{Ask, Body, Caller, PageQuery, Query, Segments},
    idempotent::{self, Made},
    problem::Problem,
    time::rfc3339_opt,
    views,
    wire::{AddConnection, AuthorizeConnection, ConnectionAuthorized, RotateConnection, SecretText},
};
use axum::extract::State;
use mate_engine::{EngineError, Verb, admin::NewConnection, oauth::Wish};
use mate_guard::Secret;
use mate_model::records::{Connection, Reach};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const LIST: &str = "connections";
const TOOLS: &str = "connection_tools";

pub(super) fn routes(routes: Routes) -> Routes {
    routes
        .get("/connections", Verb::ConnectionList, list)
        .post("/connections", Verb::ConnectionAdd, add)
        .get("/connections/{connection}", Verb::ConnectionShow, show)
        .delete("/connections/{connection}", Verb::ConnectionRemove, remove)
        .post("/connections/{connection}/rotate", Verb::ConnectionRotate, rotate)
        .post("/connections/{connection}/authorize", Verb::ConnectionAuthorize, authorize)
        .post("/connections/{connection}/authorized", Verb::ConnectionAuthorize, authorized)
        .post("/connections/{connection}/check", Verb::ConnectionCheck, check)
        .get("/connections/{connection}/tools", Verb::ConnectionTools, tools)
}

async fn list(
    State(state): State<ServerState>,
    caller: Caller,
    Query(query): Query<PageQuery>,
) -> Result<Answer, Problem> {
    let list = state.engine.connections(&caller.who, &query.page(LIST)?).await?;
    Ok(Answer::list(LIST, list, views::connection))
}

async fn show(
    State(state): State<ServerState>,
    caller: Caller,
    Segments(connection): Segments<String>,
) -> Result<Answer, Problem> {
    Ok(Answer::ok(views::connection(state.engine.connection(&caller.who, &connection).await?)))
}

async fn add(
    State(state): State<ServerState>,
    caller: Caller,
    ask: Ask,
    Body(wish, bytes): Body<AddConnection>,
) -> Result<Answer, Problem> {
    idempotent::post(&state, &caller, &ask, &bytes, async |id| {
        let connection = state.engine.add_connection(&caller.who, id, new(wish)?).await?;
        Ok(Made::created(views::connection(connection)))
    })
    .await
}

async fn rotate(
    State(state): State<ServerState>,
    caller: Caller,
    ask: Ask,
    Segments(connection): Segments<String>,
    Body(wish, bytes): Body<RotateConnection>,
) -> Result<Answer, Problem> {
    idempotent::post(&state, &caller, &ask, &bytes, async |_| {
        let (env, headers) = (secrets(&wish.secret_env), secrets(&wish.headers));
        let connection = state.engine.rotate_connection(&caller.who, &connection, env, headers).await?;
        Ok(Made::changed(views::connection(connection)))
    })
    .await
}

/// Where a person has to say yes. Asked again, it is another question, and the answer to the earlier one is not taken.
async fn authorize(
    State(state): State<ServerState>,
    caller: Caller,
    Segments(connection): Segments<String>,
    Body(wish, _): Body<AuthorizeConnection>,
) -> Result<Answer, Problem> {
    let wish = Wish {
        redirect_uri: wish.redirect_uri,
        scope: wish.scope,
        client_id: wish.client_id,
        client_secret: wish.client_secret.map(|secret| secret.expose().to_owned()),
    };
    let authorizer = state.authorizer.as_ref();
    let (connection, url) =
        state.engine.ask_authorization(&caller.who, &connection, authorizer, &wish).await?;
    Ok(Answer::ok(json!({ "id": connection.id, "state": "asked", "name": connection.name, "url": url })))
}

async fn authorized(
    State(state): State<ServerState>,
    caller: Caller,
    Segments(connection): Segments<String>,
    Body(wish, _): Body<ConnectionAuthorized>,
) -> Result<Answer, Problem> {
    let (authorizer, redirected) = (state.authorizer.as_ref(), wish.redirected.expose());
    let done = state.engine.finish_authorization(&caller.who, &connection, authorizer, redirected).await?;
    let (connection, held, expires_at) = done;
    Ok(Answer::ok(json!({
        "id": connection.id,
        "state": "authorized",
        "name": connection.name,
        "issuer": held.party.issuer,
        "scope": held.party.scope,
        "refreshes": held.refresh.is_some(),
        "expires_at": rfc3339_opt(expires_at),
    })))
}

/// Changes nothing, so a repeated request looks again.
async fn check(
    State(state): State<ServerState>,
    caller: Caller,
    Segments(connection): Segments<String>,
) -> Result<Answer, Problem> {
    let (_, report, _) = look(&state, &caller, Verb::ConnectionCheck, &connection).await?;
    Ok(Answer::ok(report))
}

/// The first page connects; the following ones are of the list that it got.
async fn tools(
    State(state): State<ServerState>,
    caller: Caller,
    Segments(connection): Segments<String>,
    Query(query): Query<PageQuery>,
) -> Result<Answer, Problem> {
    let page = query.page(TOOLS)?;
    let list = match &page.after {
        Some(after) => {
            let connection = state.engine.connection(&caller.who, &connection).await?;
            state.listings.page(connection.id, after, page.limit).ok_or_else(older)?
        }
        None => {
            let (connection, report, tools) =
                look(&state, &caller, Verb::ConnectionTools, &connection).await?;
            if let Some(problem) = report["problem"].as_object() {
                let text = |name: &str| problem.get(name).and_then(Value::as_str).unwrap_or_default();
                let detail = format!("{}: {}", text("detail"), text("next"));
                return Err(EngineError::refused("connection_ill", detail).into());
            }
            let stamp = state.engine.entropy.uuid().simple().to_string();
            state.listings.keep(connection.id, stamp, tools, page.limit)
        }
    };
    Ok(Answer::list(TOOLS, list, |tool| tool))
}

fn older() -> EngineError {
    EngineError::refused(
        "listing_gone",
        "the list that this cursor is of is not kept any more: list again without it",
    )
}

async fn look(
    state: &ServerState,
    caller: &Caller,
    verb: Verb,
    name_or_id: &str,
) -> Result<(Connection, Value, Vec<Value>), EngineError> {
    let looked = state.engine.check_connection(&caller.who, verb, name_or_id, state.prober.as_ref()).await?;
    let (connection, mut found) = looked;
    let tools = if let Value::Array(tools) = found["tools"].take() { tools } else { Vec::new() };
    let report = json!({
        "id": connection.id,
        "state": if found["problem"].is_null() { "well" } else { "ill" },
        "name": connection.name,
        "code": found["problem"]["code"],
        "protocol": found["protocol"],
        "tools": tools.len(),
        "problem": found["problem"],
        "notices": found["notices"],
        "said": found["said"],
    });
    Ok((connection, report, tools))
}

async fn remove(
    State(state): State<ServerState>,
    caller: Caller,
    Segments(connection): Segments<String>,
) -> Result<Answer, Problem> {
    let mut gone = views::connection(state.engine.remove_connection(&caller.who, &connection).await?);
    gone["state"] = "removed".into();
    Ok(Answer::ok(gone))
}

fn new(wish: AddConnection) -> Result<NewConnection, EngineError> {
    let reach = match (wish.url, wish.command) {
        (Some(url), None) => Reach::Http { url },
        (None, Some(command)) => Reach::Stdio { command },
        (Some(_), Some(_)) => return Err(EngineError::invalid("url", "give a url or a command, not both")),
        (None, None) => return Err(EngineError::invalid("url", "give a url, or a command")),
    };
    Ok(NewConnection {
        name: wish.name,
        reach,
        secret_env: secrets(&wish.secret_env),
        headers: secrets(&wish.headers),
        allow_fields: wish.allow_fields,
        bare: wish.bare,
        trust_annotations: wish.trust_annotations,
        effect: wish.effect,
        verify: wish.verify,
    })
}

fn secrets(given: &BTreeMap<String, SecretText>) -> BTreeMap<String, Secret> {
    given.iter().map(|(name, value)| (name.clone(), Secret::from(value.expose().to_owned()))).collect()
}
