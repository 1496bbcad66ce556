//! Opening a connection. Nothing of a request has gone out when this fails.

use crate::{
    connection::Connection,
    endpoint::{Endpoint, Way},
    meter::{Metered, Sent},
};
use rustls::{ClientConfig, pki_types::ServerName};
use std::{io, net::SocketAddr, os::fd::AsFd, sync::Arc, time::Duration};
use tokio::net::{TcpStream, UnixStream, lookup_host};
use tokio_rustls::TlsConnector;

/// How long it may take from the name to the end of the handshakes.
const CONNECT: Duration = Duration::from_secs(10);
/// How long one of several addresses may take.
const EACH: Duration = Duration::from_secs(3);

/// # Errors
/// Why there is no connection.
pub(crate) async fn open(endpoint: &Endpoint, tls: Option<&Arc<ClientConfig>>) -> Result<Connection, String> {
    tokio::time::timeout(CONNECT, attempt(endpoint, tls))
        .await
        .unwrap_or_else(|_| Err(format!("no connection within {} s", CONNECT.as_secs())))
}

async fn attempt(endpoint: &Endpoint, tls: Option<&Arc<ClientConfig>>) -> Result<Connection, String> {
    let sent = Sent::default();
    match &endpoint.way {
        Way::Unix(path) => {
            let stream = UnixStream::connect(path).await.map_err(|e| e.to_string())?;
            let socket = stream.as_fd().try_clone_to_owned().map_err(|e| e.to_string())?;
            Connection::begin(Metered::new(stream, sent.clone()), socket, sent).await
        }
        Way::Tcp { host, port } => {
            let stream = tcp(host, *port).await?;
            let socket = stream.as_fd().try_clone_to_owned().map_err(|e| e.to_string())?;
            Connection::begin(Metered::new(stream, sent.clone()), socket, sent).await
        }
        Way::Tls { host, port, name } => {
            let config = tls.ok_or("TLS is not set up")?;
            let stream = tcp(host, *port).await?;
            let socket = stream.as_fd().try_clone_to_owned().map_err(|e| e.to_string())?;
            let metered = Metered::new(stream, sent.clone());
            let secured = secure(config, name, metered).await?;
            Connection::begin(secured, socket, sent).await
        }
    }
}

async fn secure<S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin>(
    config: &Arc<ClientConfig>,
    name: &ServerName<'static>,
    stream: S,
) -> Result<tokio_rustls::client::TlsStream<S>, String> {
    let connector = TlsConnector::from(Arc::clone(config));
    connector.connect(name.clone(), stream).await.map_err(|e| format!("TLS: {e}"))
}

/// The first of the host's addresses that answers.
async fn tcp(host: &str, port: u16) -> Result<TcpStream, String> {
    let addresses: Vec<SocketAddr> =
        lookup_host((host, port)).await.map_err(|e| format!("its host is not found: {e}"))?.take(8).collect();
    let mut last = io::Error::new(io::ErrorKind::NotFound, "its host has no address");
    for address in &addresses {
        let bound = if addresses.len() > 1 { EACH } else { CONNECT };
        match tokio::time::timeout(bound, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                stream.set_nodelay(true).map_err(|e| e.to_string())?;
                return Ok(stream);
            }
            Ok(Err(error)) => last = error,
            Err(_) => last = io::ErrorKind::TimedOut.into(),
        }
    }
    Err(last.to_string())
}
