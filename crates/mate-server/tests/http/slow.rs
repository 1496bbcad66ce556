//! Clients that are slow, or too eager, through real sockets; and the end of the service while they are there.

use crate::{events::Running, house::House};
use mate_server::{Listeners, PeerCheck, RateLimit, RateLimits, ServerState, Spans, serve};
use std::{net::SocketAddr, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinHandle,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

const PATIENCE: Duration = Duration::from_secs(30);

struct Served {
    address: SocketAddr,
    shutdown: CancellationToken,
    running: JoinHandle<std::io::Result<()>>,
}

impl Served {
    async fn new(house: &House, set: impl FnOnce(ServerState) -> ServerState) -> Self {
        let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
        let listeners = Listeners::open(loopback, &house.engine.home.socket()).await.expect("both ways in");
        let (address, shutdown) = (listeners.address(), CancellationToken::new());
        let state = set(ServerState::new(Arc::clone(&house.engine), PeerCheck::new(|_| true)));
        let running = tokio::spawn(serve(state, listeners, shutdown.clone()));
        Self { address, shutdown, running }
    }

    async fn ask(&self, text: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.expect("connected");
        let text = text.replace("HOST", &self.address.to_string());
        stream.write_all(text.as_bytes()).await.expect("sent");
        stream
    }

    async fn end(self) {
        self.shutdown.cancel();
        timeout(PATIENCE, self.running).await.expect("in time").expect("no panic").expect("served");
    }
}

fn get(path: &str, token: &str, more: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer {token}\r\n{more}\r\n")
}

fn follow(path: &str, token: &str) -> String {
    get(path, token, "Accept: text/event-stream\r\n")
}

/// All that comes until the other end closes.
async fn rest(stream: &mut TcpStream) -> String {
    let mut all = Vec::new();
    // A connection that is cut off may end in a reset.
    let _ = timeout(PATIENCE, stream.read_to_end(&mut all)).await.expect("in time");
    String::from_utf8_lossy(&all).into_owned()
}

async fn until(stream: &mut TcpStream, what: &str) -> String {
    let (mut seen, mut part) = (String::new(), vec![0; 65_536]);
    while !seen.contains(what) {
        let read = timeout(PATIENCE, stream.read(&mut part)).await.expect("in time").expect("read");
        assert!(read > 0, "it ended before `{what}`");
        seen.push_str(&String::from_utf8_lossy(&part[..read]));
    }
    seen
}

fn short() -> Spans {
    let span = Duration::from_millis(300);
    Spans { arriving: span, taking: span, nothing: span }
}

#[tokio::test]
async fn a_request_that_does_not_arrive_is_cut_off() {
    let house = House::new().await;
    let served = Served::new(&house, |state| state.with_patience(short())).await;
    for begun in ["", "GET /healthz HT", "POST /api/v1/projects HTTP/1.1\r\nHost: HOST\r\nContent-Le"] {
        let began = house.engine.clock.monotonic();
        let mut stream = served.ask(begun).await;
        // Some bytes now and then do not help.
        let dripping = async {
            loop {
                tokio::time::sleep(Duration::from_millis(100)).await;
                if begun.is_empty() || stream.write_all(b"x").await.is_err() {
                    break;
                }
            }
            rest(&mut stream).await
        };
        let answer = timeout(PATIENCE, dripping).await.expect("cut off");
        assert!(!answer.contains("200 OK"), "{answer}");
        assert!(house.engine.clock.monotonic() - began >= 250_000, "not at once");
    }
    served.end().await;
}

#[tokio::test]
async fn a_client_that_takes_nothing_is_cut_off_and_others_are_served() {
    let running = Running::new().await;
    running.say_text(&"x".repeat(500_000)).await;
    for _ in 0..40 {
        running.say_text(&"y".repeat(500_000)).await;
    }
    let house = &running.house;
    let served = Served::new(house, |state| {
        state.with_patience(Spans { taking: Duration::from_millis(300), ..Spans::default() })
    })
    .await;
    let path = format!("/api/v1/tasks/{}/events", running.task);
    let mut stuck = served.ask(&follow(&path, house.token())).await;
    until(&mut stuck, "event-stream").await;
    // It reads nothing more. Its place is free again once it was cut off: what is left in the sockets is all that it gets.
    tokio::time::sleep(Duration::from_millis(1_000)).await;
    let mut other = served.ask(&get("/healthz", house.token(), "Connection: close\r\n")).await;
    assert!(rest(&mut other).await.starts_with("HTTP/1.1 200"));
    let got = rest(&mut stuck).await;
    assert!(got.matches("\n\n").count() < 41, "it was not cut off");
    served.end().await;
}

/// F-71: who stops reading for a while goes on without a hole, and is not kept a queue meanwhile.
#[tokio::test]
async fn g10_a_client_that_pauses_goes_on_without_a_hole() {
    let running = Running::new().await;
    let house = &running.house;
    let served = Served::new(house, |state| state).await;
    let path = format!("/api/v1/tasks/{}/events?until=end", running.task);
    let mut paused = served.ask(&follow(&path, house.token())).await;
    let mut seen = until(&mut paused, "task.started").await;
    // Far more than the sockets and the news hold.
    for number in 0..120 {
        running.say_text(&format!("number {number} {}", "z".repeat(100_000))).await;
    }
    running.complete().await;
    seen.push_str(&until(&mut paused, "event: end").await);
    let mut from = 0;
    for number in 0..120 {
        let found = seen[from..].find(&format!("number {number} ")).unwrap_or_else(|| panic!("no {number}"));
        from += found;
    }
    assert_eq!(seen.matches("\"type\":\"agent.message\"").count(), 120);
    served.end().await;
}

#[tokio::test]
async fn too_many_requests_are_refused_and_who_is_known_is_not_held_up_by_who_is_not() {
    let house = House::new().await;
    let served = Served::new(&house, |state| {
        state.with_limits(RateLimits {
            requests: RateLimit { per_second: 1, burst: 3 },
            failures: RateLimit { per_second: 1, burst: 2 },
        })
    })
    .await;
    let status = async |token: &str| {
        let mut stream = served.ask(&get("/api/v1/projects", token, "Connection: close\r\n")).await;
        rest(&mut stream).await
    };
    for _ in 0..2 {
        assert!(status("wrong").await.starts_with("HTTP/1.1 401"));
    }
    let refused = status("wrong").await;
    assert!(refused.starts_with("HTTP/1.1 429") && refused.contains("too_many_failures"), "{refused}");
    assert!(refused.to_ascii_lowercase().contains("retry-after: "), "{refused}");
    for _ in 0..3 {
        assert!(status(house.token()).await.starts_with("HTTP/1.1 200"));
    }
    let refused = status(house.token()).await;
    assert!(refused.starts_with("HTTP/1.1 429") && refused.contains("too_many_requests"), "{refused}");
    assert!(refused.to_ascii_lowercase().contains("retry-after: "), "{refused}");
    let mut health = served.ask(&get("/healthz", "", "Connection: close\r\n")).await;
    assert!(rest(&mut health).await.starts_with("HTTP/1.1 200"), "health is not counted");
    served.end().await;
}

#[tokio::test]
async fn going_down_gives_every_stream_its_last_word_at_once() {
    let running = Running::new().await;
    let house = &running.house;
    let served = Served::new(house, |state| state).await;
    let task = format!("/api/v1/tasks/{}/events", running.task);
    let several = format!("/api/v1/stream?project=default&task={}", running.task);
    let mut streams = Vec::new();
    for path in [task.as_str(), &several, "/api/v1/projects/default/events"] {
        let mut stream = served.ask(&follow(path, house.token())).await;
        until(&mut stream, "task.started").await;
        streams.push(stream);
    }
    let began = house.engine.clock.monotonic();
    served.end().await;
    assert!(house.engine.clock.monotonic() - began < 4_000_000, "nothing was waited for");
    for stream in &mut streams {
        let rest = rest(stream).await;
        assert!(rest.contains("event: shutdown\ndata: {"), "{rest}");
    }
}

/// One that takes nothing does not hold the end up beyond its bound.
#[tokio::test]
async fn going_down_does_not_wait_for_who_takes_nothing() {
    let running = Running::new().await;
    for _ in 0..40 {
        running.say_text(&"y".repeat(500_000)).await;
    }
    let house = &running.house;
    let served = Served::new(house, |state| state).await;
    let path = format!("/api/v1/tasks/{}/events", running.task);
    let mut stuck = served.ask(&follow(&path, house.token())).await;
    until(&mut stuck, "event-stream").await;
    let began = house.engine.clock.monotonic();
    served.end().await;
    assert!(house.engine.clock.monotonic() - began < 8_000_000, "five seconds, and some for a slow machine");
}

/// Resident memory of this process; bytes.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("a status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a size");
    line.trim().trim_end_matches(" kB").parse::<usize>().expect("a number") << 10
}

/// F-81: a hundred who take nothing of a history of 10 MB, and then one of them after all.
#[tokio::test]
async fn g10_clients_that_take_nothing_cost_little_memory() {
    const EVENTS: usize = 1_000;
    let running = Running::new().await;
    for first in (0..EVENTS).step_by(100) {
        running
            .say_all((first..first + 100).map(|number| format!("number {number} {}", "z".repeat(10_000))))
            .await;
    }
    running.complete().await;
    let house = &running.house;
    let served = Served::new(house, |state| state).await;
    let path = format!("/api/v1/tasks/{}/events?until=end", running.task);
    let closing = "Accept: text/event-stream\r\nConnection: close\r\n";
    let before = resident();
    let mut stuck = Vec::new();
    for _ in 0..100 {
        let mut stream = served.ask(&get(&path, house.token(), closing)).await;
        until(&mut stream, "event-stream").await;
        stuck.push(stream);
    }
    // They have been given what they are given before anything is taken when no more memory is used.
    let (mut used, mut calm) = (resident(), 0);
    while calm < 5 {
        tokio::time::sleep(Duration::from_millis(200)).await;
        let now = resident();
        calm = if now.abs_diff(used) < (1 << 20) { calm + 1 } else { 0 };
        used = now;
    }
    let each = used.saturating_sub(before) / 100;
    assert!(each < 700 << 10, "{each} bytes for each of those who take nothing");
    let mut one = stuck.swap_remove(0);
    let seen = rest(&mut one).await;
    assert!(seen.contains("event: end"));
    let mut from = 0;
    for number in 0..EVENTS {
        // The first part was read above.
        let Some(found) = seen[from..].find(&format!("number {number} ")) else {
            assert!(from == 0 && number < 20, "no {number}");
            continue;
        };
        from += found;
    }
    drop(stuck);
    served.end().await;
}
