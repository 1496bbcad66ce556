//! An upstream over TLS, believed by the authorities that the environment names.

use crate::support::{Children, connection, http, rig, serve_http, text};
use mate_bridge::{Code, Limits};
use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use serde_json::{Value, json};
use std::{path::PathBuf, sync::Arc};
use tokio::{io::AsyncWriteExt, net::TcpListener, process::Command};
use tokio_rustls::TlsAcceptor;

/// Set in the process that has `SSL_CERT_FILE` set as well.
const INSIDE: &str = "MATE_BRIDGE_TEST_TRUST";

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../mate-http/tests/http/tls").join(name)
}

async fn tls_upstream() -> String {
    let certificates: Vec<_> =
        CertificateDer::pem_file_iter(file("server.pem")).unwrap().map(Result::unwrap).collect();
    let key = PrivateKeyDer::from_pem_file(file("server.key")).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(certificates, key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
    let url = format!("https://127.0.0.1:{}/mcp", listener.local_addr().unwrap().port());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let stream = acceptor.accept(stream).await.ok()?;
                serve_http(stream, &called, true).await
            });
        }
    });
    url
}

fn called(message: &Value) -> Option<(&'static str, String)> {
    let result = r#"{"content":[{"type":"text","text":"secured"}]}"#;
    (message["method"] == "tools/call").then(|| {
        ("application/json", format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, message["id"]))
    })
}

#[tokio::test]
async fn an_https_upstream_is_believed_if_an_authority_vouches_for_it() {
    if let Ok(trust) = std::env::var(INSIDE) {
        return inside(&trust).await;
    }
    for trust in ["authority", "stranger"] {
        let done = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "https::an_https_upstream_is_believed_if_an_authority_vouches_for_it"])
            .env(INSIDE, trust)
            .env("SSL_CERT_FILE", file(&format!("{trust}.pem")))
            .env_remove("SSL_CERT_DIR")
            .kill_on_drop(true)
            .output()
            .await
            .unwrap();
        let said = String::from_utf8_lossy(&done.stdout);
        assert!(done.status.success() && said.contains("1 passed"), "{trust}: {said}");
    }
}

async fn inside(trust: &str) {
    let url = tls_upstream().await;
    let rig = rig(vec![connection("up", http(&url))], Children::default(), Limits::default()).await;
    let answer = rig.client().await.call(1, "up__get", &json!({})).await;
    if trust == "authority" {
        assert_eq!(text(&answer), "secured");
        assert_eq!(rig.notes.outcomes(), ["answered"]);
    } else {
        assert!(text(&answer).contains("no tool"), "{answer}");
        let diagnostics = rig.notes.diagnostics.lock().unwrap().join("; ");
        assert!(diagnostics.contains("certificate") && !diagnostics.contains("s3cret"), "{diagnostics}");
    }
    looked_at(trust, &url).await;
}

/// What a look says: well, an unknown issuer, a certificate for another name, or no TLS at all.
async fn looked_at(trust: &str, url: &str) {
    let look = async |url: &str| {
        let spec = connection("up", http(url));
        mate_bridge::probe(spec, Arc::new(Children::default()), Limits::default())
            .await
            .problem
            .map(|p| p.code)
    };
    if trust == "stranger" {
        assert_eq!(look(url).await, Some(Code::CertificateIssuer));
        return;
    }
    assert_eq!(look(url).await, None);
    let other_name = url.replace("127.0.0.1", "127.0.0.2");
    assert_eq!(look(&other_name).await, Some(Code::CertificateName));
    let plain = url.replace("https", "http");
    assert_eq!(look(&plain).await, Some(Code::BrokeOff));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let clear = format!("https://{}/mcp", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            stream.write_all(b"HTTP/1.1 400 no\r\n\r\n").await.ok();
        }
    });
    assert_eq!(look(&clear).await, Some(Code::Tls));
}
