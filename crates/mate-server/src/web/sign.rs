//! Signing in and out.

use super::{
    Web,
    answer::{self, html, nobody, see_other},
    form::Form,
    refusal::Refusal,
    visit::Visitor,
};
use crate::{
    check::Peer,
    extract::{Query, Segments},
    problem::Problem,
};
use axum::{
    Extension,
    extract::State,
    response::{IntoResponse, Response},
};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use mate_engine::{EngineError, browser::SignedIn};
use mate_guard::{ApiToken, BrowserLink};
use mate_pages::{Draft, Here, Trouble, login, message, page};
use serde::Deserialize;

#[derive(Deserialize)]
pub(super) struct Back {
    back: Option<String>,
}

/// Where to go after signing in: within the dashboard, or to its front page.
fn within(back: Option<&str>) -> String {
    let good = |back: &&str| {
        back.starts_with('/')
            && !back.starts_with("//")
            && !back.contains('\\')
            && back.bytes().all(|b| b.is_ascii_graphic())
    };
    back.filter(good).unwrap_or("/").to_owned()
}

/// The form that takes a token.
pub(super) async fn form(
    visitor: Option<Extension<Visitor>>,
    query: Result<Query<Back>, Problem>,
) -> Response {
    let back = within(query.ok().and_then(|Query(query)| query.back).as_deref());
    if visitor.is_some() {
        return see_other(&back);
    }
    html(
        StatusCode::OK,
        page(&nobody(), Here::Elsewhere, "Sign in", None, &login(&nobody(), &Draft::default(), &back)),
    )
}

/// Takes a token, and gives a cookie for it.
pub(super) async fn by_token(
    State(web): State<Web>,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
    form: Form,
) -> Result<Response, Refusal> {
    let back = within(form.text("back"));
    match signed_in(&web, &peer, form.text("token").unwrap_or_default()).await {
        Ok(signed) => Ok(welcome(&headers, &signed, &back)),
        Err(refusal) if refusal.status == StatusCode::UNAUTHORIZED => {
            let why = "it is no token in force: look whether it is whole, or make another with `agent-mate token add`";
            let trouble = Trouble { fields: vec![("token".to_owned(), why.to_owned())], ..refusal.trouble };
            let draft = Draft { trouble: Some(trouble), ..Draft::default() };
            let main = login(&nobody(), &draft, &back);
            Ok(html(StatusCode::UNAUTHORIZED, page(&nobody(), Here::Elsewhere, "Sign in", None, &main)))
        }
        Err(refusal) => Err(refusal),
    }
}

async fn signed_in(web: &Web, peer: &Peer, token: &str) -> Result<SignedIn, Refusal> {
    ApiToken::parse(token).map_err(|_| EngineError::NotAuthenticated)?;
    web.state.engine.authenticate(token).await?;
    peer.check_closely(&web.state.peers).await?;
    Ok(web.state.engine.sign_in(token).await?)
}

/// Uses a link up, and gives a cookie for it.
pub(super) async fn by_link(
    State(web): State<Web>,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
    Segments(link): Segments<String>,
) -> Result<Response, Refusal> {
    // A page elsewhere that follows a link of its own maker's would sign the reader in as somebody else.
    let site = headers.get("sec-fetch-site").and_then(|site| site.to_str().ok());
    let typed = matches!(site, None | Some("none" | "same-origin"));
    if !typed || BrowserLink::parse(&link).is_err() {
        return Ok(used_up());
    }
    peer.check_closely(&web.state.peers).await?;
    match web.state.engine.sign_in_by_link(&link).await {
        Ok(signed) => Ok(welcome(&headers, &signed, "/")),
        Err(EngineError::NotAuthenticated) => Ok(used_up()),
        Err(error) => Err(error.into()),
    }
}

fn used_up() -> Response {
    let main = message(
        "This link does not open any more",
        "It is good for a minute, and once. Run `agent-mate open` again, and open the new one by itself.",
    );
    answer::plain(StatusCode::UNAUTHORIZED, "Sign in", &main)
}

fn welcome(headers: &HeaderMap, signed: &SignedIn, back: &str) -> Response {
    let mut response = see_other(back);
    set_cookie(headers, &mut response, signed.cookie.reveal(), signed.seconds);
    response
}

fn set_cookie(headers: &HeaderMap, response: &mut Response, value: &str, seconds: i64) {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    // Whoever stands before this service and speaks TLS says so.
    let secure = text("origin").starts_with("https://") || text("x-forwarded-proto") == "https";
    let name = Visitor::cookie_name(text("host"));
    let secure = if secure { "; Secure" } else { "" };
    let cookie = format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}");
    if let Ok(mut cookie) = HeaderValue::from_str(&cookie) {
        cookie.set_sensitive(true);
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
}

/// Signs out.
pub(super) async fn out(
    State(web): State<Web>,
    Extension(visitor): Extension<Visitor>,
    headers: HeaderMap,
    _: Form,
) -> Result<Response, Refusal> {
    web.state.engine.sign_out(&visitor.cookie).await?;
    let mut response = see_other("/sign-in");
    set_cookie(&headers, &mut response, "", 0);
    Ok(response)
}

/// What is promised.
pub(super) async fn about() -> Response {
    let main = message(
        "What is promised",
        "A call is on record before it is sent, is sent at most once, and is said to have succeeded only with the other side's own word. What nobody knows is called unknown until somebody settles it with evidence. A task goes on when this page, this browser or the coordinator goes away. Stop is a request until every process is seen to be gone.",
    );
    answer::plain(StatusCode::OK, "What is promised", &main).into_response()
}
