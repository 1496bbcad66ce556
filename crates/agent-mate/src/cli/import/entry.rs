//! From an entry of a file to the connection that it describes.

use super::{
    fill::{Filled, Values},
    shape::Entry,
};
use crate::cli::exit::Failure;
use mate_engine::admin::check;
use mate_guard::Redactor;
use mate_server::wire::{AddConnection, SecretText};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// What is said here and means something to us.
const KNOWN: [&str; 8] = ["type", "command", "args", "env", "cwd", "url", "headers", "disabled"];
/// What other clients may approve by themselves.
const APPROVING: [&str; 3] = ["alwaysAllow", "autoApprove", "trust"];
/// A value that is sealed is looked for in what is kept in clear from this length on.
const LOOKED_FOR: usize = 8;

/// A connection to add.
pub(super) struct Read {
    pub(super) wish: AddConnection,
    /// What is worth knowing.
    pub(super) notes: Vec<String>,
}

/// Why an entry is not added.
pub(super) struct Not {
    state: &'static str,
    why: String,
}

impl Not {
    fn refused(why: impl Into<String>) -> Self {
        Self { state: "refused", why: why.into() }
    }

    pub(super) fn row(&self, entry: &str) -> Value {
        json!({ "entry": entry, "state": self.state, "why": self.why })
    }
}

/// What is needed to read entries.
pub(super) struct Reading<'a> {
    values: &'a Values,
    prefix: &'a str,
    shapes: Redactor,
}

impl<'a> Reading<'a> {
    pub(super) fn new(values: &'a Values, prefix: &'a str) -> Result<Self, Failure> {
        let shapes = Redactor::new([""; 0]).map_err(|error| Failure::internal(error.to_string()))?;
        Ok(Self { values, prefix, shapes })
    }

    /// The connection that an entry describes.
    ///
    /// # Errors
    /// Why it is left out.
    pub(super) fn read(&self, entry: &Entry) -> Result<Read, Not> {
        let fields = entry.fields.as_ref().ok_or_else(|| Not::refused("it is no object"))?;
        if fields.get("disabled") == Some(&Value::Bool(true)) {
            return Err(Not { state: "skipped", why: "it is disabled in the file".to_owned() });
        }
        let (name, mut notes) = self.name(&entry.name)?;
        let wish = AddConnection {
            name,
            url: None,
            command: None,
            secret_env: BTreeMap::new(),
            headers: BTreeMap::new(),
            allow_fields: Vec::new(),
            bare: false,
            trust_annotations: false,
            effect: None,
            verify: Vec::new(),
            workspace_root: false,
        };
        let kind = text(fields, "type")?;
        let wish = match kind.as_deref() {
            Some("stdio") => self.program(fields, wish, &mut notes)?,
            Some("http" | "streamable-http" | "streamableHttp" | "streamable_http") => {
                self.address(fields, wish)?
            }
            Some("sse") => {
                return Err(Not::refused(
                    "it uses the old HTTP+SSE transport, which MCP has replaced: look for the server's Streamable HTTP \
                     address, often /mcp in place of /sse, and add it with --url",
                ));
            }
            Some(other) => {
                return Err(Not::refused(format!("its type {other:?} is not known: stdio and http are")));
            }
            None if fields.contains_key("url") => self.address(fields, wish)?,
            None => self.program(fields, wish, &mut notes)?,
        };
        let others: Vec<&str> =
            fields.keys().map(String::as_str).filter(|key| !KNOWN.contains(key)).collect();
        if others.iter().any(|key| APPROVING.contains(key)) {
            notes.push("who approves what is a matter of grants here: grant add --approve".to_owned());
        }
        let rest: Vec<&str> = others.into_iter().filter(|key| !APPROVING.contains(key)).collect();
        if rest.contains(&"envFile") {
            return Err(Not::refused("its envFile is not read: write the variables into env, as ${NAME}"));
        }
        if !rest.is_empty() {
            notes.push(format!("not taken over: {}", rest.join(", ")));
        }
        Ok(Read { wish, notes })
    }

    /// The connection's name: the file's, in the letters that names have here.
    fn name(&self, given: &str) -> Result<(String, Vec<String>), Not> {
        let mut name = String::new();
        for c in format!("{}{given}", self.prefix).chars().flat_map(char::to_lowercase) {
            let c = if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '-' };
            if (c == '-' && name.ends_with('-')) || (c == '_' && name.ends_with('_')) {
                continue;
            }
            name.push(c);
        }
        let name: String = name.trim_matches(['-', '_']).chars().take(64).collect();
        check::connection_name(&name).map_err(|error| {
            Not::refused(format!("its name gives none for a connection ({error}): use --prefix"))
        })?;
        let same = name == format!("{}{given}", self.prefix);
        let notes = if same { Vec::new() } else { vec![format!("it is called {name} here")] };
        Ok((name, notes))
    }

    fn program(
        &self,
        fields: &Map<String, Value>,
        wish: AddConnection,
        notes: &mut Vec<String>,
    ) -> Result<AddConnection, Not> {
        let program =
            text(fields, "command")?.ok_or_else(|| Not::refused("it has neither a command nor a url"))?;
        let mut command = Vec::new();
        if let Some(folder) = text(fields, "cwd")? {
            // Programs start in the session's workspace.
            command.extend(["/usr/bin/env".to_owned(), "-C".to_owned(), self.open(&folder, "cwd")?]);
        }
        command.push(self.open(&program, "command")?);
        let args = match fields.get("args") {
            None | Some(Value::Null) => Vec::new(),
            Some(args) => serde_json::from_value::<Vec<String>>(args.clone())
                .map_err(|_| Not::refused("its args are no list of texts"))?,
        };
        for arg in &args {
            command.push(self.open(arg, "args")?);
        }
        if let Some(url) = args
            .iter()
            .find(|arg| arg.starts_with("http"))
            .filter(|_| args.iter().any(|arg| arg.contains("mcp-remote")))
        {
            notes.push(format!(
                "mcp-remote only relays: a direct link is simpler: connection add NAME --url {url}"
            ));
        }
        let secret_env = self.secrets(fields, "env")?;
        check::open_words(&command).map_err(|why| Not::refused(format!("its args: {why}")))?;
        hides(&secret_env, &command, "args")?;
        Ok(AddConnection { command: Some(command), secret_env, ..wish })
    }

    fn address(&self, fields: &Map<String, Value>, wish: AddConnection) -> Result<AddConnection, Not> {
        let url = text(fields, "url")?.ok_or_else(|| Not::refused("it has no url"))?;
        let url = self.open(&url, "url")?;
        check::open_address(&url).map_err(|why| Not::refused(format!("its url {why}")))?;
        let headers = self.secrets(fields, "headers")?;
        hides(&headers, std::slice::from_ref(&url), "url")?;
        Ok(AddConnection { url: Some(url), headers, ..wish })
    }

    /// A text that is kept in clear.
    fn open(&self, text: &str, field: &str) -> Result<String, Not> {
        let Filled { text, secret } = self.values.fill(text).map_err(Not::refused)?;
        if secret || self.shapes.redact(&text) != text.as_str() {
            return Err(Not::refused(format!(
                "its {field} would hold a secret, and commands and addresses are kept in clear and seen by other \
                 programs: let the server read it from a variable (env) or a header"
            )));
        }
        Ok(text.to_string())
    }

    /// Values that are sealed, whether they look like secrets or not.
    fn secrets(&self, fields: &Map<String, Value>, field: &str) -> Result<BTreeMap<String, SecretText>, Not> {
        let given = match fields.get(field) {
            None | Some(Value::Null) => return Ok(BTreeMap::new()),
            Some(given) => {
                given.as_object().ok_or_else(|| Not::refused(format!("its {field} is no object")))?
            }
        };
        let mut secrets = BTreeMap::new();
        for (name, value) in given {
            let value = match value {
                Value::String(text) => text.clone(),
                Value::Number(_) | Value::Bool(_) => value.to_string(),
                Value::Null | Value::Array(_) | Value::Object(_) => {
                    return Err(Not::refused(format!("its {field}.{name} is no text")));
                }
            };
            let filled =
                self.values.fill(&value).map_err(|why| Not::refused(format!("{field}.{name}: {why}")))?;
            secrets.insert(name.clone(), SecretText::new(filled.text.to_string()));
        }
        Ok(secrets)
    }
}

/// Refuses what would tell in clear what is sealed beside it.
fn hides(secrets: &BTreeMap<String, SecretText>, open: &[String], field: &str) -> Result<(), Not> {
    let values = secrets.values().map(SecretText::expose).filter(|value| value.len() >= LOOKED_FOR);
    let redactor = Redactor::new(values).map_err(|error| Not::refused(error.to_string()))?;
    if open.iter().all(|text| redactor.redact(text) == text.as_str()) {
        return Ok(());
    }
    Err(Not::refused(format!(
        "its {field} would hold one of its secrets in clear, seen by other programs: let the server read it from a variable \
         (env) or a header alone"
    )))
}

fn text(fields: &Map<String, Value>, field: &str) -> Result<Option<String>, Not> {
    match fields.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(Not::refused(format!("its {field} is no text"))),
    }
}
