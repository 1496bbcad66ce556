//! One connection, and what can be proved about it.

use crate::meter::Sent;
use bytes::Bytes;
use http_body_util::Full;
use hyper::{
    body::Incoming,
    client::conn::http1::{Builder, SendRequest},
};
use hyper_util::rt::TokioIo;
use rustix::{
    io::Errno,
    net::{RecvFlags, recv},
};
use std::{error::Error, os::fd::OwnedFd, time::Duration};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    task::JoinHandle,
};

/// How long a kept connection may take to be free for the next request: its last answer was read to the end.
const READY: Duration = Duration::from_millis(100);

/// A connection; it is closed when dropped.
pub(crate) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    driver: JoinHandle<()>,
    sent: Sent,
    /// The same socket, to look at what the kernel has before the driver does.
    socket: OwnedFd,
    /// The keeper's generation when it was made.
    pub(crate) generation: u64,
}

/// How a request failed.
pub(crate) enum Broken {
    /// No byte of it went out.
    Before(String),
    /// Bytes of it went out.
    After(String),
}

impl Connection {
    pub(crate) async fn begin<S>(stream: S, socket: OwnedFd, sent: Sent) -> Result<Self, String>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (sender, connection) =
            Builder::new().handshake(TokioIo::new(stream)).await.map_err(|e| innermost(&e))?;
        // What goes wrong is told to who waits for the answer.
        let driver = tokio::spawn(async move {
            connection.await.ok();
        });
        Ok(Self { sender, driver, sent, socket, generation: 0 })
    }

    /// Whether the server is silent and has not closed it, as far as this machine knows.
    pub(crate) fn is_quiet(&self) -> bool {
        let looked = recv(&self.socket, &mut [0_u8; 1], RecvFlags::PEEK | RecvFlags::DONTWAIT);
        !self.sender.is_closed() && matches!(looked, Err(Errno::AGAIN))
    }

    /// Waits, bounded, until it can take the next request; false: it never will.
    pub(crate) async fn is_ready(&mut self) -> bool {
        matches!(tokio::time::timeout(READY, self.sender.ready()).await, Ok(Ok(()))) && self.is_quiet()
    }

    pub(crate) async fn send(
        &mut self,
        request: http::Request<Full<Bytes>>,
    ) -> Result<http::Response<Incoming>, Broken> {
        let before = self.sent.bytes();
        match self.sender.try_send_request(request).await {
            Ok(response) => Ok(response),
            Err(error) => {
                let why = innermost(error.error());
                // Only when nothing can write any more does the count prove anything.
                self.driver.abort();
                (&mut self.driver).await.ok();
                let untouched = self.sent.bytes() == before;
                Err(if untouched { Broken::Before(why) } else { Broken::After(why) })
            }
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// The cause that says what happened; the outer ones say only that something did.
pub(crate) fn innermost(error: &(dyn Error + 'static)) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string().chars().take(300).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::Metered;
    use std::{
        io,
        os::{fd::AsFd, unix::net::UnixStream},
        pin::Pin,
        task::{Context, Poll},
    };
    use tokio::io::ReadBuf;

    /// Takes so many bytes and then breaks.
    struct Breaks(usize);

    impl AsyncRead for Breaks {
        fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, _: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
            Poll::Pending
        }
    }

    impl AsyncWrite for Breaks {
        fn poll_write(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            let taken = bytes.len().min(self.0);
            self.0 -= taken;
            Poll::Ready(if taken == 0 { Err(io::ErrorKind::BrokenPipe.into()) } else { Ok(taken) })
        }
        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    #[tokio::test]
    async fn g05_the_first_byte_that_the_socket_took_decides() {
        let (socket, _peer) = UnixStream::pair().unwrap();
        for taken in [0, 1, 10] {
            let sent = Sent::default();
            let stream = Metered::new(Breaks(taken), sent.clone());
            let held = socket.as_fd().try_clone_to_owned().unwrap();
            let mut connection = Connection::begin(stream, held, sent).await.unwrap();
            let broken = connection.send(http::Request::new(Full::new("hello".into()))).await.err().unwrap();
            assert_eq!(matches!(broken, Broken::Before(_)), taken == 0, "{taken} bytes taken");
        }
    }
}
