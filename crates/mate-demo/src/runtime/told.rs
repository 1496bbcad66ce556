//! What the runtime was told, in a log of its own.

use super::script::Call;
use serde_json::{Value, json};
use std::{fs::OpenOptions, io::Write as _};

/// Appends the result of a call to the file that `SCRIPTED_TOLD` names, if it names one; one write, so that lines do
/// not mix.
pub(super) fn note(call: &Call, ok: bool, text: &str) {
    let Some(path) = std::env::var_os("SCRIPTED_TOLD") else { return };
    let args = if call.args.is_null() { Value::Object(serde_json::Map::new()) } else { call.args.clone() };
    let line = format!("{}\n", json!({ "tool": call.tool, "args": args, "ok": ok, "text": text }));
    let file = OpenOptions::new().create(true).append(true).open(path);
    if let Err(error) = file.and_then(|mut file| file.write_all(line.as_bytes())) {
        eprintln!("SCRIPTED_TOLD: {error}");
    }
}
