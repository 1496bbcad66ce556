//! A session's history, kept so that it can be loaded.

use super::talk::Client;
use serde_json::{Value, json};
use std::{
    fs::{self, OpenOptions},
    io::Write as _,
    path::PathBuf,
};

/// One conversation, with its file of updates under `$HOME`.
#[derive(Clone)]
pub(super) struct Session {
    pub(super) id: String,
    file: PathBuf,
    client: Client,
}

impl Session {
    /// Makes the next free one.
    pub(super) fn create(client: &Client) -> Result<Self, String> {
        let folder = folder()?;
        for number in 1..100_000 {
            let id = format!("scripted-{number}");
            let file = folder.join(format!("{id}.jsonl"));
            match OpenOptions::new().write(true).create_new(true).open(&file) {
                Ok(_) => return Ok(Self { id, file, client: client.clone() }),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error.to_string()),
            }
        }
        Err("there are too many sessions".to_owned())
    }

    /// Opens one that was made before.
    pub(super) fn open(client: &Client, id: &str) -> Result<Self, String> {
        let plain = id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        let file = folder()?.join(format!("{id}.jsonl"));
        if plain && file.is_file() {
            Ok(Self { id: id.to_owned(), file, client: client.clone() })
        } else {
            Err(format!("there is no session {id}"))
        }
    }

    /// Tells the whole history again.
    pub(super) async fn replay(&self) -> Result<(), String> {
        let history = fs::read_to_string(&self.file).map_err(|error| error.to_string())?;
        for update in history.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
            self.send(update).await;
        }
        Ok(())
    }

    /// Writes an update down without telling it.
    pub(super) fn remember(&self, update: &Value) {
        let file = OpenOptions::new().append(true).open(&self.file);
        // History is a help and not a promise.
        let line = format!("{update}\n");
        let _ = file.and_then(|mut file| file.write_all(line.as_bytes()));
    }

    /// Writes an update down and tells it.
    pub(super) async fn update(&self, update: Value) {
        self.remember(&update);
        self.send(update).await;
    }

    /// Says something as `agent_message_chunk`, or as another kind of text.
    pub(super) async fn say(&self, kind: &str, text: &str) {
        self.update(text_update(kind, text)).await;
    }

    async fn send(&self, update: Value) {
        self.client.notify("session/update", json!({"sessionId": self.id, "update": update})).await;
    }
}

/// An update that is text.
pub(super) fn text_update(kind: &str, text: &str) -> Value {
    json!({"sessionUpdate": kind, "content": {"type": "text", "text": text}})
}

fn folder() -> Result<PathBuf, String> {
    let home = std::env::var_os("HOME").ok_or("HOME is not set")?;
    let folder = PathBuf::from(home).join(".scripted-runtime");
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    Ok(folder)
}
