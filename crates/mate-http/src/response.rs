//! What is answered.

use crate::{
    connection::{Connection, innermost},
    keeper::Keeper,
};
use bytes::Bytes;
use http::{HeaderMap, StatusCode, response::Parts};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use std::{sync::Arc, time::Duration};

/// What may follow the part of an answer that was waited for.
const REST: usize = 64 << 10;
const REST_TIME: Duration = Duration::from_secs(1);

/// An answer. Dropped before its end, it takes its connection with it.
pub struct Response {
    head: Parts,
    body: Incoming,
    connection: Option<Connection>,
    keeper: Arc<Keeper>,
}

/// Why a body could not be read.
#[derive(Debug, thiserror::Error)]
pub enum BodyFault {
    /// It is longer than allowed.
    #[error("the answer is longer than {0} bytes")]
    TooLong(usize),
    /// It ended before its end.
    #[error("the answer broke off: {0}")]
    Broken(String),
}

impl Response {
    pub(crate) fn new(
        response: http::Response<Incoming>,
        connection: Connection,
        keeper: Arc<Keeper>,
    ) -> Self {
        let (head, body) = response.into_parts();
        let mut response = Self { head, body, connection: Some(connection), keeper };
        if response.body.is_end_stream() {
            response.release();
        }
        response
    }

    /// Its status.
    pub fn status(&self) -> StatusCode {
        self.head.status
    }

    /// Its headers.
    pub fn headers(&self) -> &HeaderMap {
        &self.head.headers
    }

    /// The next piece of the body; `None` at its end.
    ///
    /// # Errors
    /// The body broke off.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, BodyFault> {
        loop {
            let frame = self.body.frame().await;
            if frame.is_none() || self.body.is_end_stream() {
                self.release();
            }
            match frame {
                None => return Ok(None),
                Some(Err(error)) => return Err(BodyFault::Broken(innermost(&error))),
                Some(Ok(frame)) => {
                    // Trailers say nothing that we use.
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
            }
        }
    }

    /// The whole body, at most `max` bytes of it.
    ///
    /// # Errors
    /// It is longer, or broke off.
    pub async fn body(mut self, max: usize) -> Result<Vec<u8>, BodyFault> {
        let mut body = Vec::new();
        while let Some(chunk) = self.chunk().await? {
            if body.len() + chunk.len() > max {
                return Err(BodyFault::TooLong(max));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    /// Nothing more is expected: reads what is left, bounded in length and time, so that the connection can be kept.
    pub async fn finish(mut self) {
        if self.connection.is_none() {
            return;
        }
        let rest = async {
            let mut length = 0;
            while let Ok(Some(chunk)) = self.chunk().await {
                length += chunk.len();
                if length > REST {
                    return;
                }
            }
        };
        tokio::time::timeout(REST_TIME, rest).await.ok();
    }

    /// Gives the connection back: the body has ended.
    fn release(&mut self) {
        if let Some(connection) = self.connection.take() {
            self.keeper.put(connection);
        }
    }
}
