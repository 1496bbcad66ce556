//! Small requests to authorisation servers.

use super::Fault;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header, uri::PathAndQuery};
use mate_http::{Client, Endpoint, Failed, Request, Response, Trust};
use serde_json::Value;
use std::time::Duration;

/// The longest answer.
const ANSWER: usize = 256 << 10;
/// How long one exchange may take.
const PATIENCE: Duration = Duration::from_secs(15);

/// An answer: its status, its headers, and its body if that is JSON.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) json: Option<Value>,
}

/// Reads a document.
pub(super) async fn get(url: &str) -> Result<Answer, Fault> {
    send(url, |request| request, Method::GET).await
}

/// Posts a form, with a password if there is one.
pub(super) async fn post_form(
    url: &str,
    form: &[(&str, &str)],
    basic: Option<&str>,
) -> Result<Answer, Fault> {
    let pairs: Vec<String> =
        form.iter().map(|(name, value)| format!("{}={}", encoded(name), encoded(value))).collect();
    let authorization = basic
        .map(|basic| HeaderValue::try_from(format!("Basic {basic}")))
        .transpose()
        .map_err(|_| Fault::unfit("the client's secret cannot be sent"))?;
    let dress = |request: Request| {
        let request = request
            .header(header::CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"))
            .body(pairs.join("&"));
        match authorization {
            Some(mut value) => {
                value.set_sensitive(true);
                request.header(header::AUTHORIZATION, value)
            }
            None => request,
        }
    };
    send(url, dress, Method::POST).await
}

/// Posts what has its own headers. The answer's body is not read: it may be a stream without end.
pub(super) async fn knock(url: &str, headers: HeaderMap, body: String) -> Result<Answer, Fault> {
    let dress = |request: Request| request.headers(headers).body(body);
    let read = async |response: Response| {
        Ok(Answer { status: response.status(), headers: response.headers().clone(), json: None })
    };
    exchange(url, dress, Method::POST, read).await
}

/// Posts a JSON document.
pub(super) async fn post_json(url: &str, body: &Value) -> Result<Answer, Fault> {
    let dress = |request: Request| {
        request
            .header(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))
            .body(body.to_string())
    };
    send(url, dress, Method::POST).await
}

async fn send(url: &str, dress: impl FnOnce(Request) -> Request, method: Method) -> Result<Answer, Fault> {
    exchange(url, dress, method, async |response| read(url, response).await).await
}

async fn exchange(
    url: &str,
    dress: impl FnOnce(Request) -> Request,
    method: Method,
    read: impl AsyncFnOnce(Response) -> Result<Answer, Fault>,
) -> Result<Answer, Fault> {
    let endpoint =
        Endpoint::parse(url).map_err(|why| Fault::unfit(format!("{} cannot be used: {why}", shown(url))))?;
    let target: PathAndQuery = endpoint.target().clone();
    let client = Client::new(endpoint, &Trust::Machine).map_err(Fault::NotSent)?;
    let request =
        Request::new(method, target).header(header::ACCEPT, HeaderValue::from_static("application/json"));
    let request = dress(request);
    let exchange = async {
        let response = client.send(&request, || true).await.map_err(|failed| unreached(url, &failed))?;
        read(response).await
    };
    let late = || Fault::Unknown(format!("{} did not answer within {} s", shown(url), PATIENCE.as_secs()));
    tokio::time::timeout(PATIENCE, exchange).await.unwrap_or_else(|_| Err(late()))
}

async fn read(url: &str, response: Response) -> Result<Answer, Fault> {
    let (status, headers) = (response.status(), response.headers().clone());
    let body = response.body(ANSWER).await;
    let body = body.map_err(|fault| Fault::Unknown(format!("the answer of {}: {fault}", shown(url))))?;
    Ok(Answer { status, headers, json: serde_json::from_slice(&body).ok() })
}

fn unreached(url: &str, failed: &Failed) -> Fault {
    let why = format!("{}: {failed}", shown(url));
    if matches!(failed, Failed::Unknown(_)) { Fault::Unknown(why) } else { Fault::NotSent(why) }
}

/// An address without its query, which may hold a secret.
pub(super) fn shown(url: &str) -> &str {
    let plain = url.split(['?', '#']).next().unwrap_or_default();
    &plain[..plain.floor_char_boundary(300)]
}

/// As it stands in a form or a query.
pub(super) fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// The other way round; nothing if it is no such text.
pub(super) fn decoded(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits = [bytes.next()?, bytes.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            other => other,
        });
    }
    String::from_utf8(out).ok()
}
