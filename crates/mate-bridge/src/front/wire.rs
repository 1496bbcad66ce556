//! A client's connection that knows when what was written to it has left, and whether the client is still there.

use crate::{gate::Receipt, hub::lock};
use axum::{
    extract::connect_info::Connected,
    serve::{IncomingStream, Listener},
};
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use std::{
    convert::Infallible,
    io,
    net::SocketAddr,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll, ready},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
};

/// What is owed to one client: receipts of answers that its connection has taken and not yet written.
#[derive(Clone, Debug, Default)]
pub(super) struct Owed(Arc<Mutex<Vec<Receipt>>>);

impl Owed {
    /// To be called when the transport takes the answer's last byte: it is written before the next flush ends.
    pub(super) fn add(&self, receipt: Receipt) {
        lock(&self.0).push(receipt);
    }

    fn take(&self) -> Vec<Receipt> {
        std::mem::take(&mut *lock(&self.0))
    }
}

impl Connected<IncomingStream<'_, Wires>> for Owed {
    fn connect_info(stream: IncomingStream<'_, Wires>) -> Self {
        stream.io().owed.clone()
    }
}

/// Accepts such connections.
pub(super) struct Wires(pub(super) TcpListener);

impl Listener for Wires {
    type Io = Wire;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Wire, SocketAddr) {
        let (stream, address) = Listener::accept(&mut self.0).await;
        // Without this each answer over a stream waits for an acknowledgement, 40 ms.
        stream.set_nodelay(true).ok();
        (Wire { stream, owed: Owed::default() }, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Listener::local_addr(&self.0)
    }
}

/// One connection.
pub(super) struct Wire {
    stream: TcpStream,
    owed: Owed,
}

impl Wire {
    /// Whether the client has closed its end. Asked by the task that also reads, so that no wake is lost.
    fn hung_up(&self, context: &mut Context<'_>) -> bool {
        let mut byte = [0];
        match self.stream.poll_peek(context, &mut ReadBuf::new(&mut byte)) {
            Poll::Pending => false,
            Poll::Ready(Ok(count)) => count == 0,
            Poll::Ready(Err(_)) => true,
        }
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        drop(self.owed.take());
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// The server flushes when it has written all that it had taken.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_flush(context))?;
        let owed = self.owed.take();
        if !owed.is_empty() && !self.hung_up(context) {
            owed.into_iter().for_each(Receipt::handed_over);
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// One chunk of known length, with what is owed once the transport has taken it.
pub(super) struct Once {
    bytes: Option<(Bytes, Receipt)>,
    owed: Owed,
}

impl Once {
    pub(super) fn new(text: String, receipt: Receipt, owed: Owed) -> Self {
        Self { bytes: Some((text.into(), receipt)), owed }
    }
}

impl Body for Once {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.bytes.take().map(|(bytes, receipt)| {
            self.owed.add(receipt);
            Ok(Frame::data(bytes))
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes.as_ref().map_or(0, |(bytes, _)| bytes.len() as u64))
    }
}
