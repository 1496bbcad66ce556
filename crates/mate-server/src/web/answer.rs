//! How pages are answered: HTML under a policy that runs nothing of a page's own text.

use axum::response::{Html, IntoResponse, Response};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use jiff::Timestamp;
use mate_pages::{Context, Here, Markup, page};

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// What every answer of the dashboard says, unless it says otherwise itself.
pub(super) fn protect(headers: &mut HeaderMap) {
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        // `no-referrer` would make a form's `Origin` `null`.
        (header::REFERRER_POLICY, "same-origin"),
        (header::CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
}

/// A page.
pub(super) fn html(status: StatusCode, markup: Markup) -> Response {
    (status, Html(markup.into_string())).into_response()
}

/// A page for whoever it is: without navigation.
pub(super) fn plain(status: StatusCode, title: &str, main: &Markup) -> Response {
    html(status, page(&nobody(), Here::Elsewhere, title, None, main))
}

/// Nobody who is signed in.
pub(super) fn nobody() -> Context {
    Context {
        now: Timestamp::UNIX_EPOCH,
        name: String::new(),
        admin: false,
        csrf: String::new(),
        key: String::new(),
    }
}

/// To another page, to be read there.
pub(super) fn see_other(address: &str) -> Response {
    let mut response = StatusCode::SEE_OTHER.into_response();
    let place = HeaderValue::from_str(address).unwrap_or(HeaderValue::from_static("/"));
    response.headers_mut().insert(header::LOCATION, place);
    response
}
