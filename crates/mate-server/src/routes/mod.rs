//! The routes, one file for each noun. Handlers read, ask the engine, and show; they decide nothing.

mod accounts;
mod aside;
mod connections;
mod events;
mod grants;
mod health;
mod members;
mod operations;
mod projects;
mod runtimes;
mod sessions;
mod tasks;
mod tokens;

pub(crate) use events::{STREAM, position, view};

use crate::{ServerState, check::doorman, problem::Problem};
use axum::{Router, middleware::from_fn_with_state};
use http::StatusCode;

/// The whole interface.
pub fn router(state: ServerState) -> Router {
    let api = Router::new()
        .merge(accounts::routes())
        .merge(aside::routes())
        .merge(connections::routes())
        .merge(events::routes())
        .merge(grants::routes())
        .merge(members::routes())
        .merge(operations::routes())
        .merge(projects::routes())
        .merge(runtimes::routes())
        .merge(sessions::routes())
        .merge(tasks::routes())
        .merge(tokens::routes());
    Router::new()
        .nest("/api/v1", api)
        .merge(health::routes())
        .fallback(async || Problem::not_found())
        .method_not_allowed_fallback(async || wrong_method())
        .layer(from_fn_with_state(state.clone(), doorman))
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
