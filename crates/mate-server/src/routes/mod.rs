//! The routes, one file for each noun. Handlers read, ask the engine, and show; they decide nothing.

mod accounts;
mod approvals;
mod artifacts;
mod aside;
mod browser;
mod connections;
mod description;
mod events;
mod grants;
mod health;
mod judge;
mod members;
mod operations;
mod policies;
mod projects;
mod runtimes;
mod sessions;
mod stream;
mod table;
mod tasks;
mod tokens;

pub(crate) use events::{STREAM, last_seen, position};
pub use table::Route;

use crate::{ServerState, check::doorman, describe::Doc, problem::Problem};
use axum::{Router, middleware::from_fn_with_state};
use http::StatusCode;
use table::Routes;

/// The routes below `/api/v1`, noun by noun.
const NOUNS: &[fn(Routes) -> Routes] = &[
    accounts::routes,
    approvals::routes,
    artifacts::routes,
    aside::routes,
    browser::routes,
    connections::routes,
    events::routes,
    grants::routes,
    members::routes,
    operations::routes,
    policies::routes,
    projects::routes,
    runtimes::routes,
    sessions::routes,
    stream::routes,
    tasks::routes,
    tokens::routes,
];

fn api() -> Routes {
    NOUNS.iter().fold(Routes::new(), |routes, add| add(routes))
}

/// Every route below `/api/v1`.
#[must_use]
pub fn table() -> Vec<Route> {
    api().table
}

/// The routes below `/api/v1` by themselves, for who asks from within.
pub(crate) fn inside(state: &ServerState) -> Router {
    api().router.fallback(async || Problem::not_found()).with_state(state.clone())
}

/// Every route below `/api/v1`, with what it takes and answers.
pub(crate) fn described() -> Vec<(Route, Doc)> {
    let Routes { table, docs, .. } = api();
    table.into_iter().zip(docs).collect()
}

/// The whole interface.
pub fn router(state: ServerState) -> Router {
    Router::new()
        .nest("/api/v1", api().router)
        .merge(health::routes())
        .merge(description::routes())
        .fallback(async || Problem::not_found())
        .method_not_allowed_fallback(async || wrong_method())
        .layer(from_fn_with_state(state.clone(), doorman))
        .merge(crate::web::routes(&state))
        .with_state(state)
}

fn wrong_method() -> Problem {
    Problem::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method_not_allowed",
        "This address does not take that method",
        "see the `Allow` header for those that it takes",
    )
}
