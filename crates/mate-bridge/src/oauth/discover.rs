//! From a server's address to who may give tokens for it (RFC 9728).

use super::{
    Fault, Server,
    metadata::{demand_safe, is_local, split},
    wire::{self, Answer, shown},
};
use crate::upstream::{is_refused, knocks};
use http::header;
use serde_json::Value;

/// Who may give tokens, and for what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Discovered {
    /// The name of what the tokens are for: goes into each request (RFC 8707).
    pub resource: String,
    /// The scopes that the server asks for.
    pub scope: Option<String>,
    /// Who gives them.
    pub server: Server,
}

/// Asks the server at `url`, without credentials, who may give tokens for it.
///
/// # Errors
/// That it asks for none, or that what it says cannot be used.
pub async fn discover(url: &str) -> Result<Discovered, Fault> {
    let local = is_local(url);
    demand_safe(url, local)?;
    let answer = refusal(url).await?;
    let challenge = answer.headers.get(header::WWW_AUTHENTICATE).and_then(|value| value.to_str().ok());
    let named = challenge.and_then(|challenge| parameter(challenge, "resource_metadata"));
    let scope = challenge.and_then(|challenge| parameter(challenge, "scope"));
    let (_, path) = split(url);
    let (origin, _) = split(url);
    let mut places: Vec<String> = named.into_iter().collect();
    // What a server names is taken from its own origin only: it says for whom tokens are.
    places.retain(|place| split(place).0 == origin);
    if path.len() > 1 {
        places.push(format!("{origin}/.well-known/oauth-protected-resource{path}"));
    }
    places.push(format!("{origin}/.well-known/oauth-protected-resource"));
    for place in places {
        let Ok(answer) = wire::get(&place).await else { continue };
        let Some(json) = answer.json.filter(|_| answer.status.is_success()) else { continue };
        return read(url, &json, scope, local).await;
    }
    if answer.status.is_success() {
        return Err(Fault::unfit(
            "the server answers without any authorisation: there is nothing to authorise",
        ));
    }
    // Servers of the first releases are their own authorisation server.
    let server = Server::of(origin, local).await.map_err(|_| {
        Fault::unfit(format!(
            "{} does not say who gives tokens for it (no protected-resource metadata): give the connection a token instead",
            shown(url)
        ))
    })?;
    Ok(Discovered { resource: canonical(url), scope, server })
}

/// The answer that refuses a caller without credentials; the one to the greeting where none does.
async fn refusal(url: &str) -> Result<Answer, Fault> {
    let mut first = None;
    for knock in knocks() {
        let answer = wire::knock(url, knock.headers, knock.body).await;
        match (answer, &first) {
            (Ok(answer), _) if is_refused(answer.status) => return Ok(answer),
            (answer @ Err(_), None) => return answer,
            (answer, None) => first = Some(answer),
            (_, Some(_)) => {}
        }
    }
    first.unwrap_or_else(|| Err(Fault::unfit("the server was not asked")))
}

async fn read(url: &str, json: &Value, asked: Option<String>, local: bool) -> Result<Discovered, Fault> {
    let resource = json.get("resource").and_then(Value::as_str).unwrap_or_default();
    if !covers(resource, url) {
        return Err(Fault::unfit(format!(
            "the server says that it is {}: tokens for that are not sent to {}",
            shown(resource),
            shown(url)
        )));
    }
    let issuers = json.get("authorization_servers").and_then(Value::as_array).into_iter().flatten();
    let issuer = issuers.filter_map(Value::as_str).next();
    let issuer = issuer.ok_or_else(|| Fault::unfit("the server names no authorisation server"))?;
    let scopes = json
        .get("scopes_supported")
        .and_then(Value::as_array)
        .map(|scopes| scopes.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "));
    let server = Server::of(issuer, local).await?;
    let scope = asked.or(scopes).filter(|scope| !scope.is_empty());
    Ok(Discovered { resource: resource.to_owned(), scope, server })
}

/// Whether tokens for `resource` are for the server at `url`: the same origin, and the same path or one above.
fn covers(resource: &str, url: &str) -> bool {
    let ((origin, path), (its_origin, its_path)) = (split(resource), split(url));
    let path = path.trim_end_matches('/');
    let below = its_path.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    origin.eq_ignore_ascii_case(its_origin) && below
}

/// The name of a server that publishes none.
fn canonical(url: &str) -> String {
    let (origin, path) = split(url);
    format!("{}{}", origin.to_ascii_lowercase(), path.trim_end_matches('/'))
}

/// A parameter of a challenge, quoted or not.
fn parameter(challenge: &str, name: &str) -> Option<String> {
    let mut rest = challenge;
    while let Some(at) = rest.find(name) {
        let begins = at == 0 || rest[..at].ends_with([' ', ',', '\t']);
        let after = rest[at + name.len()..].trim_start();
        if let Some(value) = after.strip_prefix('=').filter(|_| begins) {
            let value = value.trim_start();
            return Some(match value.strip_prefix('"') {
                Some(quoted) => quoted.split('"').next().unwrap_or_default().to_owned(),
                None => value.split([',', ' ']).next().unwrap_or_default().to_owned(),
            });
        }
        rest = &rest[at + name.len()..];
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_are_read() {
        let challenge =
            r#"Bearer realm="a, scope=b", resource_metadata="https://a.example/x", scope="read write""#;
        assert_eq!(parameter(challenge, "resource_metadata").as_deref(), Some("https://a.example/x"));
        assert_eq!(parameter("Bearer scope=read, error=x", "scope").as_deref(), Some("read"));
        assert_eq!(parameter("Bearer", "scope"), None);
    }

    #[test]
    fn g09_tokens_are_for_their_own_server() {
        for (resource, fits) in [
            ("https://a.example/mcp", true),
            ("https://a.example", true),
            ("https://A.example/", true),
            ("https://a.example/m", false),
            ("https://a.example/mcp/x", false),
            ("https://b.example/mcp", false),
            ("http://a.example/mcp", false),
            ("https://a.example:444/mcp", false),
            ("", false),
        ] {
            assert_eq!(covers(resource, "https://a.example/mcp"), fits, "{resource}");
        }
    }
}
