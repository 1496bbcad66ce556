//! Counting the bytes that a socket took: what proves that nothing was sent.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes that the socket has taken since it was opened.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sent(Arc<AtomicU64>);

impl Sent {
    pub(crate) fn bytes(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    fn count(&self, wrote: &Poll<io::Result<usize>>) {
        if let Poll::Ready(Ok(bytes)) = wrote {
            self.0.fetch_add(u64::try_from(*bytes).unwrap_or(u64::MAX), Ordering::AcqRel);
        }
    }
}

/// A socket whose writes are counted.
pub(crate) struct Metered<S> {
    socket: S,
    sent: Sent,
}

impl<S> Metered<S> {
    pub(crate) fn new(socket: S, sent: Sent) -> Self {
        Self { socket, sent }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Metered<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Metered<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.socket).poll_write(cx, bytes);
        self.sent.count(&wrote);
        wrote
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.socket).poll_write_vectored(cx, parts);
        self.sent.count(&wrote);
        wrote
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}
