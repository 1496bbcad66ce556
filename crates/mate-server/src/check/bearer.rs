//! The bearer token: on every request, on the Unix socket too.

use crate::{ServerState, extract::Caller, problem::Problem};
use http::{HeaderMap, header};
use mate_engine::EngineError;

pub(crate) async fn check(state: &ServerState, headers: &HeaderMap) -> Result<Caller, Problem> {
    let token = token_of(headers).ok_or(EngineError::NotAuthenticated)?;
    let who = state.engine.authenticate(token).await?;
    Ok(Caller { who, bearer: token.into() })
}

/// The token of the one `Authorization` header.
fn token_of(headers: &HeaderMap) -> Option<&str> {
    let mut given = headers.get_all(header::AUTHORIZATION).iter();
    let (scheme, token) = given.next()?.to_str().ok()?.split_once(' ')?;
    (given.next().is_none() && scheme.eq_ignore_ascii_case("bearer")).then(|| token.trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    #[test]
    fn one_bearer_header_and_no_other() {
        let headers = |values: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(header::AUTHORIZATION, HeaderValue::from_static(value));
            }
            headers
        };
        assert_eq!(token_of(&headers(&["Bearer am_x"])), Some("am_x"));
        assert_eq!(token_of(&headers(&["bearer am_x"])), Some("am_x"));
        for bad in [&[][..], &["am_x"], &["Basic am_x"], &["Bearer am_x", "Bearer am_y"]] {
            assert_eq!(token_of(&headers(bad)), None, "{bad:?}");
        }
    }
}
