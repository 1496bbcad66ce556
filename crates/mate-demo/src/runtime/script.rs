//! The script in a prompt.

use serde::Deserialize;
use serde_json::Value;
use std::{fs::OpenOptions, path::PathBuf};

/// One step of a script; what is given in it happens in the order of these fields.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Step {
    /// Do this step only if there is no such file, which is made first: once, however often it is prompted.
    pub(super) once: Option<PathBuf>,
    /// Wait so long, in milliseconds.
    pub(super) sleep_ms: u64,
    /// From here on a cancel is not honoured.
    pub(super) ignore_cancel: bool,
    /// Think this aloud.
    pub(super) thought: Option<String>,
    /// Show these entries as the plan: texts, or objects as the protocol has them.
    pub(super) plan: Option<Vec<Value>>,
    /// Send this as an update, whatever it is.
    pub(super) raw: Option<Value>,
    /// Write this line to standard output, whatever it is.
    pub(super) raw_line: Option<String>,
    /// Write this line to standard error, with the first MCP server's bearer for `{bearer}`, and in
    /// hexadecimal for `{bearer_hex}`.
    pub(super) stderr: Option<String>,
    /// Write this file in the workspace.
    pub(super) write: Option<Written>,
    /// Ask for permission to use an own tool of this name; go on with the answer told.
    pub(super) permission: Option<String>,
    /// Call the tool whose name equals this or ends with it.
    pub(super) tool: Option<String>,
    /// The arguments of that call.
    pub(super) args: Value,
    /// Make that call under exactly this name, also when no such tool is listed (any more).
    pub(super) unlisted: bool,
    /// Give that call this id, instead of one that is never used twice.
    pub(super) call_id: Option<String>,
    /// Wait for its answer so long, in milliseconds; then start the MCP client anew and make the call again by itself,
    /// as some runtimes do.
    pub(super) give_up_ms: Vec<u64>,
    /// Make the calls of this step without showing them, and say nothing of them.
    pub(super) silent: bool,
    /// Make these calls at the same time.
    pub(super) tools: Vec<Call>,
    /// Make a call again and again.
    pub(super) again: Option<Again>,
    /// Say this, in `chunks` pieces with `gap_ms` between them.
    pub(super) text: Option<String>,
    /// Into how many pieces `text` is cut.
    pub(super) chunks: usize,
    /// The pause between two pieces, in milliseconds.
    pub(super) gap_ms: u64,
    /// Never go on.
    pub(super) hang: bool,
    /// End the process with this code, in the middle of the turn.
    pub(super) exit: Option<u8>,
    /// End the process as by a fault.
    pub(super) crash: bool,
    /// Answer the prompt with this error.
    pub(super) error: Option<String>,
    /// End the turn for this reason.
    pub(super) stop: Option<String>,
}

impl Step {
    /// Whether it was done before, and is not to be done again.
    pub(super) fn is_done(&self) -> bool {
        let made = |path: &PathBuf| OpenOptions::new().write(true).create_new(true).open(path);
        self.once.as_ref().is_some_and(|path| made(path).is_err())
    }
}

/// A file that is written.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Written {
    /// Relative to the working directory.
    pub(super) path: PathBuf,
    pub(super) text: String,
}

/// One of several calls.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Call {
    pub(super) tool: String,
    #[serde(default)]
    pub(super) args: Value,
    #[serde(default)]
    pub(super) unlisted: bool,
    #[serde(default)]
    pub(super) call_id: Option<String>,
    #[serde(default)]
    pub(super) give_up_ms: Vec<u64>,
}

/// A call that is made again and again, each time with another text.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Again {
    /// The tool's full name, whatever is listed.
    pub(super) tool: String,
    /// How often, in milliseconds; none overlaps the one before it.
    pub(super) every_ms: u64,
    /// What each text begins with; its number follows.
    pub(super) name: String,
    /// Each text is appended to this file, as a line, before its call is made.
    pub(super) log: PathBuf,
    /// Once this file is there, it is enough.
    pub(super) until: PathBuf,
}

/// `{canary}` stands for what is in the file that the environment names: a secret that no instructions hold.
fn filled(text: &str) -> String {
    let file = std::env::var_os("SCRIPTED_CANARY");
    let secret = file.and_then(|file| std::fs::read_to_string(file).ok());
    secret.map_or_else(|| text.to_owned(), |secret| text.replace("{canary}", &secret))
}

/// The script in a prompt; `None` when there is none.
///
/// # Errors
/// What is wrong with it.
pub(super) fn find(prompt: &str) -> Result<Option<Vec<Step>>, String> {
    let Some(at) = prompt.rfind("STUB[[") else { return Ok(None) };
    let text = prompt.get(at + "STUB[[".len()..).unwrap_or_default();
    let text = &filled(text);
    // Reads one value and leaves the closing brackets alone.
    match serde_json::Deserializer::from_str(text).into_iter::<Vec<Option<Step>>>().next() {
        Some(Ok(steps)) => Ok(Some(steps.into_iter().flatten().collect())),
        Some(Err(error)) => Err(error.to_string()),
        None => Err("it is empty".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_script_counts() {
        let steps = find(
            r#"a STUB[[ [{"text":"no"}] ]] b STUB[[[{"tool":"t","args":{"k":[[1]]}},null,{"text":"]]"}]]] c"#,
        );
        let steps = steps.unwrap().unwrap();
        assert_eq!(steps.len(), 2);
        assert_eq!(steps[0].tool.as_deref(), Some("t"));
        assert_eq!(steps[1].text.as_deref(), Some("]]"));
        assert!(find("nothing").unwrap().is_none());
        assert!(find("STUB[[ nonsense ]]").is_err());
    }
}
