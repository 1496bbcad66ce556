//! A response body that knows whether it was handed to the transport.

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};

/// One chunk of known length; `handed_over` is called once the transport took it and let go of the body.
pub(super) struct Once {
    bytes: Option<Bytes>,
    handed_over: Option<Box<dyn FnOnce() + Send + Sync>>,
}

impl Once {
    pub(super) fn new(text: String, handed_over: Option<Box<dyn FnOnce() + Send + Sync>>) -> Self {
        Self { bytes: Some(text.into()), handed_over }
    }
}

impl Body for Once {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.bytes.take().map(|b| Ok(Frame::data(b))))
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes.as_ref().map_or(0, |b| b.len() as u64))
    }
}

impl Drop for Once {
    fn drop(&mut self) {
        if self.bytes.is_none()
            && let Some(tell) = self.handed_over.take()
        {
            tell();
        }
    }
}
