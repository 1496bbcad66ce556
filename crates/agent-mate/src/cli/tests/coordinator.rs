//! A socket in a temporary home that notes what it is asked.

use crate::cli::{Cli, Command, Context, Exit, Failure, Screen, run, show::Output};
use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, Method, StatusCode, Uri},
    response::{IntoResponse, Response},
};
use clap::Parser;
use mate_engine::{
    Home,
    surroundings::{SystemClock, SystemEntropy},
};
use mate_model::Entropy;
use serde_json::Value;
use std::{
    collections::VecDeque,
    io::Write,
    sync::{Arc, Mutex},
};

/// A request as it came in.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) line: String,
    pub(super) bearer: String,
    pub(super) key: Option<String>,
    pub(super) body: Value,
}

type Answer = Box<dyn Fn(&Asked) -> Option<Response> + Send + Sync>;

/// What the coordinator knows.
pub(super) struct Script {
    pub(super) asked: Mutex<Vec<Asked>>,
    pub(super) answers: Mutex<VecDeque<(u16, String)>>,
    pub(super) live: Option<Answer>,
}

/// A home with a token and a coordinator.
pub(super) struct Fixture {
    pub(super) home: tempfile::TempDir,
    pub(super) script: Arc<Script>,
    pub(super) token: String,
    written: Written,
}

#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("lock").write(bytes)
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Fixture {
    /// A coordinator that gives these answers, one after the other.
    pub(super) fn answering(answers: &[(u16, &str)]) -> Self {
        let answers = answers.iter().map(|(status, body)| (*status, (*body).to_owned())).collect();
        let fixture = Self::new(Script { asked: Mutex::default(), answers: Mutex::new(answers), live: None });
        fixture.listen();
        fixture
    }

    /// A home whose coordinator is not there yet.
    pub(super) fn new(script: Script) -> Self {
        let home = tempfile::tempdir().expect("folder");
        let token = mate_guard::ApiToken::mint(&SystemEntropy as &dyn Entropy).reveal().to_owned();
        std::fs::write(home.path().join("token"), format!("{token}\n")).expect("token");
        Self { home, script: Arc::new(script), token, written: Written::default() }
    }

    /// Starts the coordinator.
    pub(super) fn listen(&self) -> tokio::task::JoinHandle<()> {
        let socket = Home::at(self.home.path().to_owned()).socket();
        let _ = std::fs::remove_file(&socket);
        let listener = tokio::net::UnixListener::bind(socket).expect("socket");
        let router = Router::new().fallback(answer).with_state(Arc::clone(&self.script));
        tokio::spawn(async move { axum::serve(listener, router).await.expect("serves") })
    }

    /// Runs a command line; what it ended with and what it wrote.
    pub(super) async fn run(&self, line: &[&str]) -> (Result<Exit, Failure>, String) {
        let cli =
            Cli::try_parse_from(std::iter::once(&"agent-mate").chain(line)).expect("the grammar knows it");
        let clock = Arc::new(SystemClock::default());
        let mut screen = Screen::new(cli.globals.json, true, clock);
        screen.terminal = false;
        screen.out = Output::to(self.written.clone());
        let context = Context {
            home: Home::at(self.home.path().to_owned()),
            screen,
            timeout: cli.globals.timeout,
            entropy: Arc::new(SystemEntropy),
        };
        let Command::Client(command) = cli.command else { panic!("not a client's command") };
        // A command that goes on for ever fails its test instead of stopping it.
        let done = tokio::time::timeout(std::time::Duration::from_secs(30), run(*command, &context)).await;
        let done = done.expect("ends within 30 s");
        let written = std::mem::take(&mut *self.written.0.lock().expect("lock"));
        (done, String::from_utf8(written).expect("text"))
    }

    pub(super) fn asked(&self) -> Vec<Asked> {
        self.script.asked.lock().expect("lock").clone()
    }
}

async fn answer(
    State(script): State<Arc<Script>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let asked = Asked {
        line: format!("{method} {uri}"),
        bearer: header("authorization").unwrap_or_default(),
        key: header("idempotency-key"),
        body: serde_json::from_slice(&body).unwrap_or(Value::Null),
    };
    script.asked.lock().expect("lock").push(asked.clone());
    if let Some(response) = script.live.as_ref().and_then(|live| live(&asked)) {
        return response;
    }
    match script.answers.lock().expect("lock").pop_front() {
        Some((status, body)) => (StatusCode::from_u16(status).expect("status"), body).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}
