//! Bad input of any kind: a 4xx problem document that names the field, and nothing is changed.

use crate::house::{House, request};
use axum::body::Body;
use http::header;
use serde_json::{Value, json};

/// Every POST, with a body that it would take.
fn posts(task: &str) -> Vec<(String, Value)> {
    let nothing = || json!({});
    vec![
        ("/api/v1/accounts".into(), json!({ "name": "a1" })),
        ("/api/v1/accounts/owner/disable".into(), nothing()),
        ("/api/v1/tokens".into(), nothing()),
        ("/api/v1/projects".into(), json!({ "name": "p1" })),
        ("/api/v1/projects/default/archive".into(), nothing()),
        ("/api/v1/projects/default/members".into(), json!({ "account": "owner", "role": "owner" })),
        ("/api/v1/projects/default/tasks".into(), json!({ "instructions": "work" })),
        ("/api/v1/runtimes".into(), json!({ "name": "r1", "command": ["x"] })),
        ("/api/v1/connections".into(), json!({ "name": "c1", "command": ["x"] })),
        ("/api/v1/grants".into(), json!({ "project": "default", "connection": "files", "tools": ["*"] })),
        (format!("/api/v1/tasks/{task}/approve"), nothing()),
        (format!("/api/v1/tasks/{task}/reject"), nothing()),
        (format!("/api/v1/tasks/{task}/stop"), nothing()),
        (format!("/api/v1/tasks/{task}/kill"), nothing()),
    ]
}

async fn with_task() -> (House, String) {
    let house = House::new().await;
    house.furnish().await;
    let task =
        house.post("/api/v1/projects/default/tasks", json!({ "instructions": "first" })).await.expect(201);
    let task = task["id"].as_str().expect("an id").to_owned();
    (house, task)
}

#[tokio::test]
async fn g13_no_post_takes_a_body_that_is_not_right() {
    let (house, task) = with_task().await;
    let before = house.fingerprint().await;
    let deep = format!("{{\"name\":{}1{}}}", "[".repeat(200), "]".repeat(200));
    let bodies: [(&str, Vec<u8>, u16); 12] = [
        ("cut off", b"{\"name\":\"x\"".to_vec(), 400),
        ("not JSON", b"name=x".to_vec(), 400),
        ("not UTF-8", b"{\"name\":\"\xff\xfe\"}".to_vec(), 400),
        ("a lone surrogate", br#"{"name":"\ud800"}"#.to_vec(), 400),
        ("two documents", b"{}{}".to_vec(), 400),
        ("too deep", deep.into_bytes(), 400),
        ("NaN", b"{\"name\":NaN}".to_vec(), 400),
        ("a byte order mark", b"\xef\xbb\xbf{}".to_vec(), 400),
        ("a list", b"[]".to_vec(), 422),
        ("null", b"null".to_vec(), 422),
        ("a NUL character", br#"{"name":"a\u0000b"}"#.to_vec(), 422),
        ("an unknown field", br#"{"nonsense":1}"#.to_vec(), 422),
    ];
    for (path, _) in posts(&task) {
        for (what, bytes, status) in &bodies {
            let request =
                request(house.token(), "POST", &path).header(header::CONTENT_TYPE, "application/json");
            let reply = house.send(request.body(Body::from(bytes.clone())).expect("a request")).await;
            reply.problem(*status);
            assert!(reply.body["errors"][0]["field"].is_string(), "{path} {what}: {}", reply.body);
        }
    }
    assert_eq!(house.fingerprint().await, before);
}

#[tokio::test]
async fn every_post_wants_json_of_a_bounded_size() {
    let (house, task) = with_task().await;
    let before = house.fingerprint().await;
    for (path, body) in posts(&task) {
        for kind in
            [None, Some("text/plain"), Some("application/x-www-form-urlencoded"), Some("application/jsonx")]
        {
            let mut request = request(house.token(), "POST", &path);
            if let Some(kind) = kind {
                request = request.header(header::CONTENT_TYPE, kind);
            }
            let reply = house.send(request.body(Body::from(body.to_string())).expect("a request")).await;
            assert_eq!(reply.problem(415), "unsupported_media_type", "{path}");
        }
        let huge = format!("{{\"name\":\"{}\"}}", "x".repeat(1024 * 1024));
        let request = request(house.token(), "POST", &path).header(header::CONTENT_TYPE, "application/json");
        let reply = house.send(request.body(Body::from(huge)).expect("a request")).await;
        assert_eq!(reply.problem(413), "too_large", "{path}");
    }
    assert_eq!(house.fingerprint().await, before);
}

#[tokio::test]
async fn each_field_is_judged_by_name() {
    let (house, _) = with_task().await;
    let before = house.fingerprint().await;
    let long = "x".repeat(65);
    let connection = |more: Value| {
        let mut body = json!({ "name": "c1", "command": ["x"] });
        body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        body
    };
    let grant = |more: Value| {
        let mut body = json!({ "project": "default", "connection": "files", "tools": ["*"] });
        body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        body
    };
    let tasks = "/api/v1/projects/default/tasks";
    let mut cases: Vec<(&str, Value, &str)> = Vec::new();
    for path in ["/api/v1/accounts", "/api/v1/projects", "/api/v1/runtimes", "/api/v1/connections"] {
        for name in ["", "A", "a b", "a__b", "-a", "../x", "a/b", "ä", long.as_str(), "\u{202e}a", "a\n"] {
            cases.push((path, json!({ "name": name, "command": ["x"] }), "name"));
        }
        cases.push((path, json!({ "name": 1 }), "name"));
        cases.push((path, json!({ "name": ["a"] }), "name"));
        cases.push((path, json!({}), "name"));
    }
    for case in &mut cases {
        if case.0.ends_with("accounts") || case.0.ends_with("projects") {
            case.1.as_object_mut().expect("an object").remove("command");
        }
    }
    cases.extend([
        ("/api/v1/accounts", json!({ "name": "a1", "admin": "yes" }), "admin"),
        ("/api/v1/projects", json!({ "name": "p1", "workspace": "relative" }), "workspace"),
        ("/api/v1/projects", json!({ "name": "p1", "workspace": "/nowhere/at/all" }), "workspace"),
        ("/api/v1/projects", json!({ "name": "p1", "workspace": "/etc/passwd" }), "workspace"),
        ("/api/v1/projects/default/members", json!({ "account": "nobody", "role": "owner" }), "account"),
        ("/api/v1/projects/default/members", json!({ "account": "owner", "role": "king" }), "role"),
        ("/api/v1/runtimes", json!({ "name": "r1", "command": [] }), "command"),
        ("/api/v1/runtimes", json!({ "name": "r1", "command": ["", "x"] }), "command"),
        ("/api/v1/runtimes", json!({ "name": "r1", "command": ["x", 1] }), "command[1]"),
        ("/api/v1/runtimes", json!({ "name": "r1", "preset": "nope" }), "preset"),
        ("/api/v1/connections", json!({ "name": "agent_mate", "command": ["x"] }), "name"),
        ("/api/v1/connections", json!({ "name": "c1" }), "url"),
        ("/api/v1/connections", json!({ "name": "c1", "url": "http://h/", "command": ["x"] }), "url"),
        ("/api/v1/connections", json!({ "name": "c1", "url": "ftp://h/" }), "url"),
        ("/api/v1/connections", json!({ "name": "c1", "url": "http://user:secret@h/" }), "url"),
        ("/api/v1/connections", connection(json!({ "secret_env": { "A=B": "x" } })), "secret_env"),
        ("/api/v1/connections", connection(json!({ "secret_env": { "A": 1 } })), "secret_env.A"),
        ("/api/v1/connections", connection(json!({ "headers": { "X": "y" } })), "headers"),
        (
            "/api/v1/connections",
            json!({ "name": "c1", "url": "http://h/", "headers": { "X": "a\r\nY: b" } }),
            "headers",
        ),
        (
            "/api/v1/connections",
            json!({ "name": "c1", "url": "http://h/", "headers": { "Host": "evil" } }),
            "headers",
        ),
        ("/api/v1/connections", connection(json!({ "allow_fields": ["nodot"] })), "allow_fields"),
        ("/api/v1/connections", connection(json!({ "effect": "harmless" })), "effect"),
        ("/api/v1/grants", grant(json!({ "tools": [] })), "tools"),
        ("/api/v1/grants", grant(json!({ "tools": ["a b"] })), "tools"),
        ("/api/v1/grants", grant(json!({ "tools": "*" })), "tools"),
        ("/api/v1/grants", grant(json!({ "connection": "nowhere" })), "connection"),
        ("/api/v1/grants", grant(json!({ "max_calls": 0 })), "max_calls"),
        ("/api/v1/grants", grant(json!({ "max_calls": 1e300 })), "max_calls"),
        ("/api/v1/grants", grant(json!({ "expires": "yesterday" })), "expires"),
        ("/api/v1/grants", grant(json!({ "expires": "1970-01-01T00:00:00Z" })), "expires"),
        ("/api/v1/grants", grant(json!({ "approve": "maybe" })), "approve"),
        ("/api/v1/tokens", json!({ "account": "nobody" }), "account"),
        ("/api/v1/tokens", json!({ "role": "king" }), "role"),
        ("/api/v1/tokens", json!({ "expires": "0d" }), "expires"),
        (tasks, json!({ "instructions": "" }), "instructions"),
        (tasks, json!({ "instructions": "x".repeat(300 * 1024) }), "instructions"),
        (tasks, json!({ "instructions": "x", "runtime": "nowhere" }), "runtime"),
        (tasks, json!({ "instructions": "x", "session": "ses_1" }), "session"),
        (tasks, json!({ "instructions": "x", "approve": 1 }), "approve"),
        (tasks, json!({ "instructions": "x", "policy": { "nope": 1 } }), "policy.nope"),
    ]);
    for (path, body, field) in cases {
        let reply = house.post(path, body.clone()).await;
        reply.problem(422);
        assert_eq!(reply.body["errors"][0]["field"], field, "{path} {body}: {}", reply.body);
        assert!(!reply.body.to_string().contains("secret@"), "{}", reply.body);
    }
    assert_eq!(house.fingerprint().await, before);
}

#[tokio::test]
async fn parameters_are_judged_by_name() {
    let (house, task) = with_task().await;
    let events = format!("/api/v1/tasks/{task}/events");
    let operations = format!("/api/v1/tasks/{task}/operations");
    let tasks = "/api/v1/projects/default/tasks";
    for (path, query, field) in [
        ("/api/v1/projects", "limit=0", "limit"),
        ("/api/v1/projects", "limit=501", "limit"),
        ("/api/v1/projects", "limit=-1", "limit"),
        ("/api/v1/projects", "limit=x", "limit"),
        ("/api/v1/projects", "limit=99999999999999999999", "limit"),
        ("/api/v1/projects", "cursor=abc", "cursor"),
        ("/api/v1/projects", "cursor=%00", "cursor"),
        ("/api/v1/projects", "nonsense=1", "nonsense"),
        ("/api/v1/grants", "project=default&all=perhaps", "all"),
        ("/api/v1/operations", "task=tsk_1&project=default", "project"),
        ("/api/v1/operations", "state=sleeping", "state"),
        ("/api/v1/operations", "cursor=abc", "cursor"),
        (tasks, "state=sleeping", "state"),
        (tasks, "cursor=-1", "cursor"),
        (&operations, "state=sleeping", "state"),
        (&operations, "cursor=0", "cursor"),
        (&events, "after=abc", "after"),
        (&events, "after=-1", "after"),
        (&events, "after=0", "after"),
        (&events, "until=later", "until"),
    ] {
        let reply = house.get(&format!("{path}?{query}")).await;
        assert_eq!(reply.problem(400), "bad_parameter", "{path}?{query}");
        assert_eq!(reply.body["errors"][0]["field"], field, "{path}?{query}: {}", reply.body);
    }
}

/// F-91, F-93: nothing that is no id or name leads anywhere.
#[tokio::test]
async fn odd_addresses_are_not_found() {
    let (house, _) = with_task().await;
    let before = house.fingerprint().await;
    let odd = [
        "..",
        "%2e%2e%2fkey",
        "..%2f..%2fetc%2fpasswd",
        "%00",
        "a%00b",
        "%ff",
        "%e2%80%ae",
        "tsk_",
        "0",
        "-1",
        "*",
        "tsk_00000000000000000000000000000000%0a",
        "'%20or%201=1",
        "%5c..%5c",
        &"x".repeat(3_000),
    ];
    for part in odd {
        for (method, path) in [
            ("GET", format!("/api/v1/projects/{part}")),
            ("GET", format!("/api/v1/projects/{part}/tasks")),
            ("GET", format!("/api/v1/accounts/{part}")),
            ("GET", format!("/api/v1/runtimes/{part}")),
            ("GET", format!("/api/v1/connections/{part}")),
            ("GET", format!("/api/v1/grants/{part}")),
            ("GET", format!("/api/v1/sessions/{part}")),
            ("GET", format!("/api/v1/tasks/{part}")),
            ("GET", format!("/api/v1/tasks/{part}/events")),
            ("GET", format!("/api/v1/operations/{part}")),
            ("GET", format!("/{part}")),
            ("POST", format!("/api/v1/tasks/{part}/kill")),
            ("POST", format!("/api/v1/tokens/{part}/revoke")),
            ("POST", format!("/api/v1/grants/{part}/revoke")),
            ("DELETE", format!("/api/v1/projects/default/members/{part}")),
            ("DELETE", format!("/api/v1/runtimes/{part}")),
            ("DELETE", format!("/api/v1/connections/{part}")),
        ] {
            let reply = house.call_as(house.token(), method, &path, None).await;
            assert_eq!(reply.problem(404), "not_found", "{method} {path}");
        }
    }
    assert_eq!(house.fingerprint().await, before);
}

#[tokio::test]
async fn other_methods_are_not_allowed() {
    let house = House::new().await;
    for (method, path) in [("PUT", "/api/v1/projects"), ("DELETE", "/api/v1/accounts"), ("POST", "/healthz")]
    {
        let reply = house.call_as(house.token(), method, path, None).await;
        assert_eq!(reply.problem(405), "method_not_allowed");
        assert!(reply.headers.contains_key("allow"), "{method} {path}");
    }
}

/// F-95.
#[tokio::test]
async fn g08_nothing_is_told_without_a_token() {
    let (house, task) = with_task().await;
    let mut paths: Vec<_> = posts(&task).into_iter().map(|(path, _)| ("POST", path)).collect();
    paths.extend(["/api/v1/projects", "/api/v1/nowhere"].map(|path| ("GET", path.to_owned())));
    let not_ours = format!("am_{}", "A".repeat(43));
    for (method, path) in paths {
        for token in ["", "x", not_ours.as_str(), "am_"] {
            let reply = house.call_as(token, method, &path, None).await;
            assert_eq!(reply.problem(401), "not_authenticated", "{method} {path}");
        }
    }
    // A browser is shown the way in, and nothing else.
    let reply = house.call_as(&not_ours, "GET", "/", None).await;
    assert_eq!((reply.status.as_u16(), &reply.body), (303, &Value::Null));
}

#[tokio::test]
async fn foreign_hosts_and_origins_are_turned_away() {
    let house = House::new().await;
    let bearer = format!("Bearer {}", house.token());
    let send = async |host: Option<&str>, origin: Option<&str>, uri: &str| {
        let mut request = http::Request::get(uri).header(header::AUTHORIZATION, &bearer);
        for (name, value) in [(header::HOST, host), (header::ORIGIN, origin)] {
            if let Some(value) = value {
                request = request.header(name, value);
            }
        }
        house.send(request.body(Body::empty()).expect("a request")).await
    };
    let path = "/api/v1/projects";
    send(Some("localhost:7717"), None, path).await.expect(200);
    send(Some("localhost:7717"), Some("http://localhost:7717"), path).await.expect(200);
    for host in [None, Some("evil.example"), Some("evil.example:7717"), Some("127.0.0.1.evil.example")] {
        assert_eq!(send(host, None, path).await.problem(421), "wrong_host", "{host:?}");
        assert_eq!(send(host, None, "/healthz").await.problem(421), "wrong_host", "{host:?}");
    }
    let absolute = "http://evil.example/api/v1/projects";
    assert_eq!(send(Some("localhost"), None, absolute).await.problem(421), "wrong_host");
    for origin in ["null", "http://evil.example", "http://localhost:9999", "https://localhost"] {
        assert_eq!(
            send(Some("localhost:7717"), Some(origin), path).await.problem(403),
            "wrong_origin",
            "{origin}"
        );
    }
}
