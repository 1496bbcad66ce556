//! The schemas of all that is sent and shown.

use super::{Doc, Kind, Shown};
use crate::wire::answer::SOMETIMES;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use utoipa::openapi::{RefOr, schema::Schema};

/// Schemas by name; those of requests apart.
#[derive(Default)]
pub(super) struct Schemas {
    all: BTreeMap<String, Value>,
    sent: BTreeSet<String>,
}

impl Schemas {
    /// What these routes send and show.
    pub(super) fn of<'a>(docs: impl Iterator<Item = &'a Doc>, others: &[Kind]) -> Self {
        let mut schemas = Self::default();
        for kind in others {
            schemas.add(kind, false);
        }
        for doc in docs {
            match &doc.shown {
                Shown::One(kind) | Shown::Page(kind) | Shown::Events(kind) => schemas.add(kind, false),
                Shown::Stream | Shown::Content => {}
            }
            if let Some(body) = &doc.body {
                schemas.add(&body.kind, true);
            }
        }
        schemas
    }

    fn add(&mut self, kind: &Kind, sent: bool) {
        let mut found = vec![(kind.name_of().into_owned(), (kind.schema)())];
        (kind.parts)(&mut found);
        for (name, schema) in found {
            if sent {
                self.sent.insert(name.clone());
            }
            self.all.entry(name).or_insert_with(|| plain(&schema));
        }
    }

    /// As they stand in the document. In an answer every field is there, but for a few.
    pub(super) fn into_json(mut self) -> Value {
        for (name, schema) in &mut self.all {
            if !self.sent.contains(name) {
                whole(name, schema);
            }
        }
        self.all.into_iter().collect::<Map<_, _>>().into()
    }
}

fn plain(schema: &RefOr<Schema>) -> Value {
    serde_json::to_value(schema).unwrap_or_else(|error| {
        tracing::error!(%error, "a schema could not be written as JSON");
        Value::Null
    })
}

/// Says that every field is always there, but for those that are left out sometimes.
fn whole(name: &str, schema: &mut Value) {
    for part in schema.get_mut("allOf").and_then(Value::as_array_mut).into_iter().flatten() {
        whole(name, part);
    }
    let Some(fields) = schema.get("properties").and_then(Value::as_object) else { return };
    let always = fields.keys().filter(|field| !SOMETIMES.contains(&(name, field.as_str())));
    let always: Vec<_> = always.cloned().collect();
    schema["required"] = always.into();
}

/// A reference to a schema.
pub(super) fn reference(kind: &Kind) -> Value {
    json!({ "$ref": format!("#/components/schemas/{}", kind.name_of()) })
}

/// The schema of a page of things.
pub(super) fn page_of(kind: &Kind) -> Value {
    json!({
        "type": "object",
        "required": ["items", "next"],
        "properties": {
            "items": { "type": "array", "items": reference(kind) },
            "next": {
                "type": ["string", "null"],
                "description": "The cursor of the next page; `null` when this is the last one.",
            },
            "unreadable": {
                "type": "array",
                "items": { "type": "string" },
                "description": "What could not be read, where there is something.",
            },
        },
    })
}
