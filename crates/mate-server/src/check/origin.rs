//! `Origin`: pages of other sites may not speak to this service through a visitor's browser.

use crate::problem::Problem;
use http::{HeaderMap, StatusCode, header};

/// No origin, or this service's own: `http` or `https`, and the very host that the request names.
pub(crate) fn check(headers: &HeaderMap, host: &str) -> Result<(), Problem> {
    let mut given = headers.get_all(header::ORIGIN).iter();
    let Some(origin) = given.next() else { return Ok(()) };
    let own = origin
        .to_str()
        .ok()
        .and_then(|text| text.strip_prefix("http://").or_else(|| text.strip_prefix("https://")));
    if given.next().is_none() && !host.is_empty() && own.is_some_and(|own| own.eq_ignore_ascii_case(host)) {
        return Ok(());
    }
    Err(Problem::new(
        StatusCode::FORBIDDEN,
        "wrong_origin",
        "Not from this service's own pages",
        "a browser may call this service from its own pages only",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    #[test]
    fn none_or_the_same() {
        let with =
            |origin: &'static str| HeaderMap::from_iter([(header::ORIGIN, HeaderValue::from_static(origin))]);
        assert!(check(&HeaderMap::new(), "localhost:7717").is_ok());
        assert!(check(&with("http://localhost:7717"), "localhost:7717").is_ok());
        for bad in ["null", "", "http://localhost:9999", "http://evil.example", "localhost:7717", "file://"] {
            assert!(check(&with(bad), "localhost:7717").is_err(), "{bad}");
        }
        assert!(check(&with("http://"), "").is_err());
    }
}
