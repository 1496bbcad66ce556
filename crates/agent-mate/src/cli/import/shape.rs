//! Where the files of the clients name their servers.

use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// One server as a file names it.
pub(super) struct Entry {
    /// Its name in the file.
    pub(super) name: String,
    /// None where it is no object.
    pub(super) fields: Option<Map<String, Value>>,
}

/// All that a file names.
#[derive(Default)]
pub(super) struct Found {
    pub(super) entries: Vec<Entry>,
    /// What VS Code would ask for: the id, and its default where it is no password.
    pub(super) inputs: BTreeMap<String, Option<String>>,
}

/// What a file says of MCP servers: `mcpServers`, `servers`, `mcp.servers`, and `projects.*.mcpServers`.
///
/// # Errors
/// That it says nothing of them, or what has the wrong shape.
pub(super) fn entries(document: &Value) -> Result<Found, String> {
    let top =
        document.as_object().ok_or("it is no object: a file with `mcpServers` or `servers` is wanted")?;
    let mut found = Found::default();
    let mut named = false;
    let editor = top.get("mcp").and_then(Value::as_object);
    for (holder, field) in [(Some(top), "mcpServers"), (Some(top), "servers"), (editor, "servers")] {
        if let Some(servers) = holder.and_then(|holder| holder.get(field)) {
            named = true;
            found.take(field, servers)?;
        }
    }
    for (folder, project) in top.get("projects").and_then(Value::as_object).into_iter().flatten() {
        if let Some(servers) = project.get("mcpServers") {
            named = true;
            found.take(&format!("projects.{folder}.mcpServers"), servers)?;
        }
    }
    if !named {
        return Err("it has neither `mcpServers` (Claude, Cursor) nor `servers` (VS Code)".to_owned());
    }
    for holder in [Some(top), editor].into_iter().flatten() {
        found.inputs(holder.get("inputs"));
    }
    Ok(found)
}

impl Found {
    fn take(&mut self, place: &str, servers: &Value) -> Result<(), String> {
        let servers = servers.as_object().ok_or_else(|| format!("`{place}` is no object"))?;
        for (name, fields) in servers {
            // One that is none ends by itself: the others are read.
            let fields = fields.as_object();
            // The same server in several projects is one connection.
            let again =
                self.entries.iter().any(|entry| entry.name == *name && entry.fields.as_ref() == fields);
            if !again {
                self.entries.push(Entry { name: name.clone(), fields: fields.cloned() });
            }
        }
        Ok(())
    }

    fn inputs(&mut self, inputs: Option<&Value>) {
        for input in inputs.and_then(Value::as_array).into_iter().flatten() {
            let text = |name: &str| input.get(name).and_then(Value::as_str).map(str::to_owned);
            let Some(id) = text("id") else { continue };
            let password = input.get("password") == Some(&Value::Bool(true));
            self.inputs.insert(id, text("default").filter(|text| !password && !text.is_empty()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn names(document: &Value) -> Vec<String> {
        entries(document).expect("a shape").entries.into_iter().map(|entry| entry.name).collect()
    }

    #[test]
    fn the_shapes_of_the_clients() {
        let one = json!({"command": "a"});
        assert_eq!(names(&json!({"mcpServers": {"a": one}, "other": 1})), ["a"]);
        assert_eq!(names(&json!({"servers": {"a": one}, "inputs": []})), ["a"]);
        assert_eq!(names(&json!({"mcp": {"servers": {"a": one}}, "editor.fontSize": 12})), ["a"]);
        let projects =
            json!({"/p": {"mcpServers": {"b": one, "a": one}}, "/q": {"mcpServers": {"b": one}}, "/r": {}});
        assert_eq!(names(&json!({"mcpServers": {"a": one}, "projects": projects})), ["a", "b"]);
        assert!(names(&json!({"mcpServers": {}})).is_empty());
        assert_eq!(names(&json!({"servers": {"a": "b", "b": one}})), ["a", "b"], "each for itself");
        for bad in [json!([]), json!({}), json!({"mcpServers": []})] {
            assert!(entries(&bad).is_err(), "{bad}");
        }
    }
}
