//! What an authorisation server says of itself (RFC 8414, or OpenID Connect discovery).

use super::{Fault, wire};
use serde_json::Value;

/// An authorisation server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Its name, which is an address.
    pub issuer: String,
    /// Where a person says yes.
    pub authorization_endpoint: String,
    /// Where tokens are given.
    pub token_endpoint: String,
    /// Where clients make themselves known, if they may.
    pub registration_endpoint: Option<String>,
    /// How clients may prove themselves where tokens are given.
    pub client_methods: Vec<String>,
    /// It names itself in its answers (RFC 9207).
    pub says_issuer: bool,
    /// It takes addresses of documents as names of clients.
    pub takes_documents: bool,
    /// It gives refresh tokens to whoever asks for `offline_access`.
    pub offline: bool,
}

impl Server {
    /// Asks an issuer for its metadata, at the places that the standards name. `local`: the server whose tokens are wanted
    /// is on this machine, so this one may be as well.
    ///
    /// # Errors
    /// That there are none, or that they cannot be used.
    pub async fn of(issuer: &str, local: bool) -> Result<Self, Fault> {
        demand_safe(issuer, local)?;
        let mut last = None;
        for place in places(issuer) {
            match wire::get(&place).await {
                Ok(answer) if answer.status.is_success() => {
                    if let Some(json) = answer.json {
                        return Self::read(issuer, &json, local);
                    }
                }
                Ok(_) => {}
                Err(fault) => last = Some(fault),
            }
        }
        Err(last.unwrap_or_else(|| {
            Fault::unfit(format!("{} publishes no metadata of an authorisation server", wire::shown(issuer)))
        }))
    }

    fn read(issuer: &str, json: &Value, local: bool) -> Result<Self, Fault> {
        let text = |name: &str| json.get(name).and_then(Value::as_str).map(str::to_owned);
        let list = |name: &str| -> Vec<String> {
            let items = json.get(name).and_then(Value::as_array).into_iter().flatten();
            items.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let own = text("issuer").unwrap_or_default();
        if own.trim_end_matches('/') != issuer.trim_end_matches('/') {
            return Err(Fault::unfit(format!(
                "the metadata of {} are another issuer's",
                wire::shown(issuer)
            )));
        }
        if !list("code_challenge_methods_supported").iter().any(|method| method == "S256") {
            return Err(Fault::unfit(format!(
                "{} does not offer PKCE with S256, which MCP demands",
                wire::shown(issuer)
            )));
        }
        let wanted = |name: &'static str| {
            let url = text(name).ok_or_else(|| Fault::unfit(format!("its metadata name no {name}")))?;
            demand_safe(&url, local).map(|()| url)
        };
        let flag = |name: &str| json.get(name) == Some(&Value::Bool(true));
        Ok(Self {
            authorization_endpoint: wanted("authorization_endpoint")?,
            token_endpoint: wanted("token_endpoint")?,
            registration_endpoint: text("registration_endpoint")
                .map(|url| demand_safe(&url, local).map(|()| url))
                .transpose()?,
            client_methods: list("token_endpoint_auth_methods_supported"),
            says_issuer: flag("authorization_response_iss_parameter_supported"),
            takes_documents: flag("client_id_metadata_document_supported"),
            offline: list("scopes_supported").iter().any(|scope| scope == "offline_access"),
            issuer: own,
        })
    }
}

/// Where an issuer's metadata may be, by RFC 8414 and by OpenID Connect.
fn places(issuer: &str) -> Vec<String> {
    let (origin, path) = split(issuer);
    let path = path.trim_end_matches('/');
    let mut places = vec![
        format!("{origin}/.well-known/oauth-authorization-server{path}"),
        format!("{origin}/.well-known/openid-configuration{path}"),
    ];
    if !path.is_empty() {
        places.push(format!("{origin}{path}/.well-known/openid-configuration"));
    }
    places
}

/// Scheme and authority, and the path without a query.
pub(super) fn split(url: &str) -> (&str, &str) {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    let after_scheme = url.find("://").map_or(0, |at| at + 3);
    let path = url[after_scheme..].find('/').map_or(url.len(), |at| after_scheme + at);
    url.split_at(path)
}

/// Whether an address is on this machine.
pub(super) fn is_local(url: &str) -> bool {
    let (origin, _) = split(url);
    let authority = origin.split_once("://").map_or("", |(_, authority)| authority);
    if authority.contains('@') {
        return false;
    }
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// Codes and tokens go over TLS, or stay on this machine.
///
/// No address has user info: what looks like a host in it is none.
pub(super) fn demand_safe(url: &str, local: bool) -> Result<(), Fault> {
    if split(url).0.contains(['@', '\\']) || url.bytes().any(|b| !b.is_ascii_graphic()) {
        return Err(Fault::unfit(
            "an address of the authorisation server holds user info or characters that no address has: tokens are not \
             sent there",
        ));
    }
    if url.starts_with("https://") || (local && url.starts_with("http://") && is_local(url)) {
        return Ok(());
    }
    Err(Fault::unfit(format!("{} is no https address: tokens are not sent there", wire::shown(url))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_places_of_the_standards() {
        assert_eq!(
            places("https://a.example"),
            [
                "https://a.example/.well-known/oauth-authorization-server",
                "https://a.example/.well-known/openid-configuration"
            ]
        );
        assert_eq!(
            places("https://a.example/t/1/"),
            [
                "https://a.example/.well-known/oauth-authorization-server/t/1",
                "https://a.example/.well-known/openid-configuration/t/1",
                "https://a.example/t/1/.well-known/openid-configuration"
            ]
        );
    }

    #[test]
    fn g09_tokens_go_over_tls_or_stay_here() {
        for (url, local, safe) in [
            ("https://a.example/token", false, true),
            ("http://a.example/token", false, false),
            ("http://a.example/token", true, false),
            ("http://127.0.0.1:9/token", true, true),
            ("http://[::1]:9/token", true, true),
            ("http://127.0.0.1:9/token", false, false),
            ("http://localhost.evil.example/token", true, false),
            ("http://127.0.0.1@evil.example/", true, false),
            ("http://127.0.0.1:80@evil.example/auth", true, false),
            ("http://[::1]@evil.example/auth", true, false),
            ("https://a.example@evil.example/auth", false, false),
            ("https://a.example\\@evil.example/auth", false, false),
            ("https://a.example/auth\u{202e}", false, false),
            ("https://a.example/auth?hint=a@b.example", false, true),
            ("ftp://127.0.0.1/", true, false),
        ] {
            assert_eq!(demand_safe(url, local).is_ok(), safe, "{url} {local}");
        }
    }
}
