//! Problem documents (RFC 9457): the one shape of every refusal.

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;
use utoipa::ToSchema;

/// A refusal as the interface tells it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Problem {
    /// Where the kind is described: `about:blank`, since `code` names it.
    #[serde(rename = "type")]
    kind: &'static str,
    /// The kind in few words; the same for each problem of the kind.
    title: &'static str,
    /// The HTTP status.
    status: u16,
    /// A stable word for programs.
    code: &'static str,
    /// What is wrong, and what to do next.
    detail: String,
    /// The fields that are wrong.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<FieldError>,
    /// After how many seconds to try again.
    #[serde(skip)]
    retry_after: Option<u32>,
}

/// What is wrong with one field of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct FieldError {
    /// The field, as the interface calls it; dots and indices lead into what it holds.
    pub field: String,
    /// What is wrong, and what would be right.
    pub why: String,
}

impl Problem {
    /// A problem without fields.
    pub fn new(
        status: StatusCode,
        code: &'static str,
        title: &'static str,
        detail: impl Into<String>,
    ) -> Self {
        debug_assert!(
            crate::describe::problems::find(code).is_some(),
            "{code} is not in the table of problems"
        );
        Self {
            kind: "about:blank",
            title,
            status: status.as_u16(),
            code,
            detail: detail.into(),
            errors: vec![],
            retry_after: (status == StatusCode::SERVICE_UNAVAILABLE).then_some(1),
        }
    }

    /// The one answer for what is absent and for what is somebody else's.
    #[must_use]
    pub fn not_found() -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "not_found",
            "Not found",
            "it does not exist, or you may not see it: check the id and which token you use",
        )
    }

    /// A field whose value cannot be.
    pub fn field(field: impl Into<String>, why: impl Into<String>) -> Self {
        Self::with_field(StatusCode::UNPROCESSABLE_ENTITY, "invalid", "A field is wrong", field, why)
    }

    /// A refusal because of how many there are: it may be tried again after so many seconds.
    pub(crate) fn too_many(
        code: &'static str,
        title: &'static str,
        detail: impl Into<String>,
        seconds: u32,
    ) -> Self {
        let problem = Self::new(StatusCode::TOO_MANY_REQUESTS, code, title, detail);
        Self { retry_after: Some(seconds.max(1)), ..problem }
    }

    /// A parameter of the address whose value cannot be.
    pub fn parameter(field: impl Into<String>, why: impl Into<String>) -> Self {
        Self::with_field(StatusCode::BAD_REQUEST, "bad_parameter", "A parameter is wrong", field, why)
    }

    /// A body that is not JSON, or not text.
    pub fn malformed(why: impl Into<String>) -> Self {
        Self::with_field(StatusCode::BAD_REQUEST, "bad_json", "The body is not valid JSON", "body", why)
    }

    fn with_field(
        status: StatusCode,
        code: &'static str,
        title: &'static str,
        field: impl Into<String>,
        why: impl Into<String>,
    ) -> Self {
        let (field, why) = (shown(&field.into()), shown(&why.into()));
        let mut problem = Self::new(status, code, title, format!("{field}: {why}"));
        problem.errors.push(FieldError { field, why });
        problem
    }

    /// The HTTP status.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// The stable word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        self.code
    }

    /// What is wrong, and what to do next.
    #[must_use]
    pub fn detail(&self) -> &str {
        &self.detail
    }
}

/// What a client wrote, repeated to it: on one line, and not at length.
fn shown(text: &str) -> String {
    mate_guard::text::line(text, 300)
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = self.status();
        // A struct of strings and a number: this cannot fail.
        let body = serde_json::to_vec(&self).unwrap_or_default();
        let mut response = (status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"agent-mate\""));
        }
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        response
    }
}
