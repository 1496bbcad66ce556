//! To anybody else it does not exist.

use crate::house::{House, request};
use axum::body::Body;
use serde_json::{Value, json};

/// Everything in the first project, and its twin that does not exist.
async fn addresses(house: &House) -> Vec<(&'static str, String, String)> {
    let grant = house.furnish().await;
    let task =
        house.post("/api/v1/projects/default/tasks", json!({ "instructions": "work" })).await.expect(201);
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let (project, task, session) = (text(&grant["project"]), text(&task["id"]), text(&task["session"]));
    let grant = text(&grant["id"]);
    let operation = format!("op_{}_1", session.trim_start_matches("ses_"));
    let token =
        house.get("/api/v1/tokens").await.expect(200)["items"][0]["id"].as_str().expect("id").to_owned();
    let mut all = Vec::new();
    let absent = |id: &str| {
        let prefix = id.split('_').next().expect("a prefix");
        let rest = if prefix == "op" { "_1" } else { "" };
        format!("{prefix}_{}{rest}", "0".repeat(32))
    };
    let mut add = |method, before: &str, id: &str, after: &str| {
        all.push((method, format!("{before}{id}{after}"), format!("{before}{}{after}", absent(id))));
    };
    add("GET", "/api/v1/projects/", &project, "");
    add("POST", "/api/v1/projects/", &project, "/archive");
    add("GET", "/api/v1/projects/", &project, "/members");
    add("GET", "/api/v1/projects/", &project, "/tasks");
    add("GET", "/api/v1/grants?project=", &project, "");
    add("GET", "/api/v1/sessions?project=", &project, "");
    add("GET", "/api/v1/sessions/", &session, "");
    add("GET", "/api/v1/grants/", &grant, "");
    add("POST", "/api/v1/grants/", &grant, "/revoke");
    add("GET", "/api/v1/operations/", &operation, "");
    add("GET", "/api/v1/operations?task=", &task, "");
    add("POST", "/api/v1/tokens/", &token, "/revoke");
    add("GET", "/api/v1/tokens?account=", house.first.account.id.to_string().as_str(), "");
    add("GET", "/api/v1/accounts/", house.first.account.id.to_string().as_str(), "");
    for after in ["", "/events", "/operations", "/report"] {
        add("GET", "/api/v1/tasks/", &task, after);
    }
    for after in ["/approve", "/reject", "/stop", "/kill", "/resume"] {
        add("POST", "/api/v1/tasks/", &task, after);
    }
    all
}

#[tokio::test]
async fn g08_a_stranger_cannot_tell_foreign_from_absent() {
    let house = House::new().await;
    let all = addresses(&house).await;
    let token = house.stranger("mallory").await;
    let before = house.fingerprint().await;
    for (method, foreign, absent) in &all {
        let foreign = house.call_as(&token, method, foreign, None).await;
        let absent_reply = house.call_as(&token, method, absent, None).await;
        assert_eq!(foreign.problem(404), "not_found", "{method} {absent}");
        assert_eq!(foreign.body, absent_reply.body, "{method} {absent}");
        assert_eq!(absent_reply.status, 404, "{method} {absent}");
    }
    let stream = all.iter().find(|(_, path, _)| path.ends_with("/events")).expect("a stream");
    let stream = request(&token, "GET", &stream.1).header("accept", "text/event-stream").body(Body::empty());
    assert_eq!(house.send(stream.expect("a request")).await.problem(404), "not_found");
    assert_eq!(house.fingerprint().await, before);
}

#[tokio::test]
async fn g08_names_tell_a_stranger_nothing_either() {
    let house = House::new().await;
    house.furnish().await;
    let token = house.stranger("mallory").await;
    for path in ["/api/v1/projects/default", "/api/v1/projects/nowhere", "/api/v1/connections/files"] {
        assert_eq!(house.call_as(&token, "GET", path, None).await.problem(404), "not_found", "{path}");
    }
    assert_eq!(
        house.call_as(&token, "GET", "/api/v1/connections", None).await.expect(200)["items"],
        json!([])
    );
    assert_eq!(house.call_as(&token, "GET", "/api/v1/projects", None).await.expect(200)["items"], json!([]));
    assert_eq!(house.call_as(&token, "GET", "/api/v1/accounts", None).await.problem(403), "not_allowed");
    let runtime = "/api/v1/runtimes/plain";
    assert_eq!(house.call_as(&token, "GET", runtime, None).await.problem(404), "not_found");
    assert_eq!(house.call_as(&token, "GET", "/api/v1/runtimes", None).await.expect(200)["items"], json!([]));
    for (path, body) in [
        ("/api/v1/accounts", json!({ "name": "x" })),
        ("/api/v1/runtimes", json!({ "name": "x", "command": ["x"] })),
        ("/api/v1/connections", json!({ "name": "x", "command": ["x"] })),
    ] {
        assert_eq!(
            house.call_as(&token, "POST", path, Some(body)).await.problem(403),
            "not_allowed",
            "{path}"
        );
    }
}

#[tokio::test]
async fn roles_and_limited_tokens() {
    let house = House::new().await;
    let grant = house.furnish().await;
    let token = house.stranger("mary").await;
    let member = json!({ "account": "mary", "role": "viewer" });
    house.post("/api/v1/projects/default/members", member).await.expect(201);
    house.call_as(&token, "GET", "/api/v1/projects/default/tasks", None).await.expect(200);
    let runtime = house.call_as(&token, "GET", "/api/v1/runtimes/plain", None).await.expect(200);
    assert_eq!(
        (&runtime["name"], &runtime["command"]),
        (&json!("plain"), &Value::Null),
        "how it is launched is hidden"
    );
    let task = json!({ "instructions": "work" });
    let refused = house.call_as(&token, "POST", "/api/v1/projects/default/tasks", Some(task.clone())).await;
    assert_eq!(refused.problem(403), "not_allowed");
    let revoke = format!("/api/v1/grants/{}/revoke", grant["id"].as_str().expect("an id"));
    assert_eq!(house.call_as(&token, "POST", &revoke, None).await.problem(403), "not_allowed");

    house.post("/api/v1/projects", json!({ "name": "other" })).await.expect(201);
    let limited = json!({ "project": "default", "role": "operator" });
    let limited =
        house.post("/api/v1/tokens", limited).await.expect(201)["token"].as_str().expect("secret").to_owned();
    house.call_as(&limited, "POST", "/api/v1/projects/default/tasks", Some(task)).await.expect(201);
    assert_eq!(
        house.call_as(&limited, "GET", "/api/v1/projects/other", None).await.problem(404),
        "not_found"
    );
    assert_eq!(house.call_as(&limited, "POST", &revoke, None).await.problem(403), "not_allowed");
    let list = house.call_as(&limited, "GET", "/api/v1/projects", None).await.expect(200);
    assert_eq!(list["items"].as_array().map(Vec::len), Some(1));
    assert_eq!(house.call_as(&limited, "GET", "/api/v1/accounts", None).await.problem(403), "not_allowed");
}
