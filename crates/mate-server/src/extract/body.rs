//! A JSON body: bounded in size and time, strict, with the wrong field named.

use crate::problem::Problem;
use axum::extract::{FromRequest, Request};
use bytes::Bytes;
use http::{HeaderMap, StatusCode, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::time::Duration;

/// The most bytes that a body may have.
const LIMIT: usize = 1024 * 1024;

/// How long a body may take to arrive.
const PATIENCE: Duration = Duration::from_secs(30);

/// A body, read as `T`, and its bytes. An absent body is read as `{}`.
pub(crate) struct Body<T>(pub(crate) T, pub(crate) Bytes);

/// The bytes of a body that says it is JSON; empty when there is none.
async fn bytes_of(request: Request) -> Result<Bytes, Problem> {
    let (parts, body) = request.into_parts();
    let collected = tokio::time::timeout(PATIENCE, Limited::new(body, LIMIT).collect());
    let bytes = match collected.await {
        Err(_) => return Err(too_slow()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => return Err(too_large()),
        Ok(Err(_)) => return Err(Problem::malformed("the body broke off: send it again")),
        Ok(Ok(collected)) => collected.to_bytes(),
    };
    if !bytes.is_empty() {
        check_type(&parts.headers)?;
    }
    Ok(bytes)
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let bytes = bytes_of(request).await?;
        let text: &[u8] = if bytes.is_empty() { b"{}" } else { &bytes };
        read(text).map(|value| Self(value, bytes))
    }
}

fn too_slow() -> Problem {
    Problem::new(
        StatusCode::REQUEST_TIMEOUT,
        "too_slow",
        "The body did not arrive",
        "send it again, in one go",
    )
}

fn too_large() -> Problem {
    Problem::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        "too_large",
        "The body is too large",
        format!("a body has at most {LIMIT} bytes: put long material into the workspace and name the file"),
    )
}

fn check_type(headers: &HeaderMap) -> Result<(), Problem> {
    let mut given = headers.get_all(header::CONTENT_TYPE).iter();
    let essence = given.next().and_then(|value| value.to_str().ok()).and_then(|text| text.split(';').next());
    let json = essence.is_some_and(|essence| essence.trim().eq_ignore_ascii_case("application/json"));
    if json && given.next().is_none() {
        return Ok(());
    }
    Err(Problem::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "unsupported_media_type",
        "The body's type is not JSON",
        "send JSON with `Content-Type: application/json`",
    ))
}

/// Reads strictly: no unknown field, no NUL character, and not nested beyond 127.
fn read<T: DeserializeOwned>(text: &[u8]) -> Result<T, Problem> {
    let text = std::str::from_utf8(text).map_err(|error| {
        Problem::malformed(format!("it is not UTF-8 from byte {} on", error.valid_up_to()))
    })?;
    let value: Value = serde_json::from_str(text).map_err(|error| Problem::malformed(error.to_string()))?;
    if let Some(path) = nul_in(&value) {
        return Err(Problem::field(path, "has a NUL character: leave it out"));
    }
    if !value.is_object() {
        return Err(Problem::field("body", "must be a JSON object"));
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = error.path().to_string();
        let (field, why) = field_of(&path, &error.into_inner().to_string());
        Problem::field(field, why)
    })
}

/// The field that an error is about: where it happened, or the one that its message names.
fn field_of(path: &str, message: &str) -> (String, String) {
    let why = message.split(" at line ").next().unwrap_or(message);
    let named = ["missing field `", "unknown field `", "duplicate field `"]
        .iter()
        .find_map(|start| why.strip_prefix(start).and_then(|rest| rest.split('`').next()));
    let field = match named {
        Some(name) if path == "." || path == name => name.to_owned(),
        Some(name) if path.ends_with(&format!(".{name}")) => path.to_owned(),
        Some(name) => format!("{path}.{name}"),
        None if path == "." => "body".to_owned(),
        None => path.to_owned(),
    };
    (field, why.to_owned())
}

/// The path of the first text, or name, that has a NUL character.
fn nul_in(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => text.contains('\0').then(String::new),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .find_map(|(place, item)| nul_in(item).map(|rest| join(&format!("[{place}]"), &rest))),
        Value::Object(fields) => fields.iter().find_map(|(name, item)| {
            if name.contains('\0') { Some(name.clone()) } else { nul_in(item).map(|rest| join(name, &rest)) }
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

fn join(head: &str, rest: &str) -> String {
    match rest {
        "" => head.to_owned(),
        rest if rest.starts_with('[') => format!("{head}{rest}"),
        rest => format!("{head}.{rest}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Outer {
        #[expect(dead_code, reason = "only read")]
        name: String,
        #[expect(dead_code, reason = "only read")]
        #[serde(default)]
        inner: Option<Inner>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        #[expect(dead_code, reason = "only read")]
        tools: Vec<String>,
    }

    fn field(text: &str) -> (u16, String) {
        let problem =
            serde_json::to_value(read::<Outer>(text.as_bytes()).expect_err("refused")).expect("json");
        let status = u16::try_from(problem["status"].as_u64().expect("status")).expect("small");
        (status, problem["errors"][0]["field"].as_str().expect("field").to_owned())
    }

    #[test]
    fn the_wrong_field_is_named() {
        for (text, status, wanted) in [
            ("{", 400, "body"),
            ("", 400, "body"),
            (r#"{"name":"\ud800"}"#, 400, "body"),
            ("[]", 422, "body"),
            ("{}", 422, "name"),
            (r#"{"name":1}"#, 422, "name"),
            (r#"{"name":null}"#, 422, "name"),
            (r#"{"name":"a","nmae":"b"}"#, 422, "nmae"),
            (r#"{"name":"a","name":"b"}"#, 422, "name"),
            (r#"{"name":"a\u0000"}"#, 422, "name"),
            (r#"{"name":"a","inner":{"tools":["a",2]}}"#, 422, "inner.tools[1]"),
            (r#"{"name":"a","inner":{"tools":["a","\u0000"]}}"#, 422, "inner.tools[1]"),
            (r#"{"name":"a","inner":{}}"#, 422, "inner.tools"),
            (r#"{"name":"a","inner":{"tools":[],"x":1}}"#, 422, "inner.x"),
        ] {
            assert_eq!(field(text), (status, wanted.to_owned()), "{text}");
        }
        assert_eq!(field(&"[".repeat(200)).0, 400);
        assert!(read::<Outer>(b"{\"name\":\"\xff\"}").is_err());
    }
}
