//! A home that was just initialised, and its interface.

use axum::{Router, body::Body};
use http::{HeaderMap, Request, StatusCode, header};
use http_body_util::BodyExt;
use mate_engine::{
    Engine, Home, Stores,
    admin::{Initialised, create_home},
    surroundings::{SystemClock, SystemEntropy},
};
use mate_guard::{KeyPlace, key_file};
use mate_server::{PeerCheck, ServerState, router};
use mate_store::{Ledger, SqliteDatabase, SqliteOptions};
use serde_json::{Value, json};
use std::{path::Path, sync::Arc};
use tempfile::TempDir;
use tower::ServiceExt;

pub(crate) struct House {
    pub(crate) folder: TempDir,
    pub(crate) engine: Arc<Engine>,
    pub(crate) router: Router,
    pub(crate) first: Initialised,
}

pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

impl Reply {
    /// The body, after checking the status.
    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Value {
        assert_eq!(self.status.as_u16(), status, "{}", self.body);
        self.body
    }

    /// The stable word of a problem, after checking that it is a whole problem document.
    #[track_caller]
    pub(crate) fn problem(&self, status: u16) -> &str {
        assert_eq!(self.status.as_u16(), status, "{}", self.body);
        assert_eq!(self.headers[header::CONTENT_TYPE], "application/problem+json", "{}", self.body);
        assert_eq!(self.body["status"], status);
        for field in ["type", "title", "detail", "code"] {
            assert!(self.body[field].as_str().is_some_and(|text| !text.is_empty()), "{field}: {}", self.body);
        }
        self.body["code"].as_str().expect("a code")
    }
}

pub(crate) async fn open(home: &Path) -> Arc<Engine> {
    let home = Home::at(home.to_owned());
    let entropy = Arc::new(SystemEntropy);
    let key_path = KeyPlace::of(home.path(), None, None);
    create_home(&home, &key_path, entropy.as_ref()).expect("a home");
    let ring = key_file::load(&key_path).expect("a key");
    let key = ring.first().map(|(_, key)| key.clone()).expect("a key");
    let database = SqliteDatabase::open(&home.ledger(), SqliteOptions::LEDGER).await.expect("a ledger");
    let ledger = Ledger::new(Arc::new(database));
    ledger.migrate().await.expect("a schema");
    let stores = Stores::embedded(home.clone());
    Arc::new(Engine::new(ledger, stores, home, key, Arc::new(SystemClock::default()), entropy))
}

pub(crate) fn interface(engine: &Arc<Engine>) -> Router {
    router(ServerState::new(Arc::clone(engine), PeerCheck::new(|_| true)))
}

impl House {
    pub(crate) async fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let engine = open(&folder.path().join("home")).await;
        let first = engine.initialise().await.expect("initialised");
        Self { router: interface(&engine), folder, engine, first }
    }

    /// As after a restart of the coordinator.
    pub(crate) async fn reopened(self) -> Self {
        let Self { folder, engine, first, .. } = self;
        drop(engine);
        let engine = open(&folder.path().join("home")).await;
        Self { router: interface(&engine), folder, engine, first }
    }

    pub(crate) fn token(&self) -> &str {
        self.first.token.reveal()
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Reply {
        let (method, path) = (request.method().to_string(), request.uri().path().to_owned());
        let response = self.router.clone().oneshot(request).await.expect("an answer");
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.expect("a body").to_bytes();
        let kind = parts.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let body = match kind {
            _ if bytes.is_empty() => Value::Null,
            // An artifact's content.
            Some(kind) if !kind.contains("json") => String::from_utf8_lossy(&bytes).into_owned().into(),
            Some(_) | None => serde_json::from_slice(&bytes).expect("JSON"),
        };
        crate::described::check(&method, &path, parts.status, kind, &body);
        Reply { status: parts.status, headers: parts.headers, body }
    }

    pub(crate) async fn call_as(&self, token: &str, method: &str, path: &str, body: Option<Value>) -> Reply {
        let request = request(token, method, path);
        let request = match body {
            Some(body) => {
                let typed = request.header(header::CONTENT_TYPE, "application/json");
                typed.body(Body::from(body.to_string()))
            }
            None => request.body(Body::empty()),
        };
        self.send(request.expect("a request")).await
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        self.call_as(self.token(), "GET", path, None).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Reply {
        self.call_as(self.token(), "POST", path, Some(body)).await
    }

    pub(crate) async fn post_keyed(&self, key: &str, path: &str, body: Value) -> Reply {
        let request = request(self.token(), "POST", path)
            .header(header::CONTENT_TYPE, "application/json")
            .header("Idempotency-Key", key)
            .body(Body::from(body.to_string()));
        self.send(request.expect("a request")).await
    }

    /// Another account, with its token.
    pub(crate) async fn stranger(&self, name: &str) -> String {
        self.post("/api/v1/accounts", json!({ "name": name })).await.expect(201);
        let made = self.post("/api/v1/tokens", json!({ "account": name })).await.expect(201);
        made["token"].as_str().expect("a secret").to_owned()
    }

    /// A runtime and a connection, and a grant of the latter to the first project.
    pub(crate) async fn furnish(&self) -> Value {
        self.post("/api/v1/runtimes", json!({ "name": "plain", "command": ["true"] })).await.expect(201);
        let connection = json!({ "name": "files", "command": ["server", "--stdio"], "secret_env": { "KEY": "hunter2hunter2" } });
        self.post("/api/v1/connections", connection).await.expect(201);
        let grant = json!({ "project": "default", "connection": "files", "tools": ["get_*"] });
        self.post("/api/v1/grants", grant).await.expect(201)
    }

    /// What the whole ledger says, for "nothing was changed".
    pub(crate) async fn fingerprint(&self) -> String {
        let ledger = &self.engine.ledger;
        let version = ledger.authorisation_version().await.expect("version");
        let accounts = ledger.accounts(None, 1_000).await.expect("accounts").items;
        let projects = ledger.projects(None, None, 1_000).await.expect("projects").items;
        let runtimes = ledger.runtimes(None, 1_000).await.expect("runtimes").items;
        let connections = ledger.connections(None, 1_000).await.expect("connections").items;
        let mut all = format!("{version} {accounts:?} {projects:?} {runtimes:?} {connections:?}");
        for project in projects {
            let head = ledger.head(project.id).await.expect("head");
            let tasks = ledger.tasks(project.id, None, None, 1_000).await.expect("tasks").items;
            let sessions = ledger.sessions(project.id, None, 1_000).await.expect("sessions").items;
            all.push_str(&format!(" {head:?} {tasks:?} {sessions:?}"));
        }
        all
    }
}

pub(crate) fn request(token: &str, method: &str, path: &str) -> http::request::Builder {
    Request::builder()
        .method(method)
        .uri(path)
        .header(header::HOST, "127.0.0.1:7717")
        .header(header::AUTHORIZATION, format!("Bearer {token}"))
}
