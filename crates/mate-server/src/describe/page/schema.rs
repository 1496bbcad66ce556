//! A schema on the page.

use super::{
    list,
    text::{escape, said},
    text_of,
};
use serde_json::Value;

/// A schema's kind in a few words, with links to those that have a name.
pub(super) fn kind(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str().and_then(|pointer| pointer.rsplit('/').next()) {
        let name = escape(name);
        return format!("<a href=\"#schema-{name}\">{name}</a>");
    }
    if let Some(items) = schema["properties"].get("items") {
        return format!("a page of {}", kind(&items["items"]));
    }
    for several in ["oneOf", "anyOf"] {
        let choices = list(&schema[several]);
        if !choices.is_empty() {
            let choices: Vec<_> = choices.iter().map(kind).collect();
            return choices.join(" or ");
        }
    }
    let kinds: Vec<_> = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().map(text_of).collect(),
        Value::String(kind) => vec![kind.as_str()],
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => return "anything".to_owned(),
    };
    let mut said = escape(&kinds.join(" or "));
    if let Some(items) = schema.get("items") {
        said = format!("list of {}", kind(items));
        if kinds.contains(&"null") {
            said.push_str(" or null");
        }
    }
    match (schema.get("minimum"), schema.get("maximum")) {
        (Some(least), Some(most)) => said.push_str(&format!(", {least} to {most}")),
        (Some(least), None) if least != 0 => said.push_str(&format!(", {least} or more")),
        _ => {}
    }
    let words: Vec<_> =
        list(&schema["enum"]).iter().map(|word| format!("<code>{}</code>", escape(text_of(word)))).collect();
    if !words.is_empty() {
        said = words.join(" ");
    }
    said
}

/// All of a schema: what it is, and its fields.
pub(super) fn write(page: &mut String, schema: &Value) {
    if let Some(says) = schema["description"].as_str() {
        page.push_str(&format!("<p>{}</p>", said(says)));
    }
    let parts = list(&schema["allOf"]);
    for part in parts {
        if part["$ref"].is_string() {
            page.push_str(&format!("<p>All of {}, and:</p>", kind(part)));
        } else {
            fields(page, part);
        }
    }
    if schema["properties"].is_object() {
        fields(page, schema);
    } else if parts.is_empty() {
        page.push_str(&format!("<p class=\"type\">{}</p>", kind(schema)));
        if let Some(pattern) = schema["pattern"].as_str() {
            page.push_str(&format!("<p class=\"type\">Pattern <code>{}</code></p>", escape(pattern)));
        }
    }
}

fn fields(page: &mut String, schema: &Value) {
    page.push_str("<dl>");
    let needed = list(&schema["required"]);
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let optional = if needed.iter().any(|one| one == name.as_str()) {
            ""
        } else {
            " <small>may be left out</small>"
        };
        page.push_str(&format!(
            "<dt><code>{}</code> <small>{}</small>{optional}</dt><dd>{}</dd>",
            escape(name),
            kind(field),
            said(text_of(&field["description"]))
        ));
    }
    page.push_str("</dl>");
}
