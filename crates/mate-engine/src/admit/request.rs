//! A call as it comes from the runtime, and what is said of it before anything is decided.

use mate_guard::{Definition, DigestKey, Json, Redactor, shape};
use mate_model::ConnectionId;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// Tells a waiting caller, in words, what is being waited for. Never blocks.
#[derive(Clone, Copy)]
pub struct Tell<'a>(pub &'a (dyn Fn(&str) + Send + Sync));

impl std::fmt::Debug for Tell<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tell")
    }
}

/// One call, before it is decided.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// The connection that offers the tool; none when no granted tool has the called name.
    pub connection: Option<ConnectionId>,
    /// The connection's name; empty when there is none.
    pub connection_name: &'a str,
    /// The upstream's own tool name, or what the runtime called.
    pub tool: &'a str,
    /// The arguments, as the runtime wrote them.
    pub arguments: &'a str,
    /// The runtime's own id of the call, where it gives one.
    pub runtime_call: Option<&'a str>,
    /// The tool's definition, as the session's bridge has it.
    pub definition: &'a Definition,
    /// What the upstream's annotations say of it: that it only reads.
    pub says_read_only: bool,
    /// For a further round of a call: what the upstream wanted to see again, as JSON (`null` when nothing).
    pub continues: Option<&'a str>,
    /// Tells whoever waits for the answer that it takes longer.
    pub tell: Option<Tell<'a>>,
    /// Triggered when nobody waits for the answer any more; none: somebody always does.
    pub gone: Option<&'a CancellationToken>,
}

impl Request<'_> {
    /// Says to the waiting caller what is being waited for.
    pub(super) fn tell(&self, what: &str) {
        if let Some(Tell(tell)) = self.tell {
            tell(what);
        }
    }

    /// Resolves when nobody waits for the answer any more.
    pub(super) async fn until_gone(&self) {
        match self.gone {
            Some(gone) => gone.cancelled().await,
            None => std::future::pending().await,
        }
    }

    /// The arguments that may be recorded, of those that `fields` name as `TOOL.FIELD`: what policies may look at.
    pub(super) fn shown(&self, fields: &[String]) -> Vec<(String, Value)> {
        let paths = fields_of(fields, self.tool);
        if paths.is_empty() {
            return Vec::new();
        }
        // What cannot be read is refused for that, later.
        let Ok(arguments) = Json::parse(self.arguments) else { return Vec::new() };
        paths.into_iter().filter_map(|path| Some((path.to_owned(), plain(arguments.at(path)?)?))).collect()
    }

    /// Whether nobody waits for the answer any more.
    pub(super) fn is_gone(&self) -> bool {
        self.gone.is_some_and(CancellationToken::is_cancelled)
    }
}

/// The arguments of a tool among the fields of its connection: `TOOL.FIELD`, and `*.FIELD` of every tool.
pub(super) fn fields_of<'a>(fields: &'a [String], tool: &str) -> Vec<&'a str> {
    let of_tool = |field: &'a String| field.strip_prefix(tool)?.strip_prefix('.');
    let mut paths: Vec<&str> =
        fields.iter().filter_map(|field| of_tool(field).or_else(|| field.strip_prefix("*."))).collect();
    paths.sort_unstable();
    paths.dedup();
    paths
}

/// A value that policies can compare; a number that is no whole one is a text for them.
fn plain(value: &Json) -> Option<Value> {
    match value {
        Json::String(text) => Some(text.as_str().into()),
        Json::Bool(flag) => Some((*flag).into()),
        Json::Number(spelled) => {
            Some(spelled.parse::<i64>().map_or_else(|_| spelled.as_str().into(), Value::from))
        }
        Json::Null | Json::Array(_) | Json::Object(_) => None,
    }
}

/// What is recorded of the arguments instead of themselves.
#[derive(Clone, Debug)]
pub(super) struct Imprint {
    pub(super) digest: String,
    pub(super) shape: Value,
}

impl Imprint {
    /// Digest and shape; `allowed` names the fields that are recorded as they are.
    pub(super) fn of(request: &Request<'_>, key: &DigestKey, allowed: &[&str], redactor: &Redactor) -> Self {
        match Json::parse(request.arguments) {
            Ok(json) => {
                Self { digest: key.digest(&json).to_string(), shape: shape::of(&json, allowed, redactor) }
            }
            Err(why) => {
                Self { digest: String::new(), shape: serde_json::json!({ "unreadable": why.to_string() }) }
            }
        }
    }
}
