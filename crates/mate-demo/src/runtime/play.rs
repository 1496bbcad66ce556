//! Playing a script: one turn of the agent.

use super::{
    mcp::Mcp,
    script::{Call, Step, Written},
    session::Session,
    talk::Client,
    told,
};
use serde_json::{Value, json};
use std::{
    hash::{BuildHasher, Hasher, RandomState},
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};
use tokio::{sync::watch, time::sleep};

/// How a turn ends: a stop reason, or an error to answer the prompt with.
pub(super) type End = Result<String, String>;

/// One turn.
pub(super) struct Turn {
    pub(super) client: Client,
    pub(super) session: Session,
    pub(super) servers: Vec<Mcp>,
    pub(super) cancelled: watch::Receiver<bool>,
}

/// Numbers the tool calls of this process.
static CALLS: AtomicU64 = AtomicU64::new(0);

impl Turn {
    pub(super) async fn play(self, steps: Vec<Step>) -> End {
        let mut deaf = false;
        for step in steps {
            if step.is_done() {
                continue;
            }
            deaf |= step.ignore_cancel;
            if !deaf && *self.cancelled.borrow() {
                return Ok("cancelled".to_owned());
            }
            let mut cancelled = self.cancelled.clone();
            tokio::select! {
                end = self.step(&step, deaf) => {
                    if let Some(end) = end {
                        return end;
                    }
                }
                // A tool step sees the cancel itself, to pass it on.
                () = until_cancelled(&mut cancelled), if !deaf && step.tool.is_none() && step.tools.is_empty() => {
                    return Ok("cancelled".to_owned());
                }
            }
        }
        Ok(if !deaf && *self.cancelled.borrow() { "cancelled" } else { "end_turn" }.to_owned())
    }

    async fn step(&self, step: &Step, deaf: bool) -> Option<End> {
        sleep(Duration::from_millis(step.sleep_ms)).await;
        if let Some(thought) = &step.thought {
            self.session.say("agent_thought_chunk", thought).await;
        }
        if let Some(entries) = &step.plan {
            let entries: Vec<Value> = entries.iter().map(plan_entry).collect();
            self.session.update(json!({"sessionUpdate": "plan", "entries": entries})).await;
        }
        if let Some(update) = &step.raw {
            self.session.update(update.clone()).await;
        }
        if let Some(line) = &step.raw_line {
            self.client.line(line).await;
        }
        if let Some(line) = &step.stderr {
            let bearer = self.servers.first().and_then(Mcp::bearer).unwrap_or_default();
            let hex: String = bearer.bytes().map(|byte| format!("{byte:02x}")).collect();
            eprintln!("{}", line.replace("{bearer}", &bearer).replace("{bearer_hex}", &hex));
        }
        if let Some(Written { path, text }) = &step.write
            && let Err(error) = std::fs::write(path, text)
        {
            eprintln!("{} cannot be written: {error}", path.display());
        }
        if let Some(tool) = &step.permission {
            self.ask_permission(tool).await;
        }
        let mut calls = step.tools.clone();
        calls.extend(step.tool.iter().map(|tool| Call {
            tool: tool.clone(),
            args: step.args.clone(),
            unlisted: step.unlisted,
            call_id: step.call_id.clone(),
            give_up_ms: step.give_up_ms.clone(),
        }));
        if !calls.is_empty() {
            let all = calls.iter().map(|call| self.call(call, deaf, step.silent));
            futures_join(all).await;
        }
        if let Some(again) = &step.again {
            self.again(again, deaf).await;
        }
        if let Some(text) = &step.text {
            self.say(text, step.chunks, step.gap_ms).await;
        }
        self.last_words(step).await
    }

    async fn last_words(&self, step: &Step) -> Option<End> {
        if step.hang {
            std::future::pending::<()>().await;
        }
        if step.crash {
            std::process::abort();
        }
        if let Some(code) = step.exit {
            // Everything that was said is out, since each line is flushed.
            std::process::exit(code.into());
        }
        if let Some(error) = &step.error {
            return Some(Err(error.clone()));
        }
        step.stop.clone().map(Ok)
    }

    async fn say(&self, text: &str, chunks: usize, gap_ms: u64) {
        let characters: Vec<char> = text.chars().collect();
        let size = characters.len().div_ceil(chunks.max(1)).max(1);
        for (number, piece) in characters.chunks(size).enumerate() {
            if number > 0 {
                sleep(Duration::from_millis(gap_ms)).await;
            }
            self.session.say("agent_message_chunk", &piece.iter().collect::<String>()).await;
        }
    }

    async fn ask_permission(&self, tool: &str) {
        let id = call_id();
        let call =
            json!({"toolCallId": id, "title": tool, "name": tool, "kind": "execute", "status": "pending"});
        let mut update = call.clone();
        update["sessionUpdate"] = json!("tool_call");
        self.session.update(update).await;
        let request = json!({"sessionId": self.session.id, "toolCall": call, "options": [
            {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
            {"optionId": "always", "name": "Always allow", "kind": "allow_always"},
            {"optionId": "no", "name": "Reject", "kind": "reject_once"},
        ]});
        let answer = self.client.ask("session/request_permission", request).await.unwrap_or_default();
        let outcome = &answer["result"]["outcome"];
        let said =
            outcome["optionId"].as_str().or(outcome["outcome"].as_str()).unwrap_or("nothing").to_owned();
        let allowed = said == "yes" || said == "always";
        self.tool_status(&id, if allowed { "completed" } else { "failed" }).await;
        self.session.say("agent_message_chunk", &format!("permission for {tool}: {said}\n")).await;
    }

    async fn call(&self, call: &Call, deaf: bool, silent: bool) {
        let id = call.call_id.clone().unwrap_or_else(call_id);
        if silent {
            let _ = self.make(call, &id, deaf).await;
            return;
        }
        self.session
            .update(json!({"sessionUpdate": "tool_call", "toolCallId": id, "title": call.tool, "kind": "other", "status": "in_progress", "rawInput": call.args}))
            .await;
        let result = self.make(call, &id, deaf).await;
        let (status, text) = match &result {
            Ok(result) if result["isError"] == true => ("failed", text_of(result)),
            Ok(result) => ("completed", text_of(result)),
            Err(why) => ("failed", why.clone()),
        };
        told::note(call, status == "completed", &text);
        self.tool_status(&id, status).await;
        self.session.say("agent_message_chunk", &format!("{}: {text}\n", call.tool)).await;
    }

    pub(super) async fn make(&self, call: &Call, id: &str, deaf: bool) -> Result<Value, String> {
        let found = match (call.unlisted, self.servers.first()) {
            (true, Some(server)) => Some((server, call.tool.clone())),
            (true, None) | (false, _) => self.find(&call.tool).await,
        };
        match found {
            Some((server, name)) => self.persist(server, &name, call, id, deaf).await,
            None => Err(format!("there is no tool {}", call.tool)),
        }
    }

    /// Makes the call; where the script says so, gives the MCP client up in between and makes it again.
    async fn persist(
        &self,
        server: &Mcp,
        name: &str,
        call: &Call,
        id: &str,
        deaf: bool,
    ) -> Result<Value, String> {
        let mut client = server.clone();
        for patience in &call.give_up_ms {
            // A client of its own, so that giving it up ends its connection and nothing else.
            client = client.again().await?;
            let answer = self.carry_out(&client, name, call, id, deaf);
            if let Ok(answer) = tokio::time::timeout(Duration::from_millis(*patience), answer).await {
                return answer;
            }
            client = server.clone();
        }
        if !call.give_up_ms.is_empty() {
            client = client.again().await?;
        }
        self.carry_out(&client, name, call, id, deaf).await
    }

    async fn carry_out(
        &self,
        server: &Mcp,
        name: &str,
        call: &Call,
        id: &str,
        deaf: bool,
    ) -> Result<Value, String> {
        let request = server.next_id();
        let mut cancelled = self.cancelled.clone();
        tokio::select! {
            result = server.call(request, name, &call.args, id) => result,
            () = until_cancelled(&mut cancelled), if !deaf => {
                server.cancel(request).await;
                Err("cancelled".to_owned())
            }
        }
    }

    async fn tool_status(&self, id: &str, status: &str) {
        self.session
            .update(json!({"sessionUpdate": "tool_call_update", "toolCallId": id, "status": status}))
            .await;
    }

    /// The server and the full name of the tool that is called so, or ends so.
    async fn find(&self, wanted: &str) -> Option<(&Mcp, String)> {
        let mut ending = None;
        for server in &self.servers {
            for name in server.tools().await.unwrap_or_default() {
                if name == wanted {
                    return Some((server, name));
                }
                if ending.is_none() && name.ends_with(wanted) {
                    ending = Some((server, name));
                }
            }
        }
        ending
    }
}

/// Waits for the cancel; for ever when there will be none.
async fn until_cancelled(cancelled: &mut watch::Receiver<bool>) {
    if cancelled.wait_for(|cancelled| *cancelled).await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// An id that no other call has, of this process or of another one.
pub(super) fn call_id() -> String {
    static PROCESS: std::sync::OnceLock<u64> = std::sync::OnceLock::new();
    let process = PROCESS.get_or_init(|| RandomState::new().build_hasher().finish());
    format!("call-{process:016x}-{}", CALLS.fetch_add(1, Ordering::Relaxed) + 1)
}

fn plan_entry(entry: &Value) -> Value {
    match entry.as_str() {
        Some(text) => json!({"content": text, "status": "pending", "priority": "medium"}),
        None => entry.clone(),
    }
}

/// What a reader would see of a tool's result.
fn text_of(result: &Value) -> String {
    let blocks = result["content"].as_array().into_iter().flatten();
    let texts: Vec<String> = blocks
        .map(|block| match block["text"].as_str() {
            Some(text) => text.to_owned(),
            None => format!("[{}]", block["type"].as_str().unwrap_or("something")),
        })
        .collect();
    texts.join("\n")
}

async fn futures_join(all: impl Iterator<Item = impl Future<Output = ()>>) {
    let mut running: Vec<_> = all.map(Box::pin).collect();
    std::future::poll_fn(|context| {
        running.retain_mut(|one| one.as_mut().poll(context).is_pending());
        if running.is_empty() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
}
