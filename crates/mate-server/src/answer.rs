//! What handlers answer with: JSON, never cached.

use crate::views;
use axum::response::{IntoResponse, Response};
use http::{HeaderName, HeaderValue, StatusCode, header};
use mate_engine::admin::Listing;
use serde::Serialize;
use serde_json::{Value, json};

/// A JSON answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) body: Value,
    /// It answers a repeated request.
    pub(crate) replayed: bool,
}

impl Answer {
    pub(crate) const fn ok(body: Value) -> Self {
        Self { status: StatusCode::OK, body, replayed: false }
    }

    /// An answer of the interface's own.
    pub(crate) fn shown(answer: &impl Serialize) -> Self {
        Self::ok(views::shown(answer))
    }

    /// A page of a list; `name` is the list's, for its cursors.
    pub(crate) fn list<T>(name: &str, list: Listing<T>, view: impl FnMut(T) -> Value) -> Self {
        let next = list.next.map(|position| crate::cursor::encode(name, &position));
        let items: Vec<_> = list.items.into_iter().map(view).collect();
        let mut body = json!({ "items": items, "next": next });
        if !list.unreadable.is_empty() {
            body["unreadable"] = list.unreadable.into();
        }
        Self::ok(body)
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        let mut response = (self.status, self.body.to_string()).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if self.replayed {
            headers.insert(HeaderName::from_static("idempotency-replayed"), HeaderValue::from_static("true"));
        }
        response
    }
}
