//! Through real sockets: the loopback port and the Unix socket.

use crate::house::House;
use mate_engine::surroundings::SystemEntropy;
use mate_server::{ListenError, Listeners, PeerCheck, ServerState, serve};
use std::{
    net::SocketAddr,
    os::unix::fs::{FileTypeExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpStream, UnixStream},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

const PATIENCE: Duration = Duration::from_secs(30);

struct Served {
    address: SocketAddr,
    socket: PathBuf,
    shutdown: CancellationToken,
    running: JoinHandle<std::io::Result<()>>,
}

impl Served {
    async fn new(house: &House, peers: PeerCheck) -> Self {
        let socket = house.engine.home.socket();
        let listeners = Listeners::open(loopback(), &socket).await.expect("both ways in");
        let address = listeners.address();
        let shutdown = CancellationToken::new();
        let state = ServerState::new(Arc::clone(&house.engine), peers);
        let running = tokio::spawn(serve(state, listeners, shutdown.clone()));
        Self { address, socket, shutdown, running }
    }

    async fn end(self) {
        self.shutdown.cancel();
        tokio::time::timeout(PATIENCE, self.running)
            .await
            .expect("in time")
            .expect("no panic")
            .expect("served");
    }
}

fn loopback() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

fn get(path: &str, host: &str, token: &str, more: &str) -> String {
    format!(
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n{more}Connection: close\r\n\r\n"
    )
}

/// Sends, and reads all that comes.
async fn talk(mut stream: impl AsyncRead + AsyncWrite + Unpin, text: &str) -> String {
    stream.write_all(text.as_bytes()).await.expect("sent");
    let mut answer = Vec::new();
    let read = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut answer)).await.expect("in time");
    // A refused request may end in a reset, after its answer.
    assert!(read.is_ok() || !answer.is_empty());
    String::from_utf8(answer).expect("UTF-8")
}

#[tokio::test]
async fn both_ways_in_serve_and_want_a_token() {
    let house = House::new().await;
    let served = Served::new(&house, PeerCheck::new(|_| true)).await;
    let host = served.address.to_string();
    for token in [house.token(), "wrong"] {
        let wanted = if token == "wrong" { "HTTP/1.1 401" } else { "HTTP/1.1 200" };
        let tcp = TcpStream::connect(served.address).await.expect("connected");
        let answer = talk(tcp, &get("/api/v1/projects", &host, token, "")).await;
        assert!(answer.starts_with(wanted), "{answer}");
        let unix = UnixStream::connect(&served.socket).await.expect("connected");
        let answer = talk(unix, &get("/api/v1/projects", "agent-mate", token, "")).await;
        assert!(answer.starts_with(wanted), "{answer}");
    }
    let tcp = TcpStream::connect(served.address).await.expect("connected");
    let answer = talk(tcp, &get("/api/v1/projects", "evil.example", house.token(), "")).await;
    assert!(answer.starts_with("HTTP/1.1 421"), "{answer}");
    let unix = UnixStream::connect(&served.socket).await.expect("connected");
    let answer = talk(unix, &get("/api/v1/projects", "x", house.token(), "Origin: http://x\r\n")).await;
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
    served.end().await;
}

#[tokio::test]
async fn g08_a_peer_that_the_check_refuses_is_refused_with_a_token_too() {
    let house = House::new().await;
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    let check = PeerCheck::new(move |pid| {
        seen.lock().expect("unpoisoned").push(pid);
        false
    });
    let served = Served::new(&house, check).await;
    let unix = UnixStream::connect(&served.socket).await.expect("connected");
    let answer = talk(unix, &get("/healthz", "x", house.token(), "")).await;
    assert!(answer.starts_with("HTTP/1.1 403") && answer.contains("inside_a_session"), "{answer}");
    let own = i32::try_from(std::process::id()).expect("a pid");
    assert_eq!(*asked.lock().expect("unpoisoned"), [own]);
    served.end().await;
}

#[tokio::test]
async fn g08_a_client_over_tcp_is_looked_for_once_and_refused_with_a_token_too() {
    let house = House::new().await;
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    let check = PeerCheck::new(|_| true).over_tcp(move |client, server| {
        seen.lock().expect("unpoisoned").push((client, server));
        false
    });
    let served = Served::new(&house, check).await;
    let host = served.address.to_string();
    let bearer = mate_guard::SessionBearer::mint(&SystemEntropy).reveal().to_owned();
    let tcp = TcpStream::connect(served.address).await.expect("connected");
    let client = tcp.local_addr().expect("an address");
    // Who has no token of ours, such as one that has a bridge's, is refused without a look.
    let stay = |token: &str| get("/api/v1/projects", &host, token, "").replace("Connection: close\r\n", "");
    let all =
        [stay(&bearer), stay(house.token()), get("/api/v1/projects", &host, house.token(), "")].concat();
    let answer = talk(tcp, &all).await;
    let codes: Vec<&str> = answer.split("HTTP/1.1 ").skip(1).filter_map(|one| one.get(..3)).collect();
    assert_eq!(codes, ["401", "403", "403"], "{answer}");
    assert!(answer.contains("inside_a_session"), "{answer}");
    assert_eq!(*asked.lock().expect("unpoisoned"), [(client, served.address)]);
    served.end().await;
}

#[tokio::test]
async fn g08_a_browser_inside_a_session_is_refused_whatever_it_shows() {
    let house = House::new().await;
    let served = Served::new(&house, PeerCheck::new(|_| true).over_tcp(|_, _| false)).await;
    let host = served.address.to_string();
    let port = served.address.port();
    let who = house.engine.authenticate(house.token()).await.expect("its token");
    let link = house.engine.open_browser(&who).await.expect("a link");
    let signed = house.engine.sign_in(house.token()).await.expect("signed in");
    let cookie = format!("Cookie: agent_mate_{port}={}\r\n", signed.cookie.reveal());
    let form = format!("token={}", house.token());
    let length = form.len();
    let posted = format!(
        "POST /sign-in HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Length: {length}\r\n\
         Content-Type: application/x-www-form-urlencoded\r\n\r\n{form}"
    );
    let opening = format!("/open/{}", link.secret.reveal());
    for request in [get("/", &host, "", &cookie), get(&opening, &host, "", ""), posted] {
        let tcp = TcpStream::connect(served.address).await.expect("connected");
        let answer = talk(tcp, &request).await;
        assert!(answer.starts_with("HTTP/1.1 403") && !answer.contains("set-cookie"), "{answer}");
        assert!(answer.contains("inside a session"), "{answer}");
    }
    // The link was not used up by who may not use it.
    house.engine.sign_in_by_link(link.secret.reveal()).await.expect("still good");
    served.end().await;
}

#[tokio::test]
async fn the_socket_is_private_replaces_a_dead_one_and_is_taken_away() {
    let house = House::new().await;
    let socket = house.engine.home.socket();
    drop(std::os::unix::net::UnixListener::bind(&socket).expect("a socket that nobody serves any more"));
    assert!(socket.exists());
    let served = Served::new(&house, PeerCheck::new(|_| true)).await;
    let found = std::fs::symlink_metadata(&socket).expect("there");
    assert!(found.file_type().is_socket());
    assert_eq!(found.permissions().mode() & 0o777, 0o600);
    UnixStream::connect(&socket).await.expect("served");
    served.end().await;
    assert!(!socket.exists());
}

#[tokio::test]
async fn what_cannot_be_listened_on_is_refused_at_start() {
    let house = House::new().await;
    let socket = house.engine.home.socket();
    for open in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0", "[::ffff:192.0.2.1]:0"] {
        let address = open.parse().expect("an address");
        let error = Listeners::open(address, &socket).await.expect_err("refused");
        assert!(matches!(error, ListenError::NotLoopback(_)), "{error}");
        assert!(error.to_string().contains("127.0.0.1"), "says what to do");
    }
    let taken = Listeners::open(loopback(), &socket).await.expect("open");
    let error = Listeners::open(taken.address(), Path::new("/nowhere")).await.expect_err("taken");
    assert!(matches!(error, ListenError::Tcp { .. }), "{error}");
    let long = house.folder.path().join("x".repeat(120));
    let error = Listeners::open(loopback(), &long).await.expect_err("too long").to_string();
    assert!(error.contains("shorter --home"), "{error}");
    let file = house.folder.path().join("file");
    std::fs::write(&file, "precious").expect("written");
    Listeners::open(loopback(), &file).await.expect_err("something else is there");
    assert_eq!(std::fs::read_to_string(&file).expect("read"), "precious");
}

#[tokio::test]
async fn going_down_ends_open_streams_and_idle_connections() {
    let house = House::new().await;
    house.furnish().await;
    let wish = serde_json::json!({ "instructions": "work" });
    let task = house.post("/api/v1/projects/default/tasks", wish).await.expect(201);
    let path = format!("/api/v1/tasks/{}/events", task["id"].as_str().expect("an id"));
    let served = Served::new(&house, PeerCheck::new(|_| true)).await;
    let _idle = TcpStream::connect(served.address).await.expect("connected");
    let mut stream = TcpStream::connect(served.address).await.expect("connected");
    let asked = get(&path, &served.address.to_string(), house.token(), "Accept: text/event-stream\r\n");
    stream.write_all(asked.as_bytes()).await.expect("sent");
    let mut seen = String::new();
    while !seen.contains("task.submitted") {
        let mut part = [0; 4096];
        let read =
            tokio::time::timeout(PATIENCE, stream.read(&mut part)).await.expect("in time").expect("read");
        seen.push_str(std::str::from_utf8(&part[..read]).expect("UTF-8"));
    }
    served.end().await;
    let mut rest = Vec::new();
    tokio::time::timeout(PATIENCE, stream.read_to_end(&mut rest)).await.expect("in time").expect("closed");
}
