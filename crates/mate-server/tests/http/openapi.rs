//! What the interface says of itself: committed, and true.

use crate::{
    described::{faults, operation, response},
    house::House,
};
use http::StatusCode;
use mate_server::{describe, table};
use serde_json::Value;
use std::{collections::BTreeSet, fs, path::Path};

fn kept(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

/// Compares with what is committed, or writes it.
fn compare(name: &str, now: &str) {
    if std::env::var_os("UPDATE").is_some() {
        fs::write(kept(name), now).expect("written");
        return;
    }
    let before = fs::read_to_string(kept(name)).unwrap_or_default();
    assert!(
        before == now,
        "docs/{name} is behind; write it anew with `UPDATE=1 cargo test -p mate-server --test http openapi`"
    );
}

#[test]
fn the_document_is_the_committed_one() {
    let mut now = serde_json::to_string_pretty(&describe::document()).expect("JSON");
    now.push('\n');
    compare("openapi.json", &now);
}

#[test]
fn the_page_of_problems_is_the_committed_one() {
    compare("problems.md", &describe::problems::page());
}

/// Everything in the document that has an example fits it, and everything that is sent or shown has one.
#[test]
fn every_example_fits() {
    let document = describe::document();
    let mut seen = 0;
    for (path, methods) in document["paths"].as_object().expect("paths") {
        for (method, said) in methods.as_object().expect("methods") {
            let strict = operation(method, path).expect("described");
            let mut check = |content: &Value, what: &str| {
                if content["schema"]["type"] == "string" || path.ends_with("openapi.json") {
                    return;
                }
                assert!(!content["example"].is_null(), "{method} {path} has no example of its {what}");
                let faults = faults(&content["schema"], &content["example"]);
                assert!(faults.is_empty(), "{method} {path}, {what}: {faults:#?}");
                seen += 1;
            };
            if let Some(body) = said.get("requestBody") {
                check(&body["content"]["application/json"], "body");
            }
            for (status, _) in said["responses"].as_object().expect("responses") {
                let status: StatusCode = status.parse().expect("a status");
                let answer = response(strict, status).expect("a response");
                for (_, content) in answer["content"].as_object().into_iter().flatten() {
                    check(content, status.as_str());
                }
            }
        }
    }
    assert!(seen > 400, "{seen}");
}

#[test]
fn every_name_is_there_once_and_every_reference_leads_somewhere() {
    let document = describe::document();
    let mut names = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().expect("paths") {
        for (method, operation) in methods.as_object().expect("methods") {
            let name = operation["operationId"].as_str().expect("a name");
            assert!(names.insert(name.to_owned()), "{method} {path}: {name} is there twice");
            assert!(operation["summary"].as_str().is_some_and(|says| says.ends_with('.')), "{name}");
            for parameter in operation["parameters"].as_array().expect("parameters") {
                assert!(
                    parameter["description"].as_str().is_some_and(|says| !says.is_empty()),
                    "{name}: {parameter}"
                );
            }
        }
    }
    for route in table() {
        let path = format!("/api/v1{}", route.path);
        assert!(document["paths"][&path].get(route.method.to_lowercase()).is_some(), "{path}");
    }
    let text = document.to_string();
    for found in text.split("\"$ref\":\"#").skip(1) {
        let pointer = found.split('"').next().expect("a pointer");
        assert!(document.pointer(pointer).is_some(), "{pointer}");
    }
}

/// Every code that the program can answer with stands in the table: read from the sources, since codes are plain words there.
#[test]
fn every_code_of_the_sources_is_listed() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = BTreeSet::new();
    for name in ["mate-engine/src", "mate-server/src", "agent-mate/src/check", "agent-mate/src/authorizer.rs"]
    {
        read(&crates.join(name), &mut found);
    }
    assert!(found.len() > 50, "{found:?}");
    let listed: BTreeSet<_> = describe::problems::PROBLEMS.iter().map(|kind| kind.code.to_owned()).collect();
    let missing: Vec<_> = found.difference(&listed).collect();
    assert!(missing.is_empty(), "not in describe/problems.rs: {missing:?}");
}

fn read(path: &Path, found: &mut BTreeSet<String>) {
    if path.is_dir() {
        for entry in fs::read_dir(path).expect("a folder") {
            read(&entry.expect("an entry").path(), found);
        }
        return;
    }
    let text = fs::read_to_string(path).expect("a source");
    for start in ["refused(", "code: ", "StatusCode::"] {
        for rest in text.split(start).skip(1) {
            let rest = rest
                .trim_start_matches(|c: char| c.is_ascii_uppercase() || c == '_' || c == ',')
                .trim_start();
            let word = rest.strip_prefix('"').and_then(|rest| rest.split('"').next()).unwrap_or_default();
            if !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b == b'_') {
                found.insert(word.to_owned());
            }
        }
    }
}

#[tokio::test]
async fn the_description_needs_no_token_and_runs_nothing() {
    let house = House::new().await;
    for (path, kind) in
        [("/api/v1/openapi.json", "application/json"), ("/api/docs", "text/html; charset=utf-8")]
    {
        let request = http::Request::builder().uri(path).header("host", "localhost");
        let reply = house.send(request.body(axum::body::Body::empty()).expect("a request")).await;
        assert_eq!(
            (reply.status.as_u16(), &reply.headers["content-type"]),
            (200, &kind.parse().expect("a value"))
        );
        let policy = reply.headers["content-security-policy"].to_str().expect("text");
        assert!(policy.starts_with("default-src 'none'") && !policy.contains("script-src"), "{policy}");
    }
    let reply = house.get("/api/v1/openapi.json").await.expect(200);
    assert_eq!(reply, describe::document());
}
