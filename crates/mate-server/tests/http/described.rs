//! Whether an answer is one that the interface's own description tells of: its status, its type, its code, and every field.

use http::StatusCode;
use mate_server::describe;
use serde_json::{Value, json};
use std::{collections::HashMap, sync::LazyLock, sync::Mutex};

/// The description, with every object closed: a field that it does not name is a mistake here.
static STRICT: LazyLock<Value> = LazyLock::new(|| {
    let mut document = describe::document();
    let open = document["components"]["schemas"].clone();
    for (_, schema) in document["components"]["schemas"].as_object_mut().expect("schemas") {
        if let Some(parts) = schema.get("allOf").and_then(Value::as_array).cloned() {
            *schema = merged(&parts, &open);
        }
        close(schema);
    }
    for (_, methods) in document["paths"].as_object_mut().expect("paths") {
        for (_, operation) in methods.as_object_mut().expect("methods") {
            for (_, answer) in operation["responses"].as_object_mut().expect("responses") {
                if let Some(schema) = answer.pointer_mut("/content/application~1json/schema") {
                    close(schema);
                }
            }
        }
    }
    document
});

fn close(schema: &mut Value) {
    if schema.get("properties").is_some() {
        schema["additionalProperties"] = false.into();
    }
}

fn merged(parts: &[Value], schemas: &Value) -> Value {
    let mut whole = json!({ "type": "object", "properties": {}, "required": [] });
    for part in parts {
        let part = match part["$ref"].as_str() {
            Some(name) => &schemas[name.rsplit('/').next().expect("a name")],
            None => part,
        };
        for (name, field) in part["properties"].as_object().expect("fields") {
            whole["properties"][name] = field.clone();
        }
        let needed = part["required"].as_array().cloned().unwrap_or_default();
        whole["required"].as_array_mut().expect("a list").extend(needed);
    }
    whole
}

/// What is wrong with a value that should be of this schema.
pub(crate) fn faults(schema: &Value, value: &Value) -> Vec<String> {
    static KNOWN: LazyLock<Mutex<HashMap<String, jsonschema::Validator>>> = LazyLock::new(Mutex::default);
    let mut known = KNOWN.lock().expect("held");
    let validator = known.entry(schema.to_string()).or_insert_with(|| {
        let mut root = schema.clone();
        root["components"] = json!({ "schemas": STRICT["components"]["schemas"] });
        jsonschema::validator_for(&root).expect("a schema")
    });
    validator.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

/// The operation that a request is for, if the description has it.
pub(crate) fn operation(method: &str, path: &str) -> Option<&'static Value> {
    let parts: Vec<_> = path.split('?').next()?.split('/').collect();
    let fits = |template: &str| {
        let wanted: Vec<_> = template.split('/').collect();
        wanted.len() == parts.len()
            && wanted
                .iter()
                .zip(&parts)
                .all(|(want, is)| want == is || want.starts_with('{') && !is.is_empty())
    };
    let paths = STRICT["paths"].as_object().expect("paths");
    let mut found: Vec<_> = paths.iter().filter(|(template, _)| fits(template)).collect();
    // A fixed part goes before a variable one.
    found.sort_by_key(|(template, _)| template.matches('{').count());
    found.iter().find_map(|(_, methods)| methods.get(method.to_lowercase()))
}

/// The response that the description has for a status, its reference followed.
pub(crate) fn response(operation: &Value, status: StatusCode) -> Option<Value> {
    let found = operation["responses"].get(status.as_str())?;
    match found["$ref"].as_str() {
        Some(name) => STRICT.pointer(name.strip_prefix('#')?).cloned(),
        None => Some(found.clone()),
    }
}

/// Fails unless the description tells of this answer.
#[track_caller]
pub(crate) fn check(method: &str, path: &str, status: StatusCode, kind: Option<&str>, body: &Value) {
    let Some(operation) = operation(method, path) else { return };
    let asked = format!("{method} {path} -> {status} {body}");
    let Some(response) = response(operation, status) else { panic!("no such status: {asked}") };
    let Some(content) = response["content"].as_object() else {
        assert_eq!(body, &Value::Null, "a body: {asked}");
        return;
    };
    let essence = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default();
    let Some(content) = content.get(essence).or_else(|| content.get("*/*")) else {
        panic!("no such type as {essence}: {asked}");
    };
    if essence.ends_with("json") {
        let faults = faults(&content["schema"], body);
        assert!(faults.is_empty(), "{asked}\n{faults:#?}");
    }
    if essence == "application/problem+json" {
        let codes = response["x-codes"].as_array().expect("codes");
        assert!(codes.contains(&body["code"]), "no such code: {asked}");
    }
}
