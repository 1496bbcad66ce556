//! What is asked.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, header, uri::PathAndQuery};
use http_body_util::Full;

/// A request; its body is whole before any of it is sent.
#[derive(Debug, Clone)]
pub struct Request {
    method: Method,
    target: PathAndQuery,
    headers: HeaderMap,
    body: Bytes,
}

impl Request {
    /// A request without headers and body.
    pub fn new(method: Method, target: PathAndQuery) -> Self {
        Self { method, target, headers: HeaderMap::new(), body: Bytes::new() }
    }

    /// Takes these headers in place of all it had.
    #[must_use]
    pub fn headers(mut self, headers: HeaderMap) -> Self {
        self.headers = headers;
        self
    }

    /// Sets one header.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// Sets the body.
    #[must_use]
    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self
    }

    /// What goes out to `host`.
    pub(crate) fn outgoing(&self, host: &HeaderValue) -> http::Request<Full<Bytes>> {
        let mut request = http::Request::new(Full::new(self.body.clone()));
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = self.target.clone().into();
        *request.headers_mut() = self.headers.clone();
        request.headers_mut().entry(header::HOST).or_insert_with(|| host.clone());
        request
    }
}
