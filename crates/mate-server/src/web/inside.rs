//! Asking the interface from within: the same routes, without a connection.

use super::refusal::Refusal;
use crate::{ServerState, extract::Caller};
use axum::{Router, body::Body, response::Response};
use http::{HeaderMap, HeaderName, Method, Request, header};
use http_body_util::BodyExt;
use mate_engine::EngineError;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fmt::Write;
use tower::ServiceExt;

/// The interface, for one caller.
#[derive(Clone, Debug)]
pub(super) struct Inside {
    pub(super) api: Router,
    pub(super) state: ServerState,
    pub(super) caller: Caller,
}

impl Inside {
    /// Reads.
    pub(super) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Refusal> {
        let response = self.ask(Method::GET, path, &HeaderMap::new(), Body::empty(), None).await?;
        read(response).await
    }

    /// Reads what may not be there, or not for the caller.
    pub(super) async fn find<T: DeserializeOwned>(&self, path: &str) -> Option<T> {
        self.get(path).await.ok()
    }

    /// Changes, under an idempotency key.
    pub(super) async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &Value,
        key: &str,
    ) -> Result<T, Refusal> {
        let body = Body::from(body.to_string());
        read(self.ask(Method::POST, path, &HeaderMap::new(), body, Some(key)).await?).await
    }

    /// Removes.
    pub(super) async fn delete(&self, path: &str) -> Result<Value, Refusal> {
        read(self.ask(Method::DELETE, path, &HeaderMap::new(), Body::empty(), None).await?).await
    }

    /// Reads what is no JSON; `headers` are the browser's own.
    pub(super) async fn fetch(&self, path: &str, headers: &HeaderMap) -> Result<Response, Refusal> {
        self.ask(Method::GET, path, headers, Body::empty(), None).await
    }

    async fn ask(
        &self,
        method: Method,
        path: &str,
        headers: &HeaderMap,
        body: Body,
        key: Option<&str>,
    ) -> Result<Response, Refusal> {
        let mut request = Request::builder().method(method).uri(path);
        for name in [header::RANGE, header::IF_RANGE, header::IF_NONE_MATCH] {
            if let Some(value) = headers.get(&name) {
                request = request.header(name, value);
            }
        }
        if let Some(key) = key {
            request = request.header(header::CONTENT_TYPE, "application/json");
            if !key.is_empty() {
                request = request.header(HeaderName::from_static("idempotency-key"), key);
            }
        }
        let mut request = request.body(body).map_err(|_| Refusal::not_found())?;
        request.extensions_mut().insert(self.caller.clone());
        request.extensions_mut().insert(self.state.clone());
        match self.api.clone().oneshot(request).await {
            Ok(response) => Ok(response),
            Err(never) => match never {},
        }
    }
}

async fn read<T: DeserializeOwned>(response: Response) -> Result<T, Refusal> {
    let status = response.status();
    let strange = |why: String| Refusal::from(EngineError::Internal(why));
    let bytes = response.into_body().collect().await.map_err(|error| strange(error.to_string()))?.to_bytes();
    if !status.is_success() {
        return Err(Refusal::read(status, &serde_json::from_slice(&bytes).unwrap_or_default()));
    }
    serde_json::from_slice(&bytes).map_err(|error| strange(format!("an answer cannot be shown: {error}")))
}

/// A part of an address, or a parameter, with everything odd in it escaped.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a string does not fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    // A dot alone would be swallowed by what reads addresses.
    if matches!(out.as_str(), "." | "..") { out.replace('.', "%2E") } else { out }
}
