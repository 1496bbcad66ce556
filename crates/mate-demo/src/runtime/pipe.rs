//! MCP over a program's standard input and output.

use serde_json::{Value, json};
use std::{
    collections::HashMap,
    process::Stdio,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    process::{Child, ChildStdin, ChildStdout, Command},
    sync::{Mutex as AsyncMutex, oneshot},
};

/// A server that this program started.
pub(super) struct Pipe {
    shared: Arc<Shared>,
    _child: Child,
}

struct Shared {
    input: AsyncMutex<ChildStdin>,
    /// `None` when the server is gone.
    waiting: Mutex<Option<HashMap<u64, oneshot::Sender<Value>>>>,
}

impl Pipe {
    pub(super) fn start(server: &Value) -> Result<Self, String> {
        let program = server["command"].as_str().ok_or("the MCP server has no command")?;
        let strings = |value: &Value| -> Vec<String> {
            value.as_array().into_iter().flatten().filter_map(|v| v.as_str()).map(str::to_owned).collect()
        };
        let env = server["env"].as_array().into_iter().flatten();
        let env = env.filter_map(|pair| Some((pair["name"].as_str()?, pair["value"].as_str()?)));
        let mut child = Command::new(program)
            .args(strings(&server["args"]))
            .envs(env)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| format!("{program}: {error}"))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("the MCP server has no pipes".to_owned());
        };
        let shared =
            Arc::new(Shared { input: AsyncMutex::new(input), waiting: Mutex::new(Some(HashMap::new())) });
        tokio::spawn(listen(Arc::clone(&shared), output));
        Ok(Self { shared, _child: child })
    }

    pub(super) async fn send(&self, message: &Value) -> Result<(), String> {
        self.shared.send(message).await
    }

    pub(super) async fn request(&self, id: u64, message: &Value) -> Result<Value, String> {
        let (answer, answered) = oneshot::channel();
        self.shared.waiting().as_mut().ok_or("the MCP server is gone")?.insert(id, answer);
        self.shared.send(message).await?;
        answered.await.map_err(|_| "the MCP server ended before it answered".to_owned())
    }
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, Option<HashMap<u64, oneshot::Sender<Value>>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn send(&self, message: &Value) -> Result<(), String> {
        let mut input = self.input.lock().await;
        let written = input.write_all(format!("{message}\n").as_bytes()).await;
        written.map_err(|error| format!("the MCP server does not listen: {error}"))
    }
}

async fn listen(shared: Arc<Shared>, output: ChildStdout) {
    let mut lines = BufReader::new(output).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
        if message.get("method").is_some() {
            // It asks something: a ping, or a question that is answered with yes.
            if let Some(id) = message.get("id") {
                let _ = shared.send(&answer_to(id, &message)).await;
            }
            continue;
        }
        let id = message["id"].as_u64().unwrap_or_default();
        if let Some(waiting) = shared.waiting().as_mut().and_then(|waiting| waiting.remove(&id)) {
            let _ = waiting.send(message);
        }
    }
    // Everybody who waits is told by the end of their channel.
    *shared.waiting() = None;
}

/// What is answered to a request of a server.
fn answer_to(id: &Value, message: &Value) -> Value {
    match message["method"].as_str() {
        Some("ping") => json!({"jsonrpc": "2.0", "id": id, "result": {}}),
        Some("elicitation/create") => {
            json!({"jsonrpc": "2.0", "id": id, "result": {"action": "accept", "content": {}}})
        }
        Some(_) | None => {
            json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "not offered"}})
        }
    }
}
