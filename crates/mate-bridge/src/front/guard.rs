//! Who may speak to the HTTP front: the holder of the session's bearer, from this machine, not a web page.

use http::{HeaderMap, StatusCode, header};
use subtle::ConstantTimeEq;

pub(super) struct Guard {
    bearer: String,
}

impl Guard {
    pub(super) const fn new(bearer: String) -> Self {
        Self { bearer }
    }

    /// # Errors
    /// The status to refuse with, and why.
    pub(super) fn check(&self, headers: &HeaderMap) -> Result<(), (StatusCode, &'static str)> {
        let text = |name| headers.get(name).and_then(|v: &http::HeaderValue| v.to_str().ok());
        if !text(header::HOST).is_some_and(|host| is_local(host_of(host))) {
            return Err((StatusCode::FORBIDDEN, "the Host header must name this machine's loopback address"));
        }
        if let Some(origin) = headers.get(header::ORIGIN) {
            let local = origin
                .to_str()
                .ok()
                .and_then(|o| o.split_once("://"))
                .is_some_and(|(_, h)| is_local(host_of(h)));
            if !local {
                return Err((StatusCode::FORBIDDEN, "requests from web pages of other origins are refused"));
            }
        }
        let given = text(header::AUTHORIZATION).and_then(|v| v.split_once(' '));
        let ok = given.is_some_and(|(scheme, token)| {
            scheme.eq_ignore_ascii_case("bearer")
                && bool::from(token.trim().as_bytes().ct_eq(self.bearer.as_bytes()))
        });
        if ok {
            Ok(())
        } else {
            Err((StatusCode::UNAUTHORIZED, "the session's bearer token is missing or wrong"))
        }
    }
}

/// A host without its port.
fn host_of(authority: &str) -> &str {
    if authority.starts_with('[') {
        return authority.split_inclusive(']').next().unwrap_or(authority);
    }
    authority.split(':').next().unwrap_or(authority)
}

fn is_local(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost") || matches!(host, "127.0.0.1" | "[::1]")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pairs: &[(&'static str, &str)]) -> Option<u16> {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.insert(*name, value.parse().unwrap());
        }
        Guard::new("secret".into()).check(&headers).err().map(|(s, _)| s.as_u16())
    }

    #[test]
    fn only_the_bearer_on_loopback_and_from_no_foreign_page_gets_in() {
        let (host, auth) = (("host", "127.0.0.1:4711"), ("authorization", "Bearer secret"));
        assert_eq!(check(&[host, auth]), None);
        assert_eq!(
            check(&[host, ("authorization", "bearer secret"), ("origin", "http://localhost:3")]),
            None
        );
        assert_eq!(check(&[host]), Some(401));
        assert_eq!(check(&[host, ("authorization", "Bearer secreT")]), Some(401));
        assert_eq!(check(&[host, ("authorization", "Bearer")]), Some(401));
        assert_eq!(check(&[auth]), Some(403));
        assert_eq!(check(&[("host", "evil.example"), auth]), Some(403));
        assert_eq!(check(&[("host", "127.0.0.1.evil.example"), auth]), Some(403));
        assert_eq!(check(&[host, auth, ("origin", "http://127.0.0.1.evil.example")]), Some(403));
        assert_eq!(check(&[host, auth, ("origin", "null")]), Some(403));
    }
}
