//! `Host`: a page that points its own name at this machine is turned away.

use crate::problem::Problem;
use http::{HeaderMap, StatusCode, Uri, header, uri::Authority};
use std::net::IpAddr;

/// The host and port that the client speaks to, if they are names of this machine's own.
pub(crate) fn check(uri: &Uri, headers: &HeaderMap, own: Option<IpAddr>) -> Result<String, Problem> {
    let mut given = headers.get_all(header::HOST).iter();
    let header = given.next().and_then(|value| value.to_str().ok()).ok_or_else(refused)?;
    if given.next().is_some() || !is_ours(header, own) {
        return Err(refused());
    }
    // An address in absolute form names the host a second time.
    match uri.authority() {
        Some(authority) if !is_ours(authority.as_str(), own) => Err(refused()),
        Some(_) | None => Ok(header.to_owned()),
    }
}

fn is_ours(text: &str, own: Option<IpAddr>) -> bool {
    let Ok(authority) = text.parse::<Authority>() else { return false };
    if text.contains('@') {
        return false;
    }
    let host = authority.host();
    if host.eq_ignore_ascii_case("localhost") {
        return true;
    }
    let literal = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    literal.parse::<IpAddr>().is_ok_and(|ip| ip.to_canonical().is_loopback() || Some(ip) == own)
}

fn refused() -> Problem {
    Problem::new(
        StatusCode::MISDIRECTED_REQUEST,
        "wrong_host",
        "Not a name of this service",
        "`Host` must be localhost, a loopback address, or the address that the coordinator listens on",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine() {
        for good in ["localhost", "LOCALHOST:7717", "127.0.0.1:7717", "127.1.2.3", "[::1]:7717", "[::1]"] {
            assert!(is_ours(good, None), "{good}");
        }
        let evil =
            ["", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1", "[::2]"];
        for bad in evil.into_iter().chain(["user@localhost", "localhost:7717:1", "0.0.0.0", "2130706433"]) {
            assert!(!is_ours(bad, None), "{bad}");
        }
        assert!(is_ours("10.0.0.1:80", "10.0.0.1".parse().ok()));
    }
}
