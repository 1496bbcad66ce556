//! A look at a connection: what is wrong is told by a stable word, with what was found and what to do next.

use crate::support::{Children, connection, http, raw_http, scripted, task_upstream};
use mate_bridge::{Code, Finding, Limits, Probe, StdioSpec, Transport, probe};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

fn limits() -> Limits {
    Limits { start: Duration::from_secs(2), list: Duration::from_secs(2), items: 20, ..Limits::default() }
}

async fn look(transport: Transport) -> Probe {
    probe(connection("up", transport), Arc::new(Children::default()), limits()).await
}

/// A program that is a line of shell.
fn shell(line: &str) -> Transport {
    program("/bin/sh", &["-c", line])
}

fn program(command: &str, args: &[&str]) -> Transport {
    let args = args.iter().map(|arg| (*arg).to_owned()).collect();
    Transport::Stdio(StdioSpec { command: command.to_owned(), args, env: vec![], cwd: None, live: None })
}

fn problem(probe: &Probe) -> &Finding {
    let problem = probe.problem.as_ref().unwrap();
    assert!(!problem.detail.is_empty() && !problem.next.is_empty(), "{problem:?}");
    problem
}

async fn ill(transport: Transport) -> Finding {
    problem(&look(transport).await).clone()
}

#[tokio::test]
async fn a_program_that_is_missing_and_where_it_comes_from() {
    let missing = ill(program("/nowhere/uvx", &["mcp-server-git"])).await;
    assert_eq!(missing.code, Code::ProgramNotFound);
    assert!(missing.next.contains("install uv"), "{missing:?}");
    let missing = ill(program("/nowhere/npx", &["-y", "some-server"])).await;
    assert!(missing.code == Code::ProgramNotFound && missing.next.contains("Node.js"), "{missing:?}");
    let missing = ill(program("/nowhere/own-server", &[])).await;
    assert!(missing.code == Code::ProgramNotFound && missing.next.contains("own-server"), "{missing:?}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("server");
    std::fs::write(&file, "#!/bin/sh\n").unwrap();
    let closed = ill(program(file.to_str().unwrap(), &[])).await;
    assert!(closed.code == Code::ProgramNotAllowed && closed.next.contains("chmod"), "{closed:?}");
}

#[tokio::test]
async fn a_program_that_ends_says_why() {
    let probe = look(shell("echo 'GITHUB_TOKEN is not set' >&2; exit 3")).await;
    let ended = problem(&probe);
    assert_eq!(ended.code, Code::ProgramEnded);
    assert!(ended.detail.contains("GITHUB_TOKEN is not set"), "{ended:?}");
    assert_eq!(probe.said, ["GITHUB_TOKEN is not set"]);
    let many = look(shell("for i in $(seq 100); do echo line $i >&2; done; exit 1")).await;
    assert!(
        many.said.len() <= 20 && many.said.last().is_some_and(|line| line == "line 100"),
        "{:?}",
        many.said
    );
}

#[tokio::test]
async fn a_program_that_is_no_server() {
    let silent = ill(shell("exec sleep 60")).await;
    assert_eq!(silent.code, Code::NoAnswer);
    let chatty = ill(shell("echo Usage: server FILE; exec sleep 60")).await;
    assert!(chatty.code == Code::NotMcp && chatty.detail.contains("Usage: server FILE"), "{chatty:?}");
    let done = ill(shell("echo Usage: server FILE; read greeting")).await;
    assert_eq!(done.code, Code::NotMcp);
}

#[tokio::test]
async fn what_a_server_says_to_the_greeting() {
    let up = |answer: &'static str| {
        let task = scripted(move |m: &Value| (m["method"] == "initialize").then(|| answer.to_owned()));
        probe(connection("up", task_upstream()), Arc::new(Children::task(task)), limits())
    };
    let old = up(r#"{"protocolVersion":"1999-01-01","capabilities":{}}"#).await;
    assert!(problem(&old).code == Code::ProtocolVersion && problem(&old).detail.contains("1999-01-01"));
    let refused = up(r#"error:{"code":-32000,"message":"licence expired"}"#).await;
    assert!(
        problem(&refused).code == Code::HandshakeRefused
            && problem(&refused).detail.contains("licence expired")
    );
    let bare = up(r#"{"protocolVersion":"2025-11-25","capabilities":{}}"#).await;
    assert_eq!(bare.problem, None);
    assert_eq!(bare.notices[0].code, Code::NoTools);
}

#[tokio::test]
async fn a_list_with_oddities_is_taken_and_told() {
    let list = json!({ "tools": [
        { "name": "get", "inputSchema": { "type": "object", "properties": { "b": {}, "a": {} } }, "description": "Gets",
          "annotations": { "readOnlyHint": true } },
        { "name": "get", "inputSchema": { "type": "object" } },
        { "name": "" },
        { "name": "broken", "inputSchema": { "type": 7 } },
        { "name": "a.b", "inputSchema": { "type": "object" } },
    ] });
    let task = scripted(move |m: &Value| (m["method"] == "tools/list").then(|| list.to_string()));
    let found = probe(connection("up", task_upstream()), Arc::new(Children::task(task)), limits()).await;
    assert_eq!(found.problem, None);
    let codes: Vec<Code> = found.notices.iter().map(|notice| notice.code).collect();
    assert_eq!(codes, [Code::DuplicateTool, Code::UnusableTool, Code::BadSchema, Code::RenamedTool]);
    let names: Vec<&str> = found.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["get", "broken", "a.b"]);
    assert_eq!((found.tools[0].exposed.as_str(), found.tools[0].says_read_only), ("up__get", true));
    assert_eq!(found.tools[0].arguments.len(), 2);
}

#[tokio::test]
async fn a_list_that_is_too_long_or_cannot_be_had() {
    let endless = scripted(|m: &Value| {
        let name = format!("t{}", m["id"]);
        let tool = json!({ "name": name, "inputSchema": { "type": "object" } });
        (m["method"] == "tools/list").then(|| json!({ "tools": [tool], "nextCursor": "more" }).to_string())
    });
    let found = probe(connection("up", task_upstream()), Arc::new(Children::task(endless)), limits()).await;
    assert_eq!((found.tools.len(), found.notices[0].code), (20, Code::TooManyTools));
    let failing = scripted(|m: &Value| {
        (m["method"] == "tools/list").then(|| r#"error:{"code":-32603,"message":"no database"}"#.to_owned())
    });
    let found = probe(connection("up", task_upstream()), Arc::new(Children::task(failing)), limits()).await;
    assert!(problem(&found).code == Code::CannotList && problem(&found).detail.contains("no database"));
}

/// Answers every request with these bytes.
async fn answering(answer: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/x", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut taken = vec![0; 64 << 10];
                let _ = stream.read(&mut taken).await;
                let _ = stream.write_all(answer.as_bytes()).await;
            });
        }
    });
    url
}

#[tokio::test]
async fn what_http_says() {
    for (answer, code, part) in [
        ("401 no\r\nwww-authenticate: Bearer", Code::NeedsAuthorization, "connection authorize"),
        (
            "403 no\r\nwww-authenticate: Bearer error=\"insufficient_scope\"",
            Code::InsufficientScope,
            "--scope",
        ),
        ("403 no", Code::Forbidden, ""),
        ("404 no", Code::WrongPath, "/mcp"),
        ("405 no", Code::WrongPath, "/mcp"),
        ("307 no\r\nlocation: https://elsewhere.example/mcp?key=s3cret", Code::Redirected, ""),
        ("503 no", Code::ServerError, ""),
        ("429 no", Code::HttpStatus, ""),
        ("200 ok\r\ncontent-type: text/html", Code::NotMcp, "/mcp"),
    ] {
        let answer = format!("HTTP/1.1 {answer}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        let found = ill(http(&answering(Box::leak(answer.into_boxed_str())).await)).await;
        assert_eq!(found.code, code, "{found:?}");
        assert!(found.next.contains(part), "{found:?}");
        assert!(!format!("{found:?}").contains("s3cret"), "{found:?}");
        assert!(
            code != Code::Redirected || found.detail.contains("https://elsewhere.example/mcp"),
            "{found:?}"
        );
    }
}

#[tokio::test]
async fn a_token_that_is_not_taken_is_told_apart_from_none() {
    let url = answering("HTTP/1.1 401 no\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").await;
    let headers = vec![("Authorization".to_owned(), "Bearer s3cret".to_owned())];
    let found = ill(Transport::Http(mate_bridge::HttpSpec { url, headers, live: None })).await;
    assert!(found.code == Code::TokenRefused && found.next.contains("rotate"), "{found:?}");
}

#[tokio::test]
async fn the_old_transport_is_recognised() {
    let get = || async { ([("content-type", "text/event-stream")], "event: endpoint\ndata: /messages\n\n") };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/sse", listener.local_addr().unwrap());
    let app = axum::Router::new().route("/sse", axum::routing::get(get));
    tokio::spawn(async move { axum::serve(listener, app).await });
    assert_eq!(ill(http(&url)).await.code, Code::SseOnly);
}

#[tokio::test]
async fn an_address_where_nothing_is() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    drop(listener);
    assert_eq!(ill(http(&url)).await.code, Code::ConnectionRefused);
    assert_eq!(ill(http("http://no-such-host.invalid/mcp")).await.code, Code::HostNotFound);
    assert_eq!(ill(http("ftp://somewhere/mcp")).await.code, Code::BadAddress);
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", silent.local_addr().unwrap());
    assert_eq!(ill(http(&url)).await.code, Code::NoAnswer);
}

#[tokio::test]
async fn a_look_calls_nothing() {
    let asked = Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    let url = raw_http(move |m: &Value| {
        seen.lock().unwrap().push(m["method"].as_str().unwrap().to_owned());
        None
    })
    .await;
    let found = look(http(&url)).await;
    assert_eq!((found.problem, found.tools.len()), (None, 1));
    assert_eq!(*asked.lock().unwrap(), ["server/discover", "initialize", "tools/list"]);
}
