//! Clients, codes and tokens.

use super::{
    Fault, Server,
    wire::{self, Answer, decoded, encoded},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use std::{collections::BTreeMap, fmt};

/// What we are called at an authorisation server.
#[derive(Clone, PartialEq, Eq)]
pub struct Client {
    /// Its name there.
    pub id: String,
    /// Its secret, where it has one.
    pub secret: Option<String>,
    /// How it proves itself: `none`, `client_secret_basic` or `client_secret_post`.
    pub method: String,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Client {
    /// A client that the server knows already, by the first of its ways that we know.
    #[must_use]
    pub fn known(id: String, secret: Option<String>, server: &Server) -> Self {
        let posts = server.client_methods.iter().any(|method| method == "client_secret_post");
        let basic = server.client_methods.is_empty()
            || server.client_methods.iter().any(|method| method == "client_secret_basic");
        let method = match &secret {
            None => "none",
            Some(_) if posts && !basic => "client_secret_post",
            Some(_) => "client_secret_basic",
        };
        Self { id, secret, method: method.to_owned() }
    }
}

/// Tokens. Secret, so they do not print.
#[derive(Clone, PartialEq, Eq)]
pub struct Tokens {
    /// What requests show.
    pub access: String,
    /// What a new one is got with.
    pub refresh: Option<String>,
    /// For how many seconds the first one is good.
    pub expires_in: Option<i64>,
    /// What was allowed, where that is not all that was asked for.
    pub scope: Option<String>,
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens").field("expires_in", &self.expires_in).finish_non_exhaustive()
    }
}

/// Makes us known at a server that lets clients do so (RFC 7591).
///
/// # Errors
/// That it does not, or what it says.
pub async fn register(server: &Server, redirect_uri: &str, scope: Option<&str>) -> Result<Client, Fault> {
    let endpoint = server.registration_endpoint.as_ref().ok_or_else(|| {
        Fault::unfit(format!(
            "{} lets no client make itself known: register Agent Mate there by hand, and give --client-id (and --client-secret)",
            wire::shown(&server.issuer)
        ))
    })?;
    let mut wish = json!({
        "client_name": "Agent Mate",
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
        "application_type": "native",
    });
    if let Some(scope) = scope {
        wish["scope"] = scope.into();
    }
    let answer = wire::post_json(endpoint, &wish).await?;
    let json = accepted(server, answer)?;
    let text = |name: &str| json.get(name).and_then(Value::as_str).map(str::to_owned);
    let id = text("client_id").ok_or_else(|| Fault::unfit("the registration has no client_id"))?;
    let mut client = Client::known(id, text("client_secret"), server);
    if let Some(method) = text("token_endpoint_auth_method") {
        client.method = method;
    }
    Ok(client)
}

/// What is asked of a person.
#[derive(Clone, Copy, Debug)]
pub struct CodeGrant<'a> {
    /// Who asks.
    pub client: &'a Client,
    /// Where the answer goes.
    pub redirect_uri: &'a str,
    /// What for.
    pub resource: &'a str,
    /// How much.
    pub scope: Option<&'a str>,
}

/// Where a person is sent to say yes. `challenge` is of the verifier that [`exchange`] shows.
#[must_use]
pub fn authorization_url(endpoint: &str, asked: &CodeGrant<'_>, state: &str, challenge: &str) -> String {
    let mut query = vec![
        ("response_type", "code"),
        ("client_id", &asked.client.id),
        ("redirect_uri", asked.redirect_uri),
        ("state", state),
        ("code_challenge", challenge),
        ("code_challenge_method", "S256"),
        ("resource", asked.resource),
    ];
    if let Some(scope) = asked.scope {
        query.push(("scope", scope));
        if scope.split(' ').any(|scope| scope == "offline_access") {
            query.push(("prompt", "consent"));
        }
    }
    let query: Vec<String> = query.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
    let joint = if endpoint.contains('?') { '&' } else { '?' };
    format!("{endpoint}{joint}{}", query.join("&"))
}

/// What an address holds to which a person was sent back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Redirected(BTreeMap<String, String>);

impl Redirected {
    /// Reads the query of the address.
    ///
    /// # Errors
    /// That it holds none, or says something twice.
    pub fn read(address: &str) -> Result<Self, Fault> {
        let unfit = || {
            Fault::unfit(
                "this is not the address that the browser was sent back to: it has no code and no error",
            )
        };
        let (_, query) = address.trim().split_once('?').ok_or_else(unfit)?;
        let mut read = Self::default();
        for pair in query.split('#').next().unwrap_or_default().split('&') {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (name, value) = decoded(name).zip(decoded(value)).ok_or_else(unfit)?;
            if read.0.insert(name, value).is_some() {
                return Err(Fault::unfit("the address says something twice"));
            }
        }
        Ok(read)
    }

    /// One value of the address, not judged.
    #[must_use]
    pub fn word(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The code, after `state` and the issuer were compared.
    ///
    /// # Errors
    /// That it belongs to another request or another server, or that the person said no.
    pub fn code(&self, state: &str, issuer: &str, says_issuer: bool) -> Result<&str, Fault> {
        let text = |name: &str| self.0.get(name).map(String::as_str);
        if text("state") != Some(state) {
            return Err(Fault::unfit(
                "it answers another request than the last one: begin again with `connection authorize`",
            ));
        }
        match text("iss") {
            Some(other) if other != issuer => {
                return Err(Fault::unfit("it comes from another authorisation server: nothing was sent"));
            }
            None if says_issuer => {
                return Err(Fault::unfit("it does not say which authorisation server it comes from"));
            }
            Some(_) | None => {}
        }
        if let Some(error) = text("error") {
            return Err(Fault::Refused {
                issuer: wire::shown(issuer).to_owned(),
                error: error.to_owned(),
                description: text("error_description").map(str::to_owned),
            });
        }
        text("code").filter(|code| !code.is_empty()).ok_or_else(|| Fault::unfit("it has no code"))
    }
}

/// Gets tokens for a code.
///
/// # Errors
/// What the server says; a code is good once, so after any failure a person has to say yes again.
pub async fn exchange(
    token_endpoint: &str,
    asked: &CodeGrant<'_>,
    code: &str,
    verifier: &str,
) -> Result<Tokens, Fault> {
    let form = vec![
        ("grant_type", "authorization_code"),
        ("code", code),
        ("redirect_uri", asked.redirect_uri),
        ("code_verifier", verifier),
        ("resource", asked.resource),
    ];
    ask(token_endpoint, asked.client, form).await
}

/// Gets new tokens for a refresh token. Servers may take each only once.
///
/// # Errors
/// What the server says, and whether the request may have been taken.
pub async fn refresh(
    token_endpoint: &str,
    client: &Client,
    refresh_token: &str,
    resource: &str,
) -> Result<Tokens, Fault> {
    let form =
        vec![("grant_type", "refresh_token"), ("refresh_token", refresh_token), ("resource", resource)];
    ask(token_endpoint, client, form).await
}

async fn ask<'a>(
    endpoint: &str,
    client: &'a Client,
    mut form: Vec<(&'a str, &'a str)>,
) -> Result<Tokens, Fault> {
    let basic = match &client.secret {
        Some(secret) if client.method == "client_secret_basic" => {
            Some(STANDARD.encode(format!("{}:{}", encoded(&client.id), encoded(secret))))
        }
        Some(secret) if client.method == "client_secret_post" => {
            form.extend([("client_id", client.id.as_str()), ("client_secret", secret)]);
            None
        }
        Some(_) | None => {
            form.push(("client_id", &client.id));
            None
        }
    };
    let answer = wire::post_form(endpoint, &form, basic.as_deref()).await?;
    let json = accepted_at(endpoint, answer)?;
    let text = |name: &str| json.get(name).and_then(Value::as_str).map(str::to_owned);
    if !text("token_type").is_some_and(|kind| kind.eq_ignore_ascii_case("bearer")) {
        return Err(Fault::unfit("it gives tokens that are no bearer tokens"));
    }
    let access =
        text("access_token").filter(|token| !token.is_empty() && token.bytes().all(|b| b.is_ascii_graphic()));
    Ok(Tokens {
        access: access.ok_or_else(|| Fault::unfit("its answer has no token that can be sent"))?,
        refresh: text("refresh_token").filter(|token| !token.is_empty()),
        expires_in: json
            .get("expires_in")
            .and_then(Value::as_i64)
            .filter(|seconds| (0..=315_360_000).contains(seconds)),
        scope: text("scope"),
    })
}

fn accepted(server: &Server, answer: Answer) -> Result<Value, Fault> {
    accepted_at(&server.issuer, answer)
}

fn accepted_at(who: &str, answer: Answer) -> Result<Value, Fault> {
    let Answer { status, json, .. } = answer;
    let who = wire::shown(who).to_owned();
    if let Some(error) = json.as_ref().and_then(|json| json.get("error")).and_then(Value::as_str) {
        let description =
            json.as_ref().and_then(|json| json.get("error_description")).and_then(Value::as_str);
        let (error, description) =
            (error.to_owned(), description.map(|text| text.chars().take(500).collect()));
        return Err(Fault::Refused { issuer: who, error, description });
    }
    match json {
        Some(json) if status.is_success() => Ok(json),
        Some(_) | None if status.is_server_error() => {
            Err(Fault::Unknown(format!("{who} answers with HTTP {}", status.as_u16())))
        }
        Some(_) | None => Err(Fault::unfit(format!(
            "{who} answers with HTTP {} and nothing that can be used",
            status.as_u16()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_back_must_belong_to_what_was_asked() {
        let read = |text: &str| Redirected::read(text).expect("an address");
        let code = |text: &str, says| read(text).code("s", "https://a.example", says).map(str::to_owned);
        assert_eq!(
            code("http://127.0.0.1:1/callback?code=a%2Fb&state=s&iss=https%3A%2F%2Fa.example", true),
            Ok("a/b".to_owned())
        );
        assert_eq!(code("http://127.0.0.1:1/callback?code=x&state=s", false), Ok("x".to_owned()));
        for (text, says) in [
            ("http://h/?code=x&state=t", false),
            ("http://h/?code=x", false),
            ("http://h/?code=x&state=s", true),
            ("http://h/?code=x&state=s&iss=https%3A%2F%2Fb.example", false),
            ("http://h/?state=s", false),
        ] {
            assert!(matches!(code(text, says), Err(Fault::Unfit(_))), "{text}");
        }
        let no = code("http://h/?error=access_denied&state=s", false);
        assert!(matches!(no, Err(Fault::Refused { error, .. }) if error == "access_denied"));
        assert!(Redirected::read("x").is_err() && Redirected::read("http://h/?a=1&a=2").is_err());
    }

    #[test]
    fn a_person_is_sent_with_all_that_binds_the_answer() {
        let client = Client { id: "c 1".to_owned(), secret: None, method: "none".to_owned() };
        let asked = CodeGrant {
            client: &client,
            redirect_uri: "http://127.0.0.1:1/callback",
            resource: "https://a.example/mcp",
            scope: None,
        };
        let url = authorization_url("https://a.example/authorize", &asked, "st", "ch");
        for part in [
            "response_type=code",
            "client_id=c%201",
            "state=st",
            "code_challenge=ch",
            "code_challenge_method=S256",
            "resource=https%3A%2F%2Fa.example%2Fmcp",
        ] {
            assert!(url.contains(part), "{url}");
        }
    }
}
