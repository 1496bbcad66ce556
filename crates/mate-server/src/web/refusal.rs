//! A refusal of the interface, as a page tells it.

use super::answer;
use crate::problem::Problem;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use mate_engine::EngineError;
use mate_pages::{Trouble, message, not_found};
use serde_json::Value;

/// A refusal.
#[derive(Clone, Debug)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    pub(super) trouble: Trouble,
}

impl Refusal {
    pub(super) fn not_found() -> Self {
        Problem::not_found().into()
    }

    /// One that a form of the dashboard finds itself.
    pub(super) fn field(name: &str, why: &str) -> Self {
        Problem::field(name, why).into()
    }

    /// What the interface answered.
    pub(super) fn read(status: StatusCode, body: &Value) -> Self {
        let text = |value: &Value, name: &str| {
            value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let fields = body.get("errors").and_then(Value::as_array).into_iter().flatten();
        let fields = fields.map(|error| (text(error, "field"), text(error, "why"))).collect();
        Self {
            status,
            trouble: Trouble {
                title: format!("{}.", text(body, "title")),
                detail: text(body, "detail"),
                fields,
            },
        }
    }
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        let status = problem.status();
        Self::read(status, &serde_json::to_value(problem).unwrap_or_default())
    }
}

impl From<EngineError> for Refusal {
    fn from(error: EngineError) -> Self {
        Problem::from(error).into()
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let (title, main) = match self.status {
            StatusCode::NOT_FOUND => ("Not found", not_found()),
            _ => ("Not done", message(&self.trouble.title, &self.trouble.detail)),
        };
        answer::plain(self.status, title, &main)
    }
}
