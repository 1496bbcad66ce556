//! Requests byte by byte, as a client that minds no rules would send them.

use super::World;
use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    time::Duration,
};

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// Without the date.
    pub(crate) headers: Vec<String>,
    pub(crate) body: String,
}

impl Reply {
    fn read(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok());
        let headers = lines.filter(|line| !line.to_ascii_lowercase().starts_with("date:"));
        Self {
            status: status.unwrap_or_else(|| panic!("no HTTP: {text}")),
            headers: headers.map(str::to_owned).collect(),
            body: body.to_owned(),
        }
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }
}

/// One request.
pub(crate) struct Request<'a> {
    pub(crate) token: &'a str,
    pub(crate) method: &'a str,
    /// Path and query, sent as they are.
    pub(crate) target: &'a str,
    pub(crate) headers: &'a [(&'a str, &'a str)],
    pub(crate) body: Option<&'a str>,
}

impl World {
    /// Sends a request to the coordinator and reads what comes until the connection ends.
    pub(crate) fn send(&self, request: &Request<'_>) -> Reply {
        let mut bytes = Vec::new();
        self.connect(request).read_to_end(&mut bytes).expect("an answer");
        Reply::read(&bytes)
    }

    /// Sends a request; what comes back is read by the caller.
    pub(crate) fn connect(&self, request: &Request<'_>) -> TcpStream {
        let url = &self.serve.as_ref().expect("a coordinator").url;
        let address = url.trim_start_matches("http://").trim_end_matches('/');
        let mut stream = TcpStream::connect(address).expect("connected");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("set");
        let Request { token, method, target, headers, body } = request;
        let mut text = format!("{method} {target} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n");
        if !token.is_empty() {
            text.push_str(&format!("Authorization: Bearer {token}\r\n"));
        }
        for (name, value) in *headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        if let Some(body) = body {
            if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
                text.push_str("Content-Type: application/json\r\n");
            }
            text.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        text.push_str("\r\n");
        text.push_str(body.unwrap_or_default());
        stream.write_all(text.as_bytes()).expect("sent");
        stream
    }

    /// A request that must be answered with this status; its JSON.
    pub(crate) fn asked(
        &self,
        token: &str,
        method: &str,
        target: &str,
        body: &str,
        status: u16,
    ) -> serde_json::Value {
        let body = (method == "POST").then_some(body);
        let reply = self.send(&Request { token, method, target, headers: &[], body });
        assert_eq!(reply.status, status, "{method} {target}: {reply:?}");
        reply.json()
    }

    /// The token that `init` left.
    pub(crate) fn own_token(&self) -> String {
        std::fs::read_to_string(self.home().join("token")).expect("a token").trim().to_owned()
    }
}
