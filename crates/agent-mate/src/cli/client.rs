//! Speaking to the coordinator over its HTTP interface.

use super::{
    address,
    exit::{Exit, Failure},
    sse,
};
use http::{HeaderName, HeaderValue, Method, header};
use mate_engine::{Home, SocketPath};
use mate_http::{BodyFault, Endpoint, Failed, Request, Response, Trust};
use mate_model::Entropy;
use serde::Serialize;
use serde_json::Value;
use std::{env, sync::Arc, time::Duration};
use zeroize::Zeroizing;

/// How long the coordinator may take to answer.
const ANSWER: Duration = Duration::from_secs(60);
/// Without a heartbeat for this long, a stream is taken for dead.
const SILENCE: Duration = Duration::from_secs(45);
/// The longest answer that is taken.
const LIMIT: usize = 64 * 1024 * 1024;

/// A connection to the coordinator.
pub(crate) struct Client {
    http: mate_http::Client,
    authorization: HeaderValue,
    entropy: Arc<dyn Entropy>,
    /// Kept for as long as connections may be opened through it.
    _socket: Option<SocketPath>,
}

impl Client {
    /// Over the socket in the home, or to `AGENT_MATE_URL`; with the token of `AGENT_MATE_TOKEN`, or of the home.
    ///
    /// # Errors
    /// When there is no token, or the address is none.
    pub(crate) fn connect(home: &Home, entropy: Arc<dyn Entropy>) -> Result<Self, Failure> {
        let bearer = Zeroizing::new(format!("Bearer {}", bearer(home)?.as_str()));
        let mut authorization = HeaderValue::from_str(&bearer)
            .map_err(|_| Failure::new(Exit::NotFound, "bad_token", "the token cannot be sent"))?;
        authorization.set_sensitive(true);
        let mut socket = None;
        let endpoint = match env::var("AGENT_MATE_URL") {
            Ok(url) if !url.is_empty() => Endpoint::parse(&url).map_err(|why| {
                Failure::usage(format!(
                    "AGENT_MATE_URL is not an address such as http://127.0.0.1:7717: {why}"
                ))
            })?,
            Ok(_) | Err(_) => {
                let way = SocketPath::of(&home.socket()).map_err(|error| {
                    Failure::new(Exit::Unreachable, "no_home", format!("{}: {error}", home.path().display()))
                })?;
                let path = way.path().to_owned();
                socket = Some(way);
                Endpoint::unix(path)
            }
        };
        let http = mate_http::Client::new(endpoint, &Trust::Machine).map_err(Failure::usage)?;
        Ok(Self { http, authorization, entropy, _socket: socket })
    }

    /// Reads.
    pub(crate) async fn get(&self, path: &[&str], query: &[(&str, String)]) -> Result<Value, Failure> {
        self.document(self.request(Method::GET, path, query)?).await
    }

    /// Writes, under an idempotency key: `key`, or a fresh one.
    pub(crate) async fn post(
        &self,
        path: &[&str],
        body: &impl Serialize,
        key: Option<&str>,
    ) -> Result<Value, Failure> {
        let fresh = self.entropy.uuid().to_string();
        let key = HeaderValue::from_str(key.unwrap_or(&fresh))
            .map_err(|_| Failure::usage("the idempotency key must be printable ASCII"))?;
        let body = serde_json::to_vec(body)
            .map_err(|error| Failure::internal(format!("the request cannot be written: {error}")))?;
        let request = self
            .request(Method::POST, path, &[])?
            .header(HeaderName::from_static("idempotency-key"), key)
            .header(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))
            .body(body);
        self.document(request).await
    }

    /// Removes.
    pub(crate) async fn delete(&self, path: &[&str]) -> Result<Value, Failure> {
        self.document(self.request(Method::DELETE, path, &[])?).await
    }

    /// An artifact's content, to be read piece by piece.
    pub(crate) async fn content(&self, artifact: &str) -> Result<Response, Failure> {
        let request = self.request(Method::GET, &["artifacts", artifact, "content"], &[])?;
        bounded(async { accepted(self.send(&request).await?).await }).await
    }

    /// Events as they come, of what a path names, after a cursor.
    pub(crate) async fn events(&self, path: &[&str], after: Option<&str>) -> Result<Events, Failure> {
        let query: Vec<_> = after.map(|after| ("after", after.to_owned())).into_iter().collect();
        let request = self
            .request(Method::GET, path, &query)?
            .header(header::ACCEPT, HeaderValue::from_static("text/event-stream"));
        let response = bounded(async { accepted(self.send(&request).await?).await }).await?;
        Ok(Events { response, reader: sse::Reader::default() })
    }

    fn request(&self, method: Method, path: &[&str], query: &[(&str, String)]) -> Result<Request, Failure> {
        // The address would swallow these instead of asking for them.
        if let Some(odd) = path.iter().find(|part| matches!(**part, "" | "." | "..")) {
            return Err(Failure::usage(format!("`{odd}` is no name and no id")));
        }
        let target = address::target(self.http.endpoint().target().path(), path, query)
            .map_err(|why| Failure::usage(format!("this cannot be asked for: {why}")))?;
        Ok(Request::new(method, target).header(header::AUTHORIZATION, self.authorization.clone()))
    }

    async fn send(&self, request: &Request) -> Result<Response, Failure> {
        self.http.send(request, || true).await.map_err(|failed| match failed {
            Failed::NotSent(why) | Failed::Unknown(why) => unreachable(&why),
            Failed::CalledOff => silent(),
        })
    }

    async fn document(&self, request: Request) -> Result<Value, Failure> {
        let body = bounded(async { body(accepted(self.send(&request).await?).await?).await }).await?;
        if body.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&body)
            .map_err(|error| Failure::internal(format!("the coordinator's answer is not JSON: {error}")))
    }
}

/// A stream of events.
pub(crate) struct Events {
    response: Response,
    reader: sse::Reader,
}

impl Events {
    /// The next events; `None` at the end of the stream.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<sse::Frame>>, Failure> {
        loop {
            let piece = tokio::time::timeout(SILENCE, self.response.chunk()).await.map_err(|_| silent())?;
            let Some(piece) = piece.map_err(|fault| unreachable(&fault.to_string()))? else {
                return Ok(None);
            };
            let frames = self.reader.push(&piece).map_err(Failure::internal)?;
            if !frames.is_empty() {
                return Ok(Some(frames));
            }
        }
    }
}

/// Within the time that an answer may take.
async fn bounded<T>(asking: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    tokio::time::timeout(ANSWER, asking).await.unwrap_or_else(|_| Err(silent()))
}

async fn accepted(response: Response) -> Result<Response, Failure> {
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let body = body(response).await.unwrap_or_default();
    Err(Failure::of_problem(status.as_u16(), &body))
}

async fn body(response: Response) -> Result<Vec<u8>, Failure> {
    response.body(LIMIT).await.map_err(|fault| match fault {
        BodyFault::TooLong(_) => {
            Failure::internal("the coordinator's answer is longer than 64 MiB: ask for less with --limit")
        }
        BodyFault::Broken(why) => unreachable(&why),
    })
}

fn bearer(home: &Home) -> Result<Zeroizing<String>, Failure> {
    if let Ok(token) = env::var("AGENT_MATE_TOKEN")
        && !token.is_empty()
    {
        return checked(Zeroizing::new(token), "AGENT_MATE_TOKEN");
    }
    let file = home.token();
    let token = std::fs::read_to_string(&file).map_err(|error| {
        let detail = if home.path().exists() {
            format!("{} cannot be read ({error}): set AGENT_MATE_TOKEN", file.display())
        } else {
            format!(
                "{} is no home yet: run `agent-mate init`, or say which with --home",
                home.path().display()
            )
        };
        Failure::new(Exit::NotFound, "no_token", detail)
    })?;
    checked(Zeroizing::new(token), "the home's file `token`")
}

/// What cannot be a token is not sent; it may be some other secret.
fn checked(token: Zeroizing<String>, source: &str) -> Result<Zeroizing<String>, Failure> {
    let token = Zeroizing::new(token.trim().to_owned());
    match mate_guard::ApiToken::parse(&token) {
        Ok(_) => Ok(token),
        Err(why) => Err(Failure::new(Exit::NotFound, "bad_token", format!("{source}: {why}"))),
    }
}

fn silent() -> Failure {
    Failure::new(
        Exit::Unreachable,
        "no_answer",
        "the coordinator does not answer: is `agent-mate serve` stopped or overloaded?",
    )
}

fn unreachable(cause: &str) -> Failure {
    Failure::new(
        Exit::Unreachable,
        "unreachable",
        format!(
            "no coordinator answers ({cause}): start one with `agent-mate serve`; sessions go on without it"
        ),
    )
}
