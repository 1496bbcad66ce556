//! One route, as the document says it.

use super::{
    Doc, Kind, Shown, examples,
    problems::{self, PROBLEMS},
    schemas::{page_of, reference},
};
use crate::routes::Route;
use http::StatusCode;
use mate_engine::Needs;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Refusals that are the same everywhere: the name of the response, and its status.
const COMMON: &[(&str, u16)] = &[
    ("BadRequest", 400),
    ("NotAuthenticated", 401),
    ("Forbidden", 403),
    ("NotFound", 404),
    ("TooSlow", 408),
    ("TooLarge", 413),
    ("UnsupportedMediaType", 415),
    ("WrongHost", 421),
    ("Invalid", 422),
    ("TooManyRequests", 429),
    ("Internal", 500),
    ("Unavailable", 503),
];

/// Codes of a common status that only some routes give.
const FEW: &[&str] = &["too_many_downloads", "too_many_streams"];

/// The responses that routes share.
pub(super) fn common() -> Value {
    let one = |&(name, status): &(&str, u16)| {
        let of_status = PROBLEMS.iter().filter(|kind| kind.status == status);
        // Those of streams and downloads are theirs alone.
        let codes = of_status.map(|kind| kind.code).filter(|code| !FEW.contains(code));
        (name.to_owned(), refusal(status, &codes.collect::<Vec<_>>()))
    };
    COMMON.iter().map(one).collect::<Map<_, _>>().into()
}

/// The operation of one route.
pub(super) fn operation(route: &Route, doc: &Doc) -> Value {
    let name = doc.name.unwrap_or(route.verb.as_str());
    let needs = match route.verb.needs() {
        Needs::Token => "Needs a token.".to_owned(),
        Needs::Somewhere(role) => format!("Needs the role {role} in some project, or an administrator."),
        Needs::Role(role) => format!("Needs the role {role} in the project."),
        Needs::WholeToken | Needs::Administrator => format!("Needs {}.", an(route.verb.needs().words())),
    };
    let mut operation = json!({
        "operationId": name.replace('.', "_"),
        "summary": doc.says.unwrap_or(route.verb.says()),
        "description": needs,
        "tags": [tag(route.path)],
        "parameters": parameters(route, doc),
    });
    if let Some(body) = &doc.body {
        let mut content = json!({ "schema": reference(&body.kind) });
        if let Some(example) = examples::of(&body.kind.name_of()) {
            content["example"] = example;
        }
        operation["requestBody"] =
            json!({ "required": body.needed, "content": { "application/json": content } });
    }
    operation["responses"] = responses(route, doc);
    operation
}

fn an(words: &str) -> String {
    if words.starts_with('a') && !words.starts_with("a ") { format!("an {words}") } else { words.to_owned() }
}

/// The noun that a path is about: its last fixed part that is one.
pub(super) fn tag(path: &str) -> String {
    let nouns = ["tasks", "artifacts", "members", "operations", "events"];
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    let first = parts.next().unwrap_or_default();
    parts.find(|part| nouns.contains(part)).unwrap_or(first).to_owned()
}

fn parameters(route: &Route, doc: &Doc) -> Value {
    let mut all: Vec<Value> = Vec::new();
    for part in route.path.split('/') {
        if let Some(name) = part.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
            all.push(path_parameter(name));
        }
    }
    for parameter in doc.query.map(|query| query()).into_iter().flatten() {
        if let Ok(parameter) = serde_json::to_value(parameter) {
            all.push(without_null(parameter));
        }
    }
    let mut header = |name: &str, pattern: &str, says: &str| {
        all.push(json!({
            "name": name, "in": "header", "required": false, "description": says,
            "schema": { "type": "string", "pattern": pattern },
        }));
    };
    if route.method == "POST" && doc.keyed {
        let says = "A key of your own: the same request with the same key is done once, and answered as the first time.";
        header("Idempotency-Key", "^[!-~]{1,255}$", says);
    }
    match doc.shown {
        Shown::Events(_) | Shown::Stream => header(
            "Last-Event-ID",
            "^[A-Za-z0-9_-]{8,512}$",
            "Of a stream that was cut off: where it was. Goes before `after`.",
        ),
        Shown::Content => header("Range", "^bytes=[0-9]*-[0-9]*$", "One range of bytes (RFC 9110)."),
        Shown::One(_) | Shown::Page(_) => {}
    }
    all.into()
}

/// A parameter that is left out is not there; it is never `null`.
fn without_null(mut parameter: Value) -> Value {
    if let Some(schema) = parameter.get_mut("schema") {
        if let Some(kinds) = schema.get("type").and_then(Value::as_array).cloned() {
            let mut kinds = kinds.into_iter().filter(|kind| kind != "null");
            if let (Some(kind), None) = (kinds.next(), kinds.next()) {
                schema["type"] = kind;
            }
        }
        if let Some(choices) = schema.get("oneOf").and_then(Value::as_array) {
            let mut real = choices.iter().filter(|choice| choice["type"] != "null");
            if let (Some(one), None) = (real.next().cloned(), real.next()) {
                *schema = one;
            }
        }
    }
    parameter
}

fn path_parameter(name: &str) -> Value {
    let (schema, says) = match name {
        "task" => ("TaskId", "The task's id."),
        "session" => ("SessionId", "The session's id."),
        "operation" => ("OperationId", "The operation's id."),
        "approval" => ("ApprovalId", "The approval's id."),
        "grant" => ("GrantId", "The grant's id."),
        "artifact" => ("ArtifactId", "The artifact's id."),
        "token" => ("TokenId", "The token's id; not the secret."),
        "project" => ("NameOrId", "The project, by name or id."),
        "account" => ("NameOrId", "The account, by name or id."),
        "runtime" => ("NameOrId", "The runtime, by name or id."),
        "connection" => ("NameOrId", "The connection, by name or id."),
        "policy" => ("NameOrId", "The policy, by name or id."),
        _ => ("NameOrId", ""),
    };
    json!({
        "name": name, "in": "path", "required": true, "description": says,
        "schema": { "$ref": format!("#/components/schemas/{schema}") },
    })
}

fn responses(route: &Route, doc: &Doc) -> Value {
    let mut all: BTreeMap<u16, Value> = BTreeMap::new();
    all.insert(doc.status, success(route, doc));
    if matches!(doc.shown, Shown::Content) {
        all.insert(206, json!({ "description": "The part that was asked for.", "content": binary() }));
        all.insert(304, json!({ "description": "It is the one that `If-None-Match` names." }));
        all.insert(416, json!({ "description": "The range lies behind the end." }));
    }
    for (name, status) in COMMON {
        let with_body = matches!(status, 408 | 413 | 415);
        let mends = matches!(status, 422) && route.method == "DELETE";
        if !(with_body && route.method != "POST" || mends) {
            all.insert(*status, json!({ "$ref": format!("#/components/responses/{name}") }));
        }
    }
    let mut codes: BTreeMap<u16, Vec<&str>> = BTreeMap::new();
    if route.method != "GET" {
        codes.entry(409).or_default().push("changed_meanwhile");
    }
    for code in doc.refuses {
        let status = problems::find(code).map_or(409, |kind| kind.status);
        codes.entry(status).or_default().push(code);
    }
    for (status, mut codes) in codes {
        if COMMON.iter().any(|(_, common)| *common == status) {
            let shared = PROBLEMS.iter().filter(|kind| kind.status == status && !FEW.contains(&kind.code));
            codes.extend(shared.map(|kind| kind.code));
        }
        codes.sort_unstable();
        all.insert(status, refusal(status, &codes));
    }
    all.into_iter().map(|(status, answer)| (status.to_string(), answer)).collect::<Map<_, _>>().into()
}

pub(super) fn refusal(status: u16, codes: &[&str]) -> Value {
    let reason = StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
    let listed: Vec<_> = codes.iter().map(|code| format!("`{code}`")).collect();
    let example = codes.first().and_then(|code| problems::find(code)).map(|kind| {
        let mut problem = json!({
            "type": "about:blank", "title": kind.means.trim_end_matches('.'), "status": status,
            "code": kind.code, "detail": kind.next,
        });
        if matches!(kind.code, "bad_json" | "invalid") {
            problem["errors"] =
                json!([{ "field": "name", "why": "must be 1 to 64 of a-z, 0-9, `_` and `-`" }]);
        }
        problem
    });
    let mut answer = json!({
        "description": format!("{}: {}.", reason.unwrap_or("Refused"), listed.join(", ")),
        "content": { "application/problem+json": { "schema": { "$ref": "#/components/schemas/Problem" } } },
        "x-codes": codes,
    });
    if let Some(example) = example {
        answer["content"]["application/problem+json"]["example"] = example;
    }
    if matches!(status, 429 | 503) {
        answer["headers"] = json!({ "Retry-After": {
            "description": "After how many seconds to try again.", "schema": { "type": "integer", "minimum": 1 },
        } });
    }
    answer
}

fn success(route: &Route, doc: &Doc) -> Value {
    let json_of = |schema: Value, example: Option<Value>| match example {
        Some(example) => json!({ "schema": schema, "example": example }),
        None => json!({ "schema": schema }),
    };
    let page = |kind: &Kind| {
        let example = examples::of(&Kind::name_of(kind)).map(|one| json!({ "items": [one], "next": null }));
        json_of(page_of(kind), example)
    };
    let content = match &doc.shown {
        Shown::One(kind) => {
            json!({ "application/json": json_of(reference(kind), examples::of(&kind.name_of())) })
        }
        Shown::Page(kind) => json!({ "application/json": page(kind) }),
        Shown::Events(kind) => json!({
            "application/json": page(kind),
            "text/event-stream": frame(),
        }),
        Shown::Stream => json!({ "text/event-stream": frame() }),
        Shown::Content => binary(),
    };
    let says = match doc.shown {
        Shown::One(_) if doc.status == 201 => "It was made.",
        Shown::One(_) => "As it stands now.",
        Shown::Page(_) => "A page.",
        Shown::Events(_) => {
            "A page of events; or, for who accepts `text/event-stream`, the events as they come, each with its cursor as `id:`."
        }
        Shown::Stream => "The events as they come, each with its cursor as `id:`.",
        Shown::Content => "All of it.",
    };
    let mut answer = json!({ "description": says, "content": content });
    if route.method == "POST" && doc.keyed {
        answer["headers"] = json!({ "Idempotency-Replayed": {
            "description": "`true` where the answer is the first one's.", "schema": { "type": "string", "enum": ["true"] },
        } });
    }
    answer
}

/// The frames of a stream.
fn frame() -> Value {
    json!({
        "schema": {
            "type": "object",
            "description": "One frame of many. Without an `event` its data is an event; with one it is news of the stream itself.",
            "properties": {
                "id": { "type": "string", "description": "The cursor that resumes after it." },
                "event": { "type": "string", "enum": ["start", "reset", "end", "closed", "problem", "shutdown"] },
                "data": { "type": "string", "contentMediaType": "application/json" },
            },
            "required": ["data"],
        },
        "example": { "event": "end", "data": "{\"state\":\"completed\"}" },
    })
}

fn binary() -> Value {
    json!({ "*/*": { "schema": { "type": "string", "format": "binary" } } })
}
