//! The shape of a call's arguments: names, types and sizes, and the values that the connection lets be seen.

use crate::text::line;
use maud::{Markup, html};
use serde_json::Value;

/// The deepest level that is shown.
const DEPTH: usize = 6;

/// The arguments of a request as they are on record.
pub(crate) fn arguments(shape: &Value) -> Markup {
    let fields = shape.get("fields").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    html! {
        @if fields.is_empty() {
            p.calm { @if shape.is_null() { "No arguments are on record." } @else { "Without arguments." } }
        } @else {
            ul.arguments { (rows(fields, 1)) }
            @if let Some(omitted) = shape.get("omitted").and_then(Value::as_u64) {
                p.calm { (omitted) " more fields are not listed." }
            }
        }
    }
}

fn rows(fields: &[Value], depth: usize) -> Markup {
    html! {
        @for field in fields.iter().take(100) {
            @let text = |name: &str| field.get(name).and_then(Value::as_str).unwrap_or_default();
            li {
                code.name { (line(text("name"), 70)) }
                " "
                @if let Some(value) = field.get("value") {
                    bdi.value { (line(&value.as_str().map_or_else(|| value.to_string(), str::to_owned), 600)) }
                } @else {
                    span.kind {
                        (text("type"))
                        @if let Some(size) = field.get("size").and_then(Value::as_u64) { ", " (size) (unit(text("type"), size)) }
                        " · not recorded"
                    }
                }
                @if depth < DEPTH && let Some(inner) = field.get("fields").and_then(Value::as_array) {
                    ul { (rows(inner, depth + 1)) }
                }
            }
        }
    }
}

const fn unit(kind: &str, size: u64) -> &'static str {
    match (kind.as_bytes(), size) {
        (b"string", 1) => " character",
        (b"string", _) => " characters",
        (b"array", 1) => " item",
        (b"array", _) => " items",
        (_, 1) => " field",
        _ => " fields",
    }
}
