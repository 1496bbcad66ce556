//! Why an address could not be greeted: a greeting by hand that looks at what the transport does not pass on.
//!
//! A greeting has no effect, so it may be sent again.

use super::{Code, Finding, explain};
use crate::{
    config::{HttpSpec, Limits},
    upstream::{Door, Knock, is_refused, knocks},
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header, uri::PathAndQuery};
use mate_http::{Client, Endpoint, Failed, Request, Response, Trust};
use std::time::Duration;

/// How long the second look may take.
const PATIENCE: Duration = Duration::from_secs(15);

/// What is wrong with an address that was not greeted.
pub(super) async fn explain(spec: &HttpSpec, why: &str, limits: &Limits) -> Finding {
    if let Some(handshake) = explain::handshake(why) {
        return handshake;
    }
    let looked = tokio::time::timeout(PATIENCE.min(limits.start), look(spec)).await;
    let no_answer = || {
        Finding::new(
            Code::NoAnswer,
            format!("nothing came from the server: {why}"),
            "check that the server is up and that nothing between holds its answers back",
        )
    };
    match looked {
        Err(_) => no_answer(),
        Ok(Err(finding)) => finding,
        Ok(Ok(None)) if why.contains("did not answer within") => no_answer(),
        Ok(Ok(None)) => Finding::new(
            Code::NotMcp,
            format!("what answers there is no MCP server: {why}"),
            "check the address: it is the server's MCP endpoint, often with the path /mcp",
        ),
        Ok(Ok(Some(finding))) => finding,
    }
}

async fn look(spec: &HttpSpec) -> Result<Option<Finding>, Finding> {
    let endpoint = Endpoint::parse(&spec.url).map_err(|why| explain::unusable(&why))?;
    let target = endpoint.target().clone();
    let client = Client::new(endpoint, &Trust::Machine).map_err(|why| explain::unusable(&why))?;
    let client = Door::new(client, spec.live.clone());
    let response = knock(spec, &client, &target).await.map_err(|failed| unreached(&failed))?;
    if matches!(
        response.status(),
        StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED | StatusCode::BAD_REQUEST
    ) {
        let get = Request::new(Method::GET, target)
            .headers(own_headers(spec))
            .header(header::ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Ok(stream) = client.send(&get, || true).await
            && stream.status().is_success()
            && is_of_type(&stream, "text/event-stream")
        {
            return Ok(Some(Finding::new(
                Code::SseOnly,
                "the server speaks the old HTTP+SSE transport, which MCP has replaced and Agent Mate does not speak",
                "look for its Streamable HTTP endpoint, often the same address with /mcp in place of /sse",
            )));
        }
    }
    Ok(answered(Shown::by(spec).await, &response))
}

/// Why a server that was greeted does not let its tools be listed, if that is who asks.
pub(super) async fn refused(spec: &HttpSpec, limits: &Limits) -> Option<Finding> {
    let look = async {
        let endpoint = Endpoint::parse(&spec.url).ok()?;
        let target = endpoint.target().clone();
        let client = Door::new(Client::new(endpoint, &Trust::Machine).ok()?, spec.live.clone());
        let response = knock(spec, &client, &target).await.ok()?;
        if is_refused(response.status()) { answered(Shown::by(spec).await, &response) } else { None }
    };
    tokio::time::timeout(PATIENCE.min(limits.start), look).await.ok().flatten()
}

/// The first answer that refuses whoever asks; the answer to the greeting where none does.
async fn knock(spec: &HttpSpec, client: &Door, target: &PathAndQuery) -> Result<Response, Failed> {
    let mut first = None;
    for Knock { headers, body } in knocks() {
        let mut all = own_headers(spec);
        all.extend(headers);
        let request = Request::new(Method::POST, target.clone()).headers(all).body(body);
        match client.send(&request, || true).await {
            Ok(response) if is_refused(response.status()) => return Ok(response),
            Ok(response) => {
                // It is not read: the next one goes over a connection of its own.
                client.forget();
                first.get_or_insert(Ok(response));
            }
            Err(failed) => {
                first.get_or_insert(Err(failed));
                break;
            }
        }
    }
    first.unwrap_or(Err(Failed::CalledOff))
}

/// What a server was shown of who calls.
#[derive(Clone, Copy)]
enum Shown {
    Nothing,
    /// A header that somebody gave the connection.
    Header,
    /// A token from the connection's authorisation.
    Authorisation,
}

impl Shown {
    async fn by(spec: &HttpSpec) -> Self {
        let authorises = |(name, _): &(String, String)| name.eq_ignore_ascii_case("authorization");
        let live = match &spec.live {
            Some(live) => live.current().await.unwrap_or_default(),
            None => Vec::new(),
        };
        if live.iter().any(authorises) {
            Self::Authorisation
        } else if spec.headers.iter().any(authorises) {
            Self::Header
        } else {
            Self::Nothing
        }
    }
}

fn own_headers(spec: &HttpSpec) -> HeaderMap {
    let pair = |(name, value): &(String, String)| {
        let mut value = HeaderValue::try_from(value).ok()?;
        value.set_sensitive(true);
        Some((HeaderName::try_from(name).ok()?, value))
    };
    spec.headers.iter().filter_map(pair).collect()
}

fn is_of_type(response: &Response, wanted: &str) -> bool {
    let value = response.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    value.is_some_and(|value| {
        value.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case(wanted))
    })
}

fn unreached(failed: &Failed) -> Finding {
    let why = failed.to_string();
    let finding = |code, next: &str| Finding::new(code, format!("the server cannot be reached: {why}"), next);
    if matches!(failed, Failed::Unknown(_)) {
        return finding(
            Code::BrokeOff,
            "check http against https, and what stands between here and the server",
        );
    }
    for (part, code, next) in [
        ("not valid for", Code::CertificateName, "use a name that the server's certificate is for"),
        (
            "CaUsedAsEndEntity",
            Code::CertificateIssuer,
            "the server shows an authority's certificate as its own: give it one of its own",
        ),
        ("expired", Code::CertificateTime, "renew the server's certificate, or set this machine's clock"),
        (
            "not valid yet",
            Code::CertificateTime,
            "set this machine's clock, or the server's certificate right",
        ),
        (
            "peer certificate",
            Code::CertificateIssuer,
            "add the issuer's certificate to the machine's, or set SSL_CERT_FILE for `agent-mate serve`",
        ),
        (
            "TLS",
            Code::Tls,
            "check that the server speaks TLS at this port; if it does not, the address begins with http://",
        ),
        (
            "host is not found",
            Code::HostNotFound,
            "check the name in the address, and this machine's name service",
        ),
        ("refused", Code::ConnectionRefused, "start the server, or check the port in the address"),
        ("no connection within", Code::NoAnswer, "check that the server is up, and the firewalls between"),
    ] {
        if why.contains(part) {
            return finding(code, next);
        }
    }
    finding(Code::BrokeOff, "check that the server is up, and the way to it")
}

/// What an answer of HTTP says; `None` where HTTP is content.
fn answered(shown: Shown, response: &Response) -> Option<Finding> {
    let status = response.status();
    let number = status.as_u16();
    let detail = |words: &str| format!("the server answers with HTTP {number}: {words}");
    let challenge = response.headers().get(header::WWW_AUTHENTICATE).and_then(|value| value.to_str().ok());
    let scope = challenge.is_some_and(|challenge| challenge.contains("insufficient_scope"));
    Some(match number {
        200..=299 => return None,
        401 => match shown {
            Shown::Authorisation => Finding::new(
                Code::TokenRefused,
                detail("it does not take the token of the connection's authorisation"),
                "authorise it again: agent-mate connection authorize NAME",
            ),
            Shown::Header => Finding::new(
                Code::TokenRefused,
                detail("it does not take the token that it was given"),
                "give it a new one: agent-mate connection rotate NAME --header Authorization=@FILE",
            ),
            Shown::Nothing => Finding::new(
                Code::NeedsAuthorization,
                detail("it wants to know who calls"),
                "authorise the connection: agent-mate connection authorize NAME; or give it a token: \
                 agent-mate connection rotate NAME --header Authorization=@FILE",
            ),
        },
        403 if scope => Finding::new(
            Code::InsufficientScope,
            detail("what was authorised does not allow this"),
            "authorise it again with more: agent-mate connection authorize NAME --scope SCOPES",
        ),
        403 => Finding::new(
            Code::Forbidden,
            detail("it refuses this caller"),
            "ask who runs it what this account may do; a proxy on the way may refuse as well",
        ),
        404 | 405 => Finding::new(
            Code::WrongPath,
            detail("there is no MCP endpoint at this path"),
            "check the path: often it is /mcp",
        ),
        300..=399 => Finding::new(
            Code::Redirected,
            detail(&format!("it sends callers to {}; Agent Mate follows nothing", target(response))),
            "if you trust that place, remove the connection and add it with that address",
        ),
        500..=599 => Finding::new(
            Code::ServerError,
            detail("it is out of order, or what it stands on is"),
            "look into the server's own logs, and try again",
        ),
        _ => Finding::new(
            Code::HttpStatus,
            detail("it does not take the greeting"),
            "look into the server's own logs",
        ),
    })
}

/// Where a redirect leads, without a query, which may hold a secret.
fn target(response: &Response) -> String {
    let location = response.headers().get(header::LOCATION).and_then(|value| value.to_str().ok());
    let plain = location.map(|text| text.split(['?', '#']).next().unwrap_or_default());
    plain.filter(|text| !text.is_empty()).unwrap_or("nowhere").chars().take(500).collect()
}
