//! `agent-mate connection authorize`: a person says yes in a browser, and the answer comes back to this machine.

use super::{
    Context,
    client::Client,
    exit::{Exit, Failure},
    input,
    show::{tell, text_at},
};
use clap::Args;
use mate_server::wire::{AuthorizeConnection, ConnectionAuthorized, SecretText};
use std::time::Duration;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

/// How long a person may take, unless `--timeout` says otherwise.
const PATIENCE: Duration = Duration::from_secs(600);
/// The longest request of a browser that is read, and for how long.
const REQUEST: usize = 16 << 10;
const BROWSER: Duration = Duration::from_secs(5);
/// Where the browser comes back to.
const PATH: &str = "/callback";

/// `connection authorize`
#[derive(Args, Debug)]
pub(crate) struct AuthorizeArgs {
    /// Its name or id
    connection: String,
    /// What to ask for; what the server names if absent
    #[arg(long, value_name = "SCOPES")]
    scope: Option<String>,
    /// What Agent Mate is called at the authorisation server; it makes itself known if absent
    #[arg(long, value_name = "ID")]
    client_id: Option<String>,
    /// Its secret there: VAR (from the environment), @FILE or - (standard input)
    #[arg(long, value_name = "VAR|@FILE|-", requires = "client_id")]
    client_secret: Option<String>,
    /// Hear the answer at this port; any free one if absent
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,
    /// Paste the address that the browser was sent to, where the browser is on another machine
    #[arg(long)]
    paste: bool,
}

/// Asks, waits for the answer, and hands it on.
pub(super) async fn run(args: AuthorizeArgs, context: &Context) -> Result<Exit, Failure> {
    if args.paste && args.client_secret.as_deref() == Some("-") {
        return Err(Failure::usage("only one of the secret and the address can come from standard input"));
    }
    let client = context.client()?;
    let listener = TcpListener::bind(("127.0.0.1", args.port))
        .await
        .map_err(|error| Failure::usage(format!("port {} cannot be listened on: {error}", args.port)))?;
    let address = listener.local_addr().map_err(|error| Failure::internal(error.to_string()))?;
    let wish = AuthorizeConnection {
        redirect_uri: format!("http://{address}{PATH}"),
        scope: args.scope,
        client_id: args.client_id,
        client_secret: args.client_secret.as_deref().map(secret).transpose()?,
    };
    let asked = client.post(&["connections", &args.connection, "authorize"], &wish, None).await?;
    // Not on standard output, which is for the answer.
    tell("Open this address in a browser and say yes there:");
    tell(&mate_guard::text::line(text_at(&asked, "url"), 8_000));
    let patience = context.timeout.unwrap_or(PATIENCE);
    let redirected = if args.paste {
        input::document("-", "the address that the browser was sent to")?.trim().to_owned()
    } else {
        let came = tokio::time::timeout(patience, came_back(&listener, &address.to_string())).await;
        came.map_err(|_| {
            Failure::new(Exit::TimedOut, "timed_out", "nobody came back in time: run it again")
        })??
    };
    done(&client, &args.connection, redirected, context).await
}

async fn done(
    client: &Client,
    connection: &str,
    redirected: String,
    context: &Context,
) -> Result<Exit, Failure> {
    let answer = ConnectionAuthorized { redirected: SecretText::new(redirected) };
    let done = client.post(&["connections", connection, "authorized"], &answer, None).await?;
    let refreshes =
        if done["refreshes"] == true { "" } else { ", and has to be authorised again when its token ends" };
    let what = format!("Connection {} is authorised{refreshes}.", text_at(&done, "name"));
    context.screen.made(&done, &what, &[format!("agent-mate connection check {connection}")])?;
    Ok(Exit::Done)
}

fn secret(given: &str) -> Result<SecretText, Failure> {
    let named = if given == "-" || given.starts_with('@') {
        format!("CLIENT_SECRET={given}")
    } else {
        given.to_owned()
    };
    let mut read = input::secrets(&[named])?;
    read.pop_first().map(|(_, secret)| secret).ok_or_else(|| Failure::usage("there is no secret"))
}

/// Waits for the browser; the address that it asks for. Other requests are told that there is nothing.
async fn came_back(listener: &TcpListener, authority: &str) -> Result<String, Failure> {
    loop {
        let (mut stream, _) =
            listener.accept().await.map_err(|error| Failure::internal(error.to_string()))?;
        let target = tokio::time::timeout(BROWSER, target(&mut stream)).await.ok().flatten();
        let fits =
            target.filter(|target| target.strip_prefix(PATH).is_some_and(|rest| rest.starts_with('?')));
        let (status, text) = match &fits {
            Some(_) => ("200 OK", "Thank you. You can close this window; the terminal says what came of it."),
            None => ("404 Not Found", "There is nothing here."),
        };
        let answer = format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\nReferrer-Policy: no-referrer\r\n\
             Cache-Control: no-store\r\nConnection: close\r\n\r\n{text}",
            text.len()
        );
        // Whether the person reads it changes nothing.
        let _ = tokio::time::timeout(BROWSER, stream.write_all(answer.as_bytes())).await;
        if let Some(target) = fits {
            return Ok(format!("http://{authority}{target}"));
        }
    }
}

/// What a request asks for.
async fn target(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    let mut piece = [0; 2048];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let read = stream.read(&mut piece).await.ok().filter(|read| *read > 0)?;
        head.extend_from_slice(piece.get(..read)?);
        if head.len() > REQUEST {
            return None;
        }
    }
    let line = String::from_utf8(head).ok()?;
    let mut words = line.lines().next()?.split(' ');
    (words.next() == Some("GET")).then(|| words.next().map(str::to_owned)).flatten()
}
