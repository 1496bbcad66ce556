//! `/api/v1/openapi.json` and `/api/docs`: what the interface says of itself, without a token.

use crate::{ServerState, describe};
use axum::{Router, response::Response, routing::get};
use http::{HeaderName, HeaderValue, header};
use std::sync::LazyLock;

static DOCUMENT: LazyLock<String> = LazyLock::new(|| describe::document().to_string());
static PAGE: LazyLock<String> = LazyLock::new(describe::page);

/// Nothing but the page and its own styles.
const PAGE_POLICY: &str =
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub(super) fn routes() -> Router<ServerState> {
    Router::new()
        .route("/api/v1/openapi.json", get(document))
        .route("/api/docs", get(page))
        .route("/api/docs/style.css", get(style))
}

async fn document() -> Response {
    answer("application/json", DOCUMENT.as_str(), "default-src 'none'; frame-ancestors 'none'")
}

async fn page() -> Response {
    answer("text/html; charset=utf-8", PAGE.as_str(), PAGE_POLICY)
}

async fn style() -> Response {
    answer("text/css; charset=utf-8", describe::STYLE, "default-src 'none'")
}

fn answer(kind: &'static str, body: &'static str, policy: &'static str) -> Response {
    let mut response = Response::new(body.into());
    for (name, value) in [
        (header::CONTENT_TYPE, kind),
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-cache"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}
