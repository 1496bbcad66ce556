//! Writing to the client, and waiting for its answers.

use serde_json::{Value, json};
use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};
use tokio::{
    io::AsyncWriteExt as _,
    sync::{Mutex as AsyncMutex, oneshot},
};

/// The client at the other end of standard output.
#[derive(Clone)]
pub(super) struct Client(Arc<Inner>);

struct Inner {
    output: AsyncMutex<tokio::io::Stdout>,
    last_id: AtomicU64,
    waiting: Mutex<HashMap<u64, oneshot::Sender<Value>>>,
}

impl Client {
    pub(super) fn new() -> Self {
        Self(Arc::new(Inner {
            output: AsyncMutex::new(tokio::io::stdout()),
            last_id: AtomicU64::new(0),
            waiting: Mutex::default(),
        }))
    }

    /// Writes a line as it is.
    pub(super) async fn line(&self, line: &str) {
        let mut output = self.0.output.lock().await;
        // When the client is gone, the input ends as well, and with it this program.
        let _ = output.write_all(format!("{line}\n").as_bytes()).await;
        let _ = output.flush().await;
    }

    pub(super) async fn answer(&self, id: &Value, result: Result<Value, (i32, String)>) {
        let message = match result {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err((code, message)) => {
                json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
            }
        };
        self.line(&message.to_string()).await;
    }

    pub(super) async fn notify(&self, method: &str, params: Value) {
        self.line(&json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string()).await;
    }

    /// Asks the client; the whole answer comes back, or nothing when the client is gone.
    pub(super) async fn ask(&self, method: &str, params: Value) -> Option<Value> {
        let id = self.0.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let (answer, answered) = oneshot::channel();
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(id, answer);
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.line(&message.to_string()).await;
        answered.await.ok()
    }

    /// Takes an answer of the client to whoever waits for it.
    pub(super) fn answered(&self, message: Value) {
        let id = message["id"].as_u64().unwrap_or_default();
        let waiting = self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
        if let Some(waiting) = waiting {
            // Whoever asked may have been cancelled.
            let _ = waiting.send(message);
        }
    }
}
