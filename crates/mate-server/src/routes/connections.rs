//! `/connections`

use super::table::Routes;
use crate::{
    ServerState,
    answer::Answer,
    describe::Doc,
    extract::{Ask, Body, Caller, PageQuery, Query, Segments},
    idempotent::{self, Made},
    problem::Problem,
    time::rfc3339_opt,
    views,
    wire::{
        AddConnection, AuthorizeConnection, ConnectionAuthorized, RotateConnection, SecretText,
        SetConnection, answer,
    },
};
use axum::extract::State;
use mate_engine::{
    EngineError, Verb,
    admin::{ConnectionChange, NewConnection, Rotation},
    oauth::Wish,
};
use mate_guard::Secret;
use mate_model::records::{Connection, Reach};
use serde_json::Value;
use std::collections::BTreeMap;

const LIST: &str = "connections";
const TOOLS: &str = "connection_tools";

const AUTHORIZING: &[&str] = &[
    "access_denied",
    "authorization_refused",
    "authorization_unfit",
    "authorization_unreachable",
    "no_address",
    "not_asked",
    "not_here",
];

pub(super) fn routes(routes: Routes) -> Routes {
    routes
        .get(
            "/connections",
            Verb::ConnectionList,
            list,
            Doc::lists::<answer::Connection>().query::<PageQuery>(),
        )
        .post(
            "/connections",
            Verb::ConnectionAdd,
            add,
            Doc::makes::<answer::Connection>().takes::<AddConnection>().refuses(&["name_taken"]),
        )
        .get("/connections/{connection}", Verb::ConnectionShow, show, Doc::shows::<answer::Connection>())
        .delete(
            "/connections/{connection}",
            Verb::ConnectionRemove,
            remove,
            Doc::shows::<answer::Connection>(),
        )
        .post(
            "/connections/{connection}/set",
            Verb::ConnectionSet,
            set,
            Doc::shows::<answer::Connection>().takes::<SetConnection>(),
        )
        .post(
            "/connections/{connection}/rotate",
            Verb::ConnectionRotate,
            rotate,
            Doc::shows::<answer::RotatedConnection>().takes::<RotateConnection>(),
        )
        .post(
            "/connections/{connection}/authorize",
            Verb::ConnectionAuthorize,
            authorize,
            Doc::shows::<answer::AuthorizationAsked>()
                .takes::<AuthorizeConnection>()
                .unkeyed()
                .refuses(AUTHORIZING),
        )
        .post(
            "/connections/{connection}/authorized",
            Verb::ConnectionAuthorize,
            authorized,
            Doc::shows::<answer::Authorized>()
                .takes::<ConnectionAuthorized>()
                .unkeyed()
                .named(
                    "connection.authorized",
                    "Takes what the authorisation server sent the browser back with.",
                )
                .refuses(AUTHORIZING),
        )
        .post(
            "/connections/{connection}/check",
            Verb::ConnectionCheck,
            check,
            Doc::shows::<answer::Look>().unkeyed().refuses(&["busy", "look_failed", "not_here"]),
        )
        .get(
            "/connections/{connection}/tools",
            Verb::ConnectionTools,
            tools,
            Doc::lists::<answer::Tool>().query::<PageQuery>().refuses(&[
                "busy",
                "look_failed",
                "not_here",
                "connection_ill",
                "listing_gone",
            ]),
        )
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

async fn set(
    State(state): State<ServerState>,
    caller: Caller,
    ask: Ask,
    Segments(connection): Segments<String>,
    Body(wish, bytes): Body<SetConnection>,
) -> Result<Answer, Problem> {
    idempotent::post(&state, &caller, &ask, &bytes, async |_| {
        if wish.unset_effect && wish.effect.is_some() {
            return Err(EngineError::invalid("unset_effect", "does not go with effect: give one of the two"));
        }
        let change = ConnectionChange {
            add_fields: wish.add_fields,
            remove_fields: wish.remove_fields,
            effect: if wish.unset_effect { Some(None) } else { wish.effect.map(Some) },
            trust_annotations: wish.trust_annotations,
            workspace_root: wish.workspace_root,
            verify: wish.verify,
        };
        let connection = state.engine.set_connection(&caller.who, &connection, change).await?;
        Ok(Made::changed(views::connection(connection)))
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
        let rotation = Rotation {
            secret_env: secrets(&wish.secret_env),
            headers: secrets(&wish.headers),
            add: wish.add,
            remove: wish.remove,
        };
        let done = state.engine.rotate_connection(&caller.who, &connection, rotation).await?;
        Ok(Made::changed(views::rotated(done)))
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
    Ok(Answer::shown(&answer::AuthorizationAsked {
        id: connection.id,
        state: "asked",
        name: connection.name,
        url,
    }))
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
    Ok(Answer::shown(&answer::Authorized {
        id: connection.id,
        state: "authorized",
        name: connection.name,
        issuer: held.party.issuer,
        scope: held.party.scope,
        refreshes: held.refresh.is_some(),
        expires_at: rfc3339_opt(expires_at),
    }))
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
    let mut part = |name: &str| found.get_mut(name).map(Value::take).unwrap_or_default();
    let problem = part("problem");
    let report = views::shown(&answer::Look {
        id: connection.id,
        state: if problem.is_null() { "well" } else { "ill" },
        name: connection.name.clone(),
        code: problem.get("code").cloned().unwrap_or_default(),
        protocol: part("protocol"),
        tools: tools.len(),
        problem,
        notices: part("notices"),
        said: part("said"),
    });
    Ok((connection, report, tools))
}

async fn remove(
    State(state): State<ServerState>,
    caller: Caller,
    Segments(connection): Segments<String>,
) -> Result<Answer, Problem> {
    let (connection, in_flight) = state.engine.remove_connection(&caller.who, &connection).await?;
    let mut gone = views::connection(connection);
    gone["state"] = "removed".into();
    Ok(Answer::ok(views::with_in_flight(gone, &in_flight)))
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
        workspace_root: wish.workspace_root,
    })
}

fn secrets(given: &BTreeMap<String, SecretText>) -> BTreeMap<String, Secret> {
    given.iter().map(|(name, value)| (name.clone(), Secret::from(value.expose().to_owned()))).collect()
}
