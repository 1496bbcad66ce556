//! What every request passes before its handler: who speaks, from where, with which token.

mod bearer;
mod host;
mod origin;
mod peer;

pub(crate) use peer::TcpPeer;
pub use peer::{Peer, PeerCheck};

use crate::{ServerState, problem::Problem};
use axum::{
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};
use http::{StatusCode, Uri};

/// Paths that need no token: health, and what the interface says of itself.
const OPEN: [&str; 5] = ["/healthz", "/readyz", "/api/v1/openapi.json", "/api/docs", "/api/docs/style.css"];

/// Lets a request through, or answers it with a problem.
pub(crate) async fn doorman(State(state): State<ServerState>, mut request: Request, next: Next) -> Response {
    match admit(&state, &mut request).await {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

/// No name, id or cursor of ours has a NUL character, and the stores cannot take one.
fn refuse_nul(uri: &Uri) -> Result<(), Problem> {
    if uri.path().contains("%00") {
        return Err(Problem::not_found());
    }
    let mut parts = uri.query().unwrap_or_default().split('&');
    match parts.find(|part| part.contains("%00")) {
        Some(part) => {
            let name = part.split('=').next().unwrap_or(part);
            Err(Problem::parameter(name, "has a NUL character: leave it out"))
        }
        None => Ok(()),
    }
}

fn too_many_requests(seconds: u32) -> Problem {
    Problem::too_many(
        "too_many_requests",
        "Too many requests",
        "this account asks faster than it may: wait as `Retry-After` says, or see `[serve]` in the settings",
        seconds,
    )
}

/// Who shows a valid token is not held up by those who share the address.
fn too_many_failures(seconds: u32) -> Problem {
    Problem::too_many(
        "too_many_failures",
        "Too many requests without a valid token",
        "wait as `Retry-After` says, and show a token that is valid",
        seconds,
    )
}

/// What is looked at before anything of who asks: where the request comes from, and what it names.
pub(crate) fn outside(state: &ServerState, request: &Request) -> Result<Peer, Problem> {
    refuse_nul(request.uri())?;
    let peer = Peer::of(request);
    peer.check(&state.peers)?;
    if peer.is_unix() {
        // No browser speaks here, so there is no page that could.
        origin::check(request.headers(), "")?;
    } else {
        let host = host::check(request.uri(), request.headers(), state.own_address)?;
        origin::check(request.headers(), &host)?;
    }
    Ok(peer)
}

async fn admit(state: &ServerState, request: &mut Request) -> Result<(), Problem> {
    let peer = outside(state, request)?;
    if !OPEN.contains(&request.uri().path()) {
        let now = state.engine.clock.monotonic();
        let caller = match bearer::check(state, request.headers()).await {
            Ok(caller) => caller,
            Err(problem) if problem.status() == StatusCode::UNAUTHORIZED => {
                state.failures.count(&peer.address(), now).map_err(too_many_failures)?;
                return Err(problem);
            }
            Err(problem) => return Err(problem),
        };
        state.requests.count(&caller.who.account, now).map_err(too_many_requests)?;
        peer.check_closely(&state.peers).await?;
        request.extensions_mut().insert(caller);
        request.extensions_mut().insert(state.clone());
    }
    Ok(())
}
