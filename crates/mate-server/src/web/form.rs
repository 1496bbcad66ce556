//! Forms: read within bounds, and only from a page of the browser that sends them.

use super::{Web, door::forged, refusal::Refusal, visit::Visitor};
use crate::problem::Problem;
use axum::extract::{FromRequest, Request};
use http::{StatusCode, header};
use http_body_util::{BodyExt, Limited};
use serde_json::{Map, Value, json};
use std::{collections::BTreeMap, time::Duration};

/// The most bytes that a form may have.
const LIMIT: usize = 1024 * 1024;
/// How long it may take to arrive.
const PATIENCE: Duration = Duration::from_secs(30);

/// What was sent.
#[derive(Clone, Debug, Default)]
pub(super) struct Form {
    pub(super) action: String,
    pub(super) values: BTreeMap<String, String>,
    pub(super) key: String,
}

impl Form {
    /// A field that was filled in.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(|text| text.trim()).filter(|text| !text.is_empty())
    }

    /// A field as it was typed, line ends made plain.
    pub(super) fn whole(&self, name: &str) -> String {
        self.values.get(name).map(|text| text.replace("\r\n", "\n")).unwrap_or_default()
    }

    /// A field as JSON; absent when it was left empty.
    pub(super) fn put(&self, body: &mut Value, names: &[&str]) {
        for name in names {
            if let Some(text) = self.text(name) {
                body[*name] = json!(text);
            }
        }
    }

    /// Whether a box was ticked.
    pub(super) fn ticked(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    /// A field's lines that say something.
    pub(super) fn lines(&self, name: &str) -> Vec<&str> {
        let text = self.values.get(name).map(String::as_str).unwrap_or_default();
        text.lines().map(str::trim).filter(|line| !line.is_empty()).collect()
    }

    /// A field's lines as names with values.
    pub(super) fn pairs(&self, name: &str) -> Result<Value, Refusal> {
        let mut pairs = Map::new();
        for line in self.lines(name) {
            // The line itself may be a secret: it is not repeated.
            let (key, value) =
                line.split_once('=').ok_or_else(|| Refusal::field(name, "each line must be NAME=VALUE"))?;
            pairs.insert(key.trim().to_owned(), json!(value.trim()));
        }
        Ok(pairs.into())
    }
}

impl FromRequest<Web> for Form {
    type Rejection = Refusal;

    async fn from_request(request: Request, _: &Web) -> Result<Self, Refusal> {
        // Whoever is signed in may sign in anew; that form was made for nobody.
        let anew = request.uri().path() == "/sign-in";
        let wanted = request.extensions().get::<Visitor>().filter(|_| !anew).map(Visitor::csrf);
        let (parts, body) = request.into_parts();
        let kind = parts.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        if !kind.is_some_and(|kind| kind.starts_with("application/x-www-form-urlencoded")) {
            return Err(problem(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "unsupported_media_type",
                "This is no form",
            ));
        }
        let collected = tokio::time::timeout(PATIENCE, Limited::new(body, LIMIT).collect()).await;
        let bytes = match collected {
            Ok(Ok(collected)) => collected.to_bytes(),
            Ok(Err(_)) => {
                return Err(problem(StatusCode::PAYLOAD_TOO_LARGE, "too_large", "The form is too large"));
            }
            Err(_) => {
                return Err(problem(StatusCode::REQUEST_TIMEOUT, "too_slow", "The form did not arrive"));
            }
        };
        let mut values: BTreeMap<String, String> = form_urlencoded::parse(&bytes)
            .map(|(name, value)| (name.into_owned(), value.into_owned()))
            .collect();
        // Compared as hashes: in the same time, whatever was sent.
        let shown = blake3::hash(values.remove("csrf").unwrap_or_default().as_bytes());
        if wanted.is_some_and(|wanted| blake3::hash(wanted.as_bytes()) != shown) {
            return Err(forged());
        }
        let key = values.remove("key").unwrap_or_default();
        Ok(Self { action: parts.uri.path().to_owned(), values, key })
    }
}

fn problem(status: StatusCode, code: &'static str, title: &'static str) -> Refusal {
    Problem::new(status, code, title, "nothing was changed: open the page again").into()
}
