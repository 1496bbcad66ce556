//! Requests without any effect, with which a server is asked by hand what it makes of a caller.

use super::{Hello, dress::dress, http_new};
use crate::core::{message, raw};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde_json::json;

/// One of them, as it is posted. May be sent again.
pub(crate) struct Knock {
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

/// In the order in which they are tried: a greeting, the question that takes its place in the era without sessions, and the
/// list of tools, since some servers let anybody greet them and ask who calls only then.
pub(crate) fn knocks() -> [Knock; 3] {
    [
        Knock { headers: usual(), body: message::write_request(0, "initialize", &Hello::ours(false)) },
        of_the_new_era(1, "server/discover"),
        of_the_new_era(2, "tools/list"),
    ]
}

/// Whether a status says that the server does not take whoever knocks.
pub(crate) fn is_refused(status: StatusCode) -> bool {
    matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
}

fn usual() -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    headers
}

fn of_the_new_era(id: u64, method: &'static str) -> Knock {
    let params = dress(&raw(&json!({})), true);
    let mut headers = usual();
    headers.extend(http_new::of(method, &params));
    Knock { headers, body: message::write_request(id, method, &params) }
}
