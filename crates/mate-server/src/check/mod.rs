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
use http::Uri;

/// Paths that tell a supervisor about health and need no token.
const OPEN: [&str; 2] = ["/healthz", "/readyz"];

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

async fn admit(state: &ServerState, request: &mut Request) -> Result<(), Problem> {
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
    if !OPEN.contains(&request.uri().path()) {
        let caller = bearer::check(state, request.headers()).await?;
        peer.check_closely(&state.peers).await?;
        request.extensions_mut().insert(caller);
        request.extensions_mut().insert(state.clone());
    }
    Ok(())
}
