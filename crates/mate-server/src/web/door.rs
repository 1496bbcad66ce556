//! What every request for a page passes: from where it comes, and who is signed in.

use super::{Web, answer, refusal::Refusal, visit::Visitor};
use crate::{check, extract::Caller, problem::Problem};
use axum::{
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};
use http::{HeaderMap, Method, StatusCode, header};
use mate_engine::EngineError;

/// Pages that are there for who is not signed in.
const OPEN: [&str; 4] = ["/sign-in", "/open/", "/assets/", "/about"];

/// Lets a request through, or answers it with a page.
pub(super) async fn door(State(web): State<Web>, mut request: Request, next: Next) -> Response {
    let mut response = match admit(&web, &mut request).await {
        Ok(None) => next.run(request).await,
        Ok(Some(elsewhere)) => elsewhere,
        Err(refusal) => refusal.into_response(),
    };
    answer::protect(response.headers_mut());
    response
}

/// Another answer than the page, if there is to be one.
async fn admit(web: &Web, request: &mut Request) -> Result<Option<Response>, Refusal> {
    let peer = check::outside(&web.state, request)?;
    let reads = request.method() == Method::GET || request.method() == Method::HEAD;
    from_our_pages(request.headers(), reads)?;
    let path = request.uri().path().to_owned();
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let found = Visitor::cookie(request.headers(), host);
    let who = match &found {
        Some(cookie) => match web.state.engine.browser(cookie).await {
            Ok(who) => Some(who),
            Err(EngineError::NotAuthenticated) => None,
            Err(error) => return Err(error.into()),
        },
        None => None,
    };
    request.extensions_mut().insert(peer.clone());
    if let (Some(who), Some(cookie)) = (who, found) {
        peer.check_closely(&web.state.peers).await?;
        let caller = Caller { who, bearer: "".into() };
        request.extensions_mut().insert(Visitor::new(caller, cookie));
        return Ok(None);
    }
    if OPEN.iter().any(|open| path.starts_with(open)) {
        return Ok(None);
    }
    if !reads || path == "/live" || path == "/stream" || request.headers().contains_key("x-part") {
        let trouble = Problem::new(
            StatusCode::UNAUTHORIZED,
            "not_authenticated",
            "You are not signed in",
            "nothing was changed: sign in, then do it again",
        );
        return Err(trouble.into());
    }
    let back = request.uri().path_and_query().map_or("/", |target| target.as_str());
    Ok(Some(answer::see_other(&format!("/sign-in?back={}", super::inside::escape(back)))))
}

/// A browser says from which site a request comes. What changes something comes from our own pages; what reads may be
/// typed, or followed from anywhere but a page that would sign somebody in.
fn from_our_pages(headers: &HeaderMap, reads: bool) -> Result<(), Refusal> {
    let site = headers.get("sec-fetch-site").and_then(|site| site.to_str().ok());
    if reads || matches!(site, None | Some("same-origin" | "none")) {
        return Ok(());
    }
    Err(forged())
}

/// What did not come from a page of ours.
pub(super) fn forged() -> Refusal {
    let problem = Problem::new(
        StatusCode::FORBIDDEN,
        "wrong_origin",
        "This did not come from a page of Agent Mate",
        "nothing was changed: open the page again, and do it there",
    );
    problem.into()
}
