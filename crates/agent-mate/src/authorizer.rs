//! Asking authorisation servers, for the coordinator.

use async_trait::async_trait;
use mate_bridge::oauth::{self, Client, CodeGrant, Fault, Redirected};
use mate_engine::{
    EngineError,
    oauth::{Authorizer, Held, Party, Pending, Wish},
};
use mate_guard::{Redactor, pkce};
use mate_model::{Clock, Entropy};
use std::sync::Arc;

/// Asks over HTTP.
pub(crate) struct OverHttp {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
}

/// The fault, told without `secrets`: a server may say back what it was sent.
fn refused<'a>(fault: &Fault, secrets: impl IntoIterator<Item = &'a String>) -> EngineError {
    let code = match fault {
        Fault::Refused { error, .. } if error == "access_denied" => "access_denied",
        Fault::Refused { .. } => "authorization_refused",
        Fault::NotSent(_) | Fault::Unknown(_) => "authorization_unreachable",
        Fault::Unfit(_) => "authorization_unfit",
    };
    match Redactor::new(secrets) {
        Ok(redactor) => EngineError::refused(code, redactor.shown(&fault.to_string(), 700)),
        Err(error) => EngineError::Internal(error.to_string()),
    }
}

/// A way back that only the machine of whoever asks can hear (RFC 8252).
fn demand_loopback(redirect_uri: &str) -> Result<(), EngineError> {
    let port =
        ["http://127.0.0.1:", "http://[::1]:"].iter().find_map(|start| redirect_uri.strip_prefix(start));
    let fits = port.is_some_and(|rest| {
        let (port, path) = rest.split_once('/').unwrap_or((rest, ""));
        port.parse::<u16>().is_ok_and(|port| port > 0) && path.bytes().all(|b| b.is_ascii_alphanumeric())
    });
    if fits {
        return Ok(());
    }
    Err(EngineError::invalid("redirect_uri", "must be http://127.0.0.1:PORT/PATH"))
}

#[async_trait]
impl Authorizer for OverHttp {
    async fn begin(&self, url: &str, wish: &Wish) -> Result<(Pending, String), EngineError> {
        demand_loopback(&wish.redirect_uri)?;
        let found = oauth::discover(url).await.map_err(|fault| refused(&fault, &wish.client_secret))?;
        let server = found.server;
        let scope = wish.scope.clone().or(found.scope).map(|scope| offline(scope, server.offline));
        let client = match &wish.client_id {
            Some(id) if id.starts_with("https://") && !server.takes_documents => {
                let why = "this authorisation server takes no addresses of documents: give the id that you got there";
                return Err(EngineError::invalid("client_id", why));
            }
            Some(id) => Client::known(id.clone(), wish.client_secret.clone(), &server),
            None => oauth::register(&server, &wish.redirect_uri, scope.as_deref())
                .await
                .map_err(|fault| refused(&fault, &wish.client_secret))?,
        };
        let asked = CodeGrant {
            client: &client,
            redirect_uri: &wish.redirect_uri,
            resource: &found.resource,
            scope: scope.as_deref(),
        };
        let (state, verifier) = (pkce::word(self.entropy.as_ref()), pkce::word(self.entropy.as_ref()));
        let challenge = pkce::challenge(&verifier);
        let address = oauth::authorization_url(&server.authorization_endpoint, &asked, &state, &challenge);
        let party = Party {
            issuer: server.issuer,
            token_endpoint: server.token_endpoint,
            client_id: client.id.clone(),
            client_secret: client.secret.clone(),
            client_method: client.method.clone(),
            resource: found.resource.clone(),
            scope: scope.clone(),
        };
        let pending = Pending {
            state: state.to_string(),
            verifier: verifier.to_string(),
            redirect_uri: wish.redirect_uri.clone(),
            says_issuer: server.says_issuer,
            asked_at: self.clock.now().0,
            party,
        };
        Ok((pending, address))
    }

    async fn finish(&self, pending: &Pending, redirected: &str) -> Result<(Held, Option<i64>), EngineError> {
        let party = &pending.party;
        let told = redirected.to_owned();
        let known = || pending.secrets().chain([&told]);
        let read = Redirected::read(redirected).map_err(|fault| refused(&fault, known()))?;
        // Also what the server says of a request that is not taken may hold the code.
        let sent = read.word("code").map(str::to_owned);
        let known = || known().chain(&sent);
        let code = read
            .code(&pending.state, &party.issuer, pending.says_issuer)
            .map_err(|fault| refused(&fault, known()))?;
        let client = Client {
            id: party.client_id.clone(),
            secret: party.client_secret.clone(),
            method: party.client_method.clone(),
        };
        let asked = CodeGrant {
            client: &client,
            redirect_uri: &pending.redirect_uri,
            resource: &party.resource,
            scope: party.scope.as_deref(),
        };
        let got = oauth::exchange(&party.token_endpoint, &asked, code, &pending.verifier).await;
        let tokens = got.map_err(|fault| refused(&fault, known()))?;
        let scope = tokens.scope.or_else(|| party.scope.clone());
        let held =
            Held { party: Party { scope, ..party.clone() }, access: tokens.access, refresh: tokens.refresh };
        Ok((held, tokens.expires_in))
    }
}

/// With the scope under which servers give refresh tokens, where they know it.
fn offline(scope: String, known: bool) -> String {
    if !known || scope.split(' ').any(|one| one == "offline_access") {
        return scope;
    }
    format!("{scope} offline_access")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g09_what_a_server_says_back_is_told_without_what_it_was_sent() {
        let (secret, verifier, code) = ("cl1ent:s3cret", "ver1f1er-0123456789", "c0de+0123/456");
        let fault = Fault::Refused {
            issuer: "https://a.example".to_owned(),
            error: format!("invalid {secret}"),
            description: Some(format!(
                "code={} verifier {verifier}",
                code.replace('+', "%2B").replace('/', "%2F")
            )),
        };
        let told = refused(&fault, &[secret, verifier, code].map(str::to_owned)).to_string();
        assert_eq!(told.matches("[redacted]").count(), 3, "{told}");
        assert!(told.contains("https://a.example refuses"), "{told}");
    }

    #[test]
    fn a_code_comes_back_to_the_machine_that_asked() {
        for good in ["http://127.0.0.1:7/callback", "http://[::1]:65535/", "http://127.0.0.1:1"] {
            assert!(demand_loopback(good).is_ok(), "{good}");
        }
        for bad in [
            "http://127.0.0.1/x",
            "http://127.0.0.1:0/x",
            "https://127.0.0.1:1/x",
            "http://127.0.0.1:1@evil.example/",
            "http://localhost:1/",
        ] {
            assert!(demand_loopback(bad).is_err(), "{bad}");
        }
    }
}
