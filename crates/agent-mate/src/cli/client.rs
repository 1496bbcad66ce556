//! Speaking to the coordinator over its HTTP interface.

use super::{
    exit::{Exit, Failure},
    sse,
};
use futures_util::StreamExt;
use mate_engine::Home;
use mate_model::Entropy;
use reqwest::{Method, RequestBuilder, Response, Url, header};
use serde::Serialize;
use serde_json::Value;
use std::{env, sync::Arc, time::Duration};
use zeroize::Zeroizing;

/// How long the coordinator may take to answer.
const ANSWER: Duration = Duration::from_secs(60);
/// Without a heartbeat for this long, a stream is taken for dead.
const SILENCE: Duration = Duration::from_secs(45);
const CONNECT: Duration = Duration::from_secs(5);
/// The longest answer that is taken.
const LIMIT: usize = 64 * 1024 * 1024;

/// A connection to the coordinator.
pub(crate) struct Client {
    http: reqwest::Client,
    base: Url,
    bearer: Zeroizing<String>,
    entropy: Arc<dyn Entropy>,
}

impl Client {
    /// Over the socket in the home, or to `AGENT_MATE_URL`; with the token of `AGENT_MATE_TOKEN`, or of the home.
    ///
    /// # Errors
    /// When there is no token, or the address is none.
    pub(crate) fn connect(home: &Home, entropy: Arc<dyn Entropy>) -> Result<Self, Failure> {
        // Fails only if it was done already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let bearer = bearer(home)?;
        let builder = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT);
        let (builder, base) = match env::var("AGENT_MATE_URL") {
            Ok(url) if !url.is_empty() => (builder, url),
            Ok(_) | Err(_) => (builder.unix_socket(home.socket()), "http://localhost".to_owned()),
        };
        let base =
            Url::parse(&base).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        let base = base.ok_or_else(|| {
            Failure::usage("AGENT_MATE_URL is not an address such as http://127.0.0.1:7717")
        })?;
        let http = builder.build().map_err(|error| Failure::internal(format!("no HTTP client: {error}")))?;
        Ok(Self { http, base, bearer, entropy })
    }

    /// Reads.
    pub(crate) async fn get(&self, path: &[&str], query: &[(&str, String)]) -> Result<Value, Failure> {
        let request = self.request(Method::GET, path, query)?.timeout(ANSWER);
        document(request).await
    }

    /// Writes, under an idempotency key: `key`, or a fresh one.
    pub(crate) async fn post(
        &self,
        path: &[&str],
        body: &impl Serialize,
        key: Option<&str>,
    ) -> Result<Value, Failure> {
        let fresh = self.entropy.uuid().to_string();
        let request = self.request(Method::POST, path, &[])?.header("Idempotency-Key", key.unwrap_or(&fresh));
        document(request.json(body).timeout(ANSWER)).await
    }

    /// Removes.
    pub(crate) async fn delete(&self, path: &[&str]) -> Result<Value, Failure> {
        document(self.request(Method::DELETE, path, &[])?.timeout(ANSWER)).await
    }

    /// A task's events as they come, after a cursor.
    pub(crate) async fn events(&self, task: &str, after: Option<&str>) -> Result<Events, Failure> {
        let query: Vec<_> = after.map(|after| ("after", after.to_owned())).into_iter().collect();
        let request = self
            .request(Method::GET, &["tasks", task, "events"], &query)?
            .header(header::ACCEPT, "text/event-stream");
        let response = tokio::time::timeout(ANSWER, request.send())
            .await
            .map_err(|_| silent())?
            .map_err(|error| unreachable(&error))?;
        let response = accepted(response).await?;
        Ok(Events { response, reader: sse::Reader::default() })
    }

    fn request(
        &self,
        method: Method,
        path: &[&str],
        query: &[(&str, String)],
    ) -> Result<RequestBuilder, Failure> {
        // The address would swallow these instead of asking for them.
        if let Some(odd) = path.iter().find(|part| matches!(**part, "" | "." | "..")) {
            return Err(Failure::usage(format!("`{odd}` is no name and no id")));
        }
        let mut url = self.base.clone();
        url.path_segments_mut()
            .map_err(|()| Failure::usage("AGENT_MATE_URL cannot carry a path"))?
            .pop_if_empty()
            .extend(["api", "v1"])
            .extend(path);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        Ok(self.http.request(method, url).bearer_auth(self.bearer.as_str()))
    }
}

/// A stream of a task's events.
pub(crate) struct Events {
    response: Response,
    reader: sse::Reader,
}

impl Events {
    /// The next events; `None` at the end of the stream.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<sse::Frame>>, Failure> {
        loop {
            let piece = tokio::time::timeout(SILENCE, self.response.chunk()).await.map_err(|_| silent())?;
            let Some(piece) = piece.map_err(|error| unreachable(&error))? else { return Ok(None) };
            let frames = self.reader.push(&piece).map_err(Failure::internal)?;
            if !frames.is_empty() {
                return Ok(Some(frames));
            }
        }
    }
}

async fn document(request: RequestBuilder) -> Result<Value, Failure> {
    let response = request.send().await.map_err(|error| unreachable(&error))?;
    let body = body(accepted(response).await?).await?;
    if body.is_empty() {
        return Ok(Value::Null);
    }
    serde_json::from_slice(&body)
        .map_err(|error| Failure::internal(format!("the coordinator's answer is not JSON: {error}")))
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
    let mut body = Vec::new();
    let mut pieces = response.bytes_stream();
    while let Some(piece) = pieces.next().await {
        body.extend_from_slice(&piece.map_err(|error| unreachable(&error))?);
        if body.len() > LIMIT {
            return Err(Failure::internal(
                "the coordinator's answer is longer than 64 MiB: ask for less with --limit",
            ));
        }
    }
    Ok(body)
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

fn unreachable(error: &reqwest::Error) -> Failure {
    if error.is_timeout() {
        return silent();
    }
    // The innermost cause says what happened; the outer ones only that it did.
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    Failure::new(
        Exit::Unreachable,
        "unreachable",
        format!(
            "no coordinator answers ({cause}): start one with `agent-mate serve`; sessions go on without it"
        ),
    )
}
