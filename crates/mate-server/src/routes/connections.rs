//! `/connections`

use super::table::Routes;
use crate::{
    ServerState,
    answer::Answer,
    extract::{Ask, Body, Caller, PageQuery, Query, Segments},
    idempotent::{self, Made},
    problem::Problem,
    views,
    wire::{AddConnection, SecretText},
};
use axum::extract::State;
use mate_engine::{EngineError, Verb, admin::NewConnection};
use mate_guard::Secret;
use mate_model::records::Reach;
use std::collections::BTreeMap;

const LIST: &str = "connections";

pub(super) fn routes(routes: Routes) -> Routes {
    routes
        .get("/connections", Verb::ConnectionList, list)
        .post("/connections", Verb::ConnectionAdd, add)
        .get("/connections/{connection}", Verb::ConnectionShow, show)
        .delete("/connections/{connection}", Verb::ConnectionRemove, remove)
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
