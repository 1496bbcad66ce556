//! Where requests go.

use http::{HeaderValue, Uri, uri::PathAndQuery};
use rustls::pki_types::ServerName;
use std::path::PathBuf;

/// Where requests go, and the path that its address names.
#[derive(Debug, Clone)]
pub struct Endpoint {
    pub(crate) way: Way,
    pub(crate) host: HeaderValue,
    target: PathAndQuery,
}

/// How to get there.
#[derive(Debug, Clone)]
pub(crate) enum Way {
    Unix(PathBuf),
    Tcp { host: String, port: u16 },
    Tls { host: String, port: u16, name: ServerName<'static> },
}

impl Endpoint {
    /// A server that listens on a Unix socket.
    pub fn unix(path: PathBuf) -> Self {
        Self {
            way: Way::Unix(path),
            host: HeaderValue::from_static("localhost"),
            target: PathAndQuery::from_static("/"),
        }
    }

    /// Reads an `http` or `https` address.
    ///
    /// # Errors
    /// What is wrong with the address, without the address, which may hold a secret.
    pub fn parse(address: &str) -> Result<Self, String> {
        let uri: Uri = address.parse().map_err(|e| format!("it is not an address: {e}"))?;
        let secure = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            Some(_) | None => return Err("it must begin with http:// or https://".into()),
        };
        let authority = uri.authority().filter(|a| !a.host().is_empty()).ok_or("it names no host")?;
        if authority.as_str().contains('@') {
            return Err("it must not hold a user name or password: send them in a header".into());
        }
        let port = match authority.port_u16() {
            Some(0) => return Err("its port cannot be 0".into()),
            Some(port) => port,
            None if authority.as_str().len() == authority.host().len() => {
                if secure {
                    443
                } else {
                    80
                }
            }
            None => return Err("its port is none".into()),
        };
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        let way = if secure {
            let name = ServerName::try_from(host.clone())
                .map_err(|_| "its host can have no certificate: use a DNS name or an IP address")?;
            Way::Tls { host, port, name }
        } else {
            Way::Tcp { host, port }
        };
        let said = HeaderValue::from_str(authority.as_str()).map_err(|_| "its host is not allowed")?;
        let target = uri.path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
        Ok(Self { way, host: said, target })
    }

    /// The path and query of the address.
    pub fn target(&self) -> &PathAndQuery {
        &self.target
    }

    pub(crate) fn is_secure(&self) -> bool {
        matches!(self.way, Way::Tls { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(address: &str) -> (String, String, String) {
        let endpoint = Endpoint::parse(address).unwrap();
        let to = match &endpoint.way {
            Way::Unix(path) => path.display().to_string(),
            Way::Tcp { host, port } => format!("{host} {port}"),
            Way::Tls { host, port, .. } => format!("tls {host} {port}"),
        };
        (to, endpoint.host.to_str().unwrap().into(), endpoint.target().to_string())
    }

    #[test]
    fn addresses_are_read() {
        for (address, to, host, target) in [
            ("http://127.0.0.1:80/mcp?a=b", "127.0.0.1 80", "127.0.0.1:80", "/mcp?a=b"),
            ("http://localhost", "localhost 80", "localhost", "/"),
            ("https://mcp.example?q", "tls mcp.example 443", "mcp.example", "/?q"),
            ("https://[::1]:8443/x", "tls ::1 8443", "[::1]:8443", "/x"),
        ] {
            assert_eq!(parsed(address), (to.into(), host.into(), target.into()), "{address}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused_without_repeating_it() {
        for bad in [
            "",
            "/mcp",
            "mcp.example",
            "ftp://secret.example",
            "http://",
            "http:///secret",
            "http://me:secret@host/",
            "http://secret:0/",
            "http://secret:/",
            "http://secret:99999/",
            "http://secret host/",
            "https://sec_ret..example/",
            "http://sécret/",
            "http://secret\r\nx: y",
        ] {
            let why = Endpoint::parse(bad).unwrap_err();
            assert!(!why.contains("secret") && !why.is_empty(), "{bad:?}: {why}");
        }
    }
}
