//! Connections, counted, each with a note of where it comes from.

use super::slow::{Patience, Spans};
use crate::check::{Peer, TcpPeer};
use axum::{
    extract::connect_info::Connected,
    serve::{IncomingStream, Listener},
};
use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream, UnixListener, UnixStream},
    sync::{OwnedSemaphorePermit, Semaphore},
};

/// The most connections at a time, of both ways in together, where there are files for them; more wait to be accepted.
pub(super) const CONNECTIONS: usize = 4_096;

/// A listener whose connections are counted.
pub(super) struct Door<L> {
    pub(super) listener: L,
    pub(super) places: Arc<Semaphore>,
    pub(super) spans: Spans,
}

/// A connection and its place in the count.
pub(super) struct Counted<S> {
    stream: S,
    patience: Patience,
    _place: Option<OwnedSemaphorePermit>,
}

impl Listener for Door<TcpListener> {
    type Io = Counted<TcpStream>;
    type Addr = Peer;

    async fn accept(&mut self) -> (Self::Io, Peer) {
        // Closed semaphores give no permit; this one is never closed.
        let place = Arc::clone(&self.places).acquire_owned().await.ok();
        let (stream, client) = Listener::accept(&mut self.listener).await;
        // A connection that is gone already has no addresses.
        let peer = stream
            .local_addr()
            .map_or(Peer::Nowhere, |server| Peer::Tcp(Arc::new(TcpPeer::new(client, server))));
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "a connection stays without TCP_NODELAY");
        }
        (Counted { stream, patience: Patience::new(self.spans), _place: place }, peer)
    }

    fn local_addr(&self) -> io::Result<Peer> {
        Ok(Peer::Nowhere)
    }
}

impl Listener for Door<UnixListener> {
    type Io = Counted<UnixStream>;
    type Addr = Peer;

    async fn accept(&mut self) -> (Self::Io, Peer) {
        let place = Arc::clone(&self.places).acquire_owned().await.ok();
        let (stream, _) = Listener::accept(&mut self.listener).await;
        let pid = stream.peer_cred().ok().and_then(|peer| peer.pid());
        (
            Counted { stream, patience: Patience::new(self.spans), _place: place },
            Peer::Unix { pid: pid.filter(|pid| *pid > 0) },
        )
    }

    fn local_addr(&self) -> io::Result<Peer> {
        Ok(Peer::Unix { pid: None })
    }
}

impl Connected<IncomingStream<'_, Door<TcpListener>>> for Peer {
    fn connect_info(stream: IncomingStream<'_, Door<TcpListener>>) -> Self {
        stream.remote_addr().clone()
    }
}

impl Connected<IncomingStream<'_, Door<UnixListener>>> for Peer {
    fn connect_info(stream: IncomingStream<'_, Door<UnixListener>>) -> Self {
        stream.remote_addr().clone()
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Counted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = match Pin::new(&mut self.stream).poll_read(cx, buf) {
            Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
            Poll::Ready(Ok(())) => Poll::Ready(buf.filled().len() > before),
            Poll::Pending => Poll::Pending,
        };
        self.patience.after_read(cx, read)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Counted<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.patience.after_write(cx, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.patience.after_write(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
