//! `/stream`: what `/api/v1/stream` is, for who is signed in with a browser.

use super::{refusal::Refusal, visit::Visitor};
use crate::{
    problem::Problem,
    stream::{self, Shown},
};
use axum::{
    Extension,
    extract::{RawQuery, State},
    response::Response,
};
use http::HeaderMap;

pub(super) async fn follow(
    State(web): State<super::Web>,
    Extension(visitor): Extension<Visitor>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let wish = stream::parse(query.as_deref().unwrap_or_default())?;
    let shown = Shown::Cookie(visitor.cookie);
    let last = crate::routes::last_seen(&headers);
    let opened: Result<_, Problem> = stream::follow(&web.state, &visitor.caller.who, shown, wish, last).await;
    Ok(opened?)
}
