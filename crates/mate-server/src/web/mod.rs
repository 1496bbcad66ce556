//! The dashboard: pages at `/`. A client of the interface within the same process: what a page shows or a form does goes
//! through the routes below `/api/v1`, with their verbs, their refusals and their idempotency keys.

mod answer;
mod approvals;
mod artifacts;
mod assets;
mod connections;
mod door;
mod form;
mod gather;
mod grants;
mod home;
mod inside;
mod live;
mod operations;
mod projects;
mod refusal;
mod runtimes;
mod search;
mod sign;
mod stream;
mod submit;
mod tasks;
mod tokens;
mod visit;

use crate::ServerState;
use axum::{
    Router,
    middleware::from_fn_with_state,
    routing::{get, post},
};

/// What the pages' handlers have at hand.
#[derive(Clone, Debug)]
struct Web {
    state: ServerState,
    /// The routes of the interface, to be asked from within.
    api: Router,
}

/// The pages and their forms.
pub(crate) fn routes(state: &ServerState) -> Router<ServerState> {
    let web = Web { state: state.clone(), api: crate::routes::inside(state) };
    Router::new()
        .route("/", get(home::show))
        .route("/about", get(sign::about))
        .route("/sign-in", get(sign::form).post(sign::by_token))
        .route("/sign-out", post(sign::out))
        .route("/open/{link}", get(sign::by_link))
        .route("/assets/{name}", get(assets::show))
        .route("/live", get(live::marks))
        .route("/stream", get(stream::follow))
        .route("/search", get(search::show))
        .route("/tasks", post(submit::post))
        .route("/tasks/new", get(submit::show))
        .route("/tasks/{task}", get(tasks::show))
        .route("/tasks/{task}/artifacts", post(artifacts::keep))
        .route("/tasks/{task}/{verb}", post(tasks::post))
        .route("/operations/{operation}", get(operations::show))
        .route("/operations/{operation}/{verb}", post(operations::post))
        .route("/approvals/{approval}", get(approvals::show).post(approvals::answer))
        .route("/approvals/{approval}/revoke", post(approvals::revoke))
        .route("/artifacts/{artifact}/content", get(artifacts::content))
        .merge(management())
        .layer(from_fn_with_state(web.clone(), door::door))
        .with_state(web)
}

fn management() -> Router<Web> {
    Router::new()
        .route("/projects", get(projects::list).post(projects::add))
        .route("/projects/{project}", get(projects::show))
        .route("/projects/{project}/archive", post(projects::archive))
        .route("/projects/{project}/members", post(projects::set_member))
        .route("/projects/{project}/members/{account}/remove", post(projects::remove_member))
        .route("/connections", get(connections::list).post(connections::add))
        .route("/connections/{connection}", get(connections::show))
        .route("/connections/{connection}/{verb}", post(connections::post))
        .route("/grants", get(grants::list).post(grants::add))
        .route("/grants/new", get(grants::form))
        .route("/grants/{grant}", get(grants::show))
        .route("/grants/{grant}/{verb}", post(grants::post))
        .route("/runtimes", get(runtimes::list).post(runtimes::add))
        .route("/runtimes/{runtime}/remove", post(runtimes::remove))
        .route("/tokens", get(tokens::list).post(tokens::add))
        .route("/tokens/{token}/revoke", post(tokens::revoke))
}
