//! The OpenAPI document.

use super::{
    Kind,
    operation::{common, operation, refusal, tag},
    schemas::{Schemas, reference},
};
use crate::{
    problem::Problem,
    routes::described,
    wire::{
        answer::{Health, Readiness},
        shape,
    },
};
use serde_json::{Map, Value, json};

const ABOUT: &str = "\
Every request carries `Authorization: Bearer TOKEN`, on the Unix socket too. Bodies are JSON and read strictly: a field that is not \
known is refused. Refusals are problem documents (RFC 9457) with a stable `code`. Lists are paged: give `next` back as `cursor`. \
Times are RFC 3339 in UTC. A POST that takes an `Idempotency-Key` is done once with it and answered as the first time; a secret is shown once.";

/// The nouns, in the order of the page.
const TAGS: &[(&str, &str)] = &[
    ("tasks", "Durable units of approved work."),
    ("events", "What happened: past facts, numbered without gaps in each log."),
    ("stream", "Several logs at once, as they go on."),
    ("operations", "The record of each outside action, with what proves its outcome."),
    ("approvals", "A person's answers to exact requests."),
    ("artifacts", "Immutable outputs of a project."),
    ("sessions", "Conversations with runtimes."),
    ("projects", "What work belongs together."),
    ("members", "Who may act on a project, and in which role."),
    ("grants", "A project's authority to use tools of a connection."),
    ("connections", "Links to upstream MCP servers."),
    ("policies", "What administrators permit and forbid, in Cedar."),
    ("runtimes", "Agent programs, and how they are launched."),
    ("accounts", "Who owns and acts."),
    ("tokens", "Bearer tokens."),
    ("browser", "Signing a browser in to the dashboard."),
    ("set-aside", "What the coordinator could not look after."),
    ("service", "The service itself: no token is needed."),
];

/// The whole interface as an OpenAPI 3.1 document.
#[must_use]
pub fn document() -> Value {
    let routes = described();
    let mut others = vec![Kind::of::<Problem>(), Kind::of::<Health>(), Kind::of::<Readiness>()];
    // Named by parts of addresses.
    others.extend([
        Kind::of::<shape::TaskId>(),
        Kind::of::<shape::SessionId>(),
        Kind::of::<shape::OperationId>(),
        Kind::of::<shape::ApprovalId>(),
        Kind::of::<shape::GrantId>(),
        Kind::of::<shape::ArtifactId>(),
        Kind::of::<shape::TokenId>(),
        Kind::of::<shape::NameOrId>(),
    ]);
    let schemas = Schemas::of(routes.iter().map(|(_, doc)| doc), &others);
    let mut paths = Map::new();
    for (route, doc) in &routes {
        let path = paths.entry(format!("/api/v1{}", route.path)).or_insert_with(|| json!({}));
        path[route.method.to_lowercase()] = operation(route, doc);
    }
    service(&mut paths);
    let tags: Vec<_> = TAGS.iter().map(|(name, says)| json!({ "name": name, "description": says })).collect();
    debug_assert!(routes.iter().all(|(route, _)| TAGS.iter().any(|(name, _)| *name == tag(route.path))));
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Agent Mate",
            "version": env!("CARGO_PKG_VERSION"),
            "description": ABOUT,
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": "/" }],
        "security": [{ "bearer": [] }],
        "tags": tags,
        "paths": paths,
        "components": {
            "securitySchemes": { "bearer": { "type": "http", "scheme": "bearer" } },
            "responses": common(),
            "schemas": schemas.into_json(),
        },
    })
}

/// What needs no token.
fn service(paths: &mut Map<String, Value>) {
    let mut add = |path: &str, id: &str, says: &str, content: Value| {
        let responses = json!({
            "200": { "description": "All is well.", "content": content },
            "403": refusal(403, &["inside_a_session", "wrong_origin"]),
            "421": { "$ref": "#/components/responses/WrongHost" },
            "500": { "$ref": "#/components/responses/Internal" },
            "503": { "$ref": "#/components/responses/Unavailable" },
        });
        let operation = json!({
            "operationId": id, "summary": says, "tags": ["service"], "security": [], "parameters": [],
            "responses": responses,
        });
        paths.insert(path.to_owned(), json!({ "get": operation }));
    };
    let health = json!({ "schema": reference(&Kind::of::<Health>()), "example": { "status": "ok" } });
    add("/healthz", "healthz", "The process answers.", json!({ "application/json": health }));
    let ready = json!({
        "schema": reference(&Kind::of::<Readiness>()), "example": { "status": "ready", "set_aside": 0 },
    });
    add("/readyz", "readyz", "The ledger answers too.", json!({ "application/json": ready }));
    let document = json!({ "application/json": { "schema": { "type": "object" } } });
    add("/api/v1/openapi.json", "openapi", "This document.", document);
    let page = json!({ "text/html": { "schema": { "type": "string" } } });
    add("/api/docs", "docs", "This document as a page for people.", page);
}
