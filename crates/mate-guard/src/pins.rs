//! Pins: a tool's definition by its digest, so that a changed one is noticed.

use crate::canonical::Json;
use mate_model::records::PinnedField;
use std::collections::BTreeMap;

/// The members of a definition that are pinned; others, such as icons, change nothing that an agent is told to do.
pub const PINNED: [&str; 5] = ["name", "description", "inputSchema", "outputSchema", "annotations"];

/// A tool's definition, as far as it is pinned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// The digest of all of it.
    pub digest: String,
    /// Each member that is there, by name: its size and digest.
    pub fields: BTreeMap<String, PinnedField>,
}

impl Definition {
    /// Reads a definition as its upstream sent it. How it is spelled makes no difference; one that cannot be read
    /// strictly is known by its bytes.
    #[must_use]
    pub fn of(raw: &str) -> Self {
        let Ok(json @ Json::Object(_)) = Json::parse(raw) else {
            let digest = blake3::hash(raw.as_bytes()).to_hex().to_string();
            let fields = BTreeMap::from([("unreadable".to_owned(), field(raw))]);
            return Self { digest: format!("raw:{digest}"), fields };
        };
        let member = |name: &&str| Some(((*name).to_owned(), field(&json.at(name)?.canonical())));
        let fields: BTreeMap<String, PinnedField> = PINNED.iter().filter_map(member).collect();
        let mut hasher = blake3::Hasher::new();
        for (name, field) in &fields {
            // Each on a line of its own: neither a name nor a digest has a line break.
            hasher.update(format!("{name} {} {}\n", field.size, field.digest).as_bytes());
        }
        Self { digest: hasher.finalize().to_hex().to_string(), fields }
    }

    /// The names of the members that differ from those pinned.
    #[must_use]
    pub fn changed<'a>(&'a self, pinned: &'a BTreeMap<String, PinnedField>) -> Vec<&'a str> {
        let mut names: Vec<&str> = self
            .fields
            .iter()
            .filter(|(name, field)| pinned.get(*name) != Some(field))
            .map(|(name, _)| name.as_str())
            .chain(pinned.keys().filter(|name| !self.fields.contains_key(*name)).map(String::as_str))
            .collect();
        names.sort_unstable();
        names
    }
}

fn field(canonical: &str) -> PinnedField {
    let digest = blake3::hash(canonical.as_bytes()).to_hex().to_string();
    PinnedField { size: canonical.len() as u64, digest }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTE: &str = r#"{"name": "note", "description": "Write.", "inputSchema": {"type": "object", "required": ["a"]},
        "annotations": {"readOnlyHint": false}, "icons": [1]}"#;

    #[test]
    fn g07_spelling_and_what_is_not_pinned_make_no_difference_and_all_else_does() {
        let note = Definition::of(NOTE);
        for same in [
            NOTE.replace(": ", ":"),
            NOTE.replace("[1]", "[2]"),
            NOTE.replace("Write", "\\u0057rite"),
            r#"{"icons": [1], "annotations": {"readOnlyHint": false}, "description": "Write.", "name": "note",
                "inputSchema": {"required": ["a"], "type": "object"}}"#
                .to_owned(),
        ] {
            assert_eq!(Definition::of(&same), note, "{same}");
        }
        for (field, other) in [
            ("name", NOTE.replace("note", "Note")),
            ("description", NOTE.replace("Write.", "Write. ")),
            ("inputSchema", NOTE.replace("[\"a\"]", "[]")),
            ("annotations", NOTE.replace("false", "true")),
            ("outputSchema", NOTE.replace("\"icons\"", "\"outputSchema\"")),
            ("annotations", NOTE.replace("\"annotations\"", "\"_meta\"")),
        ] {
            let other = Definition::of(&other);
            assert_ne!(other.digest, note.digest, "{field}");
            assert_eq!(other.changed(&note.fields), [field]);
        }
        let twice = Definition::of(r#"{"name": "a", "name": "b"}"#);
        assert!(twice.digest.starts_with("raw:"));
        assert_ne!(twice, Definition::of(r#"{"name": "a", "name": "c"}"#));
        assert_eq!(Definition::of("[]").fields.len(), 1);
    }
}
