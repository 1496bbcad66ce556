//! TLS: who is believed, and that a handshake that fails proves that nothing was sent.

use crate::server::{OK, exchange, post};
use mate_http::{Client, Endpoint, Failed, Trust};
use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use std::{path::PathBuf, sync::Arc};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::mpsc,
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/http/tls").join(name)
}

/// A server that answers two requests on each connection and closes it; its port, and what it negotiated each time.
async fn server() -> (u16, mpsc::UnboundedReceiver<Option<Vec<u8>>>) {
    let certificates: Vec<_> =
        CertificateDer::pem_file_iter(file("server.pem")).unwrap().map(Result::unwrap).collect();
    let key = PrivateKeyDer::from_pem_file(file("server.key")).unwrap();
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(certificates, key)
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (tell, told) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            tell.send(stream.get_ref().1.alpn_protocol().map(<[u8]>::to_vec)).unwrap();
            for _ in 0..2 {
                if answer(&mut stream).await.is_none() {
                    break;
                }
            }
            stream.shutdown().await.ok();
        }
    });
    (port, told)
}

async fn answer(stream: &mut TlsStream<TcpStream>) -> Option<()> {
    let mut text = Vec::new();
    while !text.ends_with(b"hello") {
        text.push(stream.read_u8().await.ok()?);
    }
    stream.write_all(OK).await.ok()?;
    stream.flush().await.ok()
}

fn client(host: &str, port: u16, trust: &Trust) -> Client {
    Client::new(Endpoint::parse(&format!("https://{host}:{port}/x")).unwrap(), trust).unwrap()
}

#[tokio::test]
async fn a_server_with_a_certificate_of_a_trusted_authority_is_spoken_to() {
    let (port, mut told) = server().await;
    for host in ["localhost", "127.0.0.1"] {
        let client = client(host, port, &Trust::File(file("authority.pem")));
        for _ in 0..5 {
            assert_eq!(exchange(&client).await, "ok");
        }
        drop(client);
        for _ in 0..3 {
            assert_eq!(told.recv().await.unwrap().as_deref(), Some(&b"http/1.1"[..]));
        }
    }
}

#[tokio::test]
async fn g05_a_handshake_that_fails_is_proof_that_nothing_was_sent() {
    let (port, _told) = server().await;
    let stranger = client("localhost", port, &Trust::File(file("stranger.pem")));
    let elsewhere = client("127.0.0.2", port, &Trust::File(file("authority.pem")));
    let plain = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let no_tls = client("127.0.0.1", plain.local_addr().unwrap().port(), &Trust::File(file("authority.pem")));
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = plain.accept().await {
            stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.ok();
        }
    });
    for client in [stranger, elsewhere, no_tls] {
        let failed = post(&client).await.err().unwrap();
        assert!(matches!(failed, Failed::NotSent(_)), "{failed}");
    }
}
