//! Whether the caller may do what a route is for, before anything else of the request is looked at: also a repeated
//! request is answered only to who may still ask it.
//!
//! The use cases demand the same again; what an address does not say (a project in the body), only they can.

use crate::{ServerState, extract::Caller, problem::Problem};
use axum::{
    RequestExt,
    extract::{RawPathParams, Request},
    middleware::Next,
    response::{IntoResponse, Response},
};
use mate_engine::{EngineError, Named, Needs, Verb};

pub(super) async fn judge(verb: Verb, mut request: Request, next: Next) -> Response {
    match may(verb, &mut request).await {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

async fn may(verb: Verb, request: &mut Request) -> Result<(), Problem> {
    let Some(state) = request.extensions().get::<ServerState>().cloned() else {
        return Err(EngineError::Internal("a request came in by no door".to_owned()).into());
    };
    let Some(Caller { who, .. }) = request.extensions().get::<Caller>().cloned() else {
        return Err(EngineError::NotAuthenticated.into());
    };
    let engine = &state.engine;
    match verb.needs() {
        // What there is for the caller is found out where it is looked up; perhaps it is nothing.
        Needs::Token | Needs::Somewhere(_) => return Ok(()),
        Needs::WholeToken | Needs::Administrator => return Ok(engine.demand_here(&who, verb).await?),
        Needs::Role(_) => {}
    }
    let parts = request.extract_parts::<RawPathParams>().await.map_err(|_| Problem::not_found())?;
    for (part, text) in &parts {
        if let Some(kind) = Named::by(part) {
            engine.demand_named(&who, verb, kind, text).await?;
        }
    }
    Ok(())
}
