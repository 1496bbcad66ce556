//! The main loop: messages of the client, one a line.

use super::{
    mcp::Mcp,
    play::{End, Turn},
    script,
    session::{Session, text_update},
    talk::Client,
};
use serde_json::{Value, json};
use std::{
    fs::OpenOptions,
    io::Write as _,
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    sync::watch,
};

/// How long a server may take to list its tools.
const LISTING: std::time::Duration = std::time::Duration::from_secs(20);

/// What the runtime says that it can do.
#[derive(Clone, Copy)]
pub(super) struct Options {
    /// Take MCP servers over HTTP.
    pub(super) http: bool,
    /// Load sessions.
    pub(super) load: bool,
}

const INVALID: i32 = -32602;
const BUSY: i32 = -32600;
const INTERNAL: i32 = -32603;

type Answer = Result<Value, (i32, String)>;

struct Runtime {
    options: Options,
    client: Client,
    session: Option<(Session, Vec<Mcp>)>,
    busy: Arc<AtomicBool>,
    cancel: watch::Sender<bool>,
}

pub(super) async fn serve(options: Options) -> ExitCode {
    let mut runtime = Runtime {
        options,
        client: Client::new(),
        session: None,
        busy: Arc::default(),
        cancel: watch::Sender::new(false),
    };
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        runtime.hear(&line).await;
    }
    ExitCode::SUCCESS
}

impl Runtime {
    async fn hear(&mut self, line: &str) {
        let Ok(message) = serde_json::from_str::<Value>(line) else { return };
        let Some(method) = message["method"].as_str() else { return self.client.answered(message) };
        let params = &message["params"];
        let Some(id) = message.get("id") else {
            if method == "session/cancel" {
                self.cancel.send_replace(true);
            }
            return;
        };
        let answer = match method {
            "initialize" => Ok(self.introduce()),
            "authenticate" => Ok(json!({})),
            "session/new" => self.open(params, None).await,
            "session/load" if self.options.load => self.open(params, params["sessionId"].as_str()).await,
            "session/set_mode" => self.set_mode(params).await,
            "session/prompt" => match self.prompt(id.clone(), params) {
                Ok(()) => return,
                Err(refused) => Err(refused),
            },
            _ => Err((-32601, format!("{method} is not known"))),
        };
        self.client.answer(id, answer).await;
    }

    fn introduce(&self) -> Value {
        json!({
            "protocolVersion": 1,
            "agentInfo": {"name": "scripted", "version": env!("CARGO_PKG_VERSION")},
            "agentCapabilities": {
                "loadSession": self.options.load,
                "mcpCapabilities": {"http": self.options.http, "sse": false},
                "promptCapabilities": {},
            },
            "authMethods": [{"id": "none", "name": "Nothing to do"}],
        })
    }

    async fn open(&mut self, params: &Value, earlier: Option<&str>) -> Answer {
        let session = match earlier {
            Some(id) => Session::open(&self.client, id),
            None => Session::create(&self.client),
        };
        let session = session.map_err(|why| (INVALID, why))?;
        let mut servers = Vec::new();
        for server in params["mcpServers"].as_array().into_iter().flatten() {
            match Mcp::connect(server).await {
                Ok(mcp) => {
                    // As runtimes do: they know their tools before the first prompt.
                    let _ = tokio::time::timeout(LISTING, mcp.tools()).await;
                    servers.push(mcp);
                }
                Err(why) => return Err((INTERNAL, why)),
            }
        }
        if earlier.is_some() {
            session.replay().await.map_err(|why| (INTERNAL, why))?;
        }
        let modes = json!({"currentModeId": "ask", "availableModes": [
            {"id": "ask", "name": "Ask"}, {"id": "auto", "name": "Do not ask"},
        ]});
        let answer = json!({"sessionId": session.id, "modes": modes});
        self.session = Some((session, servers));
        Ok(answer)
    }

    async fn set_mode(&self, params: &Value) -> Answer {
        let (session, _) = self.session.as_ref().ok_or((INVALID, "there is no session".to_owned()))?;
        let mode = params["modeId"].as_str().filter(|mode| ["ask", "auto"].contains(mode));
        let mode = mode.ok_or((INVALID, "there is no such mode".to_owned()))?;
        session.update(json!({"sessionUpdate": "current_mode_update", "currentModeId": mode})).await;
        Ok(json!({}))
    }

    /// Begins a turn; its end answers the prompt.
    fn prompt(&self, id: Value, params: &Value) -> Result<(), (i32, String)> {
        let known = self.session.as_ref().filter(|(session, _)| params["sessionId"] == session.id.as_str());
        let (session, servers) = known.ok_or((INVALID, "there is no such session".to_owned()))?;
        let blocks = params["prompt"].as_array().into_iter().flatten();
        let text: String = blocks.filter_map(|block| block["text"].as_str()).collect();
        log(&session.id, &text).map_err(|error| (INTERNAL, format!("SCRIPTED_LOG: {error}")))?;
        let steps =
            script::find(&text).map_err(|why| (INVALID, format!("the script cannot be read: {why}")))?;
        if self.busy.swap(true, Ordering::AcqRel) {
            return Err((BUSY, "a prompt is running".to_owned()));
        }
        self.cancel.send_replace(false);
        session.remember(&text_update("user_message_chunk", &text));
        let turn = Turn {
            client: self.client.clone(),
            session: session.clone(),
            servers: servers.clone(),
            cancelled: self.cancel.subscribe(),
        };
        let (client, busy) = (self.client.clone(), Arc::clone(&self.busy));
        tokio::spawn(async move {
            let end: End = match steps {
                Some(steps) => turn.play(steps).await,
                None => {
                    let polite =
                        "I have no script to follow. Put STUB[[ [{\"text\":\"hello\"}] ]] into the prompt.";
                    turn.session.say("agent_message_chunk", polite).await;
                    Ok("end_turn".to_owned())
                }
            };
            busy.store(false, Ordering::Release);
            let answer = end.map(|reason| json!({"stopReason": reason})).map_err(|why| (INTERNAL, why));
            client.answer(&id, answer).await;
        });
        Ok(())
    }
}

fn log(session: &str, prompt: &str) -> std::io::Result<()> {
    let Some(path) = std::env::var_os("SCRIPTED_LOG") else { return Ok(()) };
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    writeln!(file, "{}", json!({"session": session, "prompt": prompt}))
}
