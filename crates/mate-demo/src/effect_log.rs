//! The effect server's log: what really happened, kept apart from everything that Agent Mate writes.

use mate_model::Clock;
use serde_json::{Value, json};
use std::{
    fs::{File, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

pub(crate) struct EffectLog {
    path: PathBuf,
    file: Mutex<File>,
    clock: Arc<dyn Clock>,
}

impl EffectLog {
    pub(crate) fn open(path: &Path, clock: Arc<dyn Clock>) -> std::io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Self { path: path.to_owned(), file: Mutex::new(file), clock })
    }

    /// Whether any line so far, of this process or an earlier one, is such.
    pub(crate) fn any(&self, is: impl Fn(&Value) -> bool) -> bool {
        let text = std::fs::read_to_string(&self.path).unwrap_or_default();
        text.lines().any(|line| serde_json::from_str(line).is_ok_and(|line: Value| is(&line)))
    }

    /// Appends one line with time and process, and syncs it. An effect that is not logged must not go unseen:
    /// a failure ends the process.
    pub(crate) fn note(&self, event: &Value) {
        let mut line = json!({ "at": self.clock.now().0, "pid": std::process::id() });
        if let (Some(line), Some(event)) = (line.as_object_mut(), event.as_object()) {
            line.extend(event.clone());
        }
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let text = format!("{line}\n");
        if let Err(error) = file.write_all(text.as_bytes()).and_then(|()| file.sync_data()) {
            eprintln!("effect server: its log cannot be written: {error}");
            std::process::exit(1);
        }
    }
}
