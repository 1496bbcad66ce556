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
    /// Load sessions, in this way.
    pub(super) load: Option<Load>,
    /// List the tools of a session's servers before it is ready.
    pub(super) list: bool,
    /// Resume sessions, in the way of loading but without telling their history.
    pub(super) resume: bool,
}

/// How a session is loaded: as it should be, or in one of the ways in which runtimes fail at it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Load {
    /// Its history is told before the answer.
    Well,
    /// The answer is an error.
    Error,
    /// The answer names another session.
    Other,
    /// Its history is gone: none is told.
    Empty,
    /// Its history is told a moment after the answer.
    Late,
    /// The process ends.
    Quit,
}

impl Load {
    /// The way with this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "well" => Self::Well,
            "error" => Self::Error,
            "other" => Self::Other,
            "empty" => Self::Empty,
            "late" => Self::Late,
            "quit" => Self::Quit,
            _ => return None,
        })
    }
}

/// How long after its answer a late history is told.
const LATE: std::time::Duration = std::time::Duration::from_millis(600);

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
            "session/new" => self.open(params).await,
            "session/load" if self.options.load.is_some() => self.load(params, true).await,
            "session/resume" if self.options.resume => self.load(params, false).await,
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
                "loadSession": self.options.load.is_some(),
                "sessionCapabilities": if self.options.resume { json!({"resume": {}}) } else { json!({}) },
                "mcpCapabilities": {"http": self.options.http, "sse": false},
                "promptCapabilities": {},
            },
            "authMethods": [{"id": "none", "name": "Nothing to do"}],
        })
    }

    async fn open(&mut self, params: &Value) -> Answer {
        let session = Session::create(&self.client).map_err(|why| (INVALID, why))?;
        self.enter(params, session).await
    }

    /// Opens an earlier session in the way that was chosen.
    async fn load(&mut self, params: &Value, tell: bool) -> Answer {
        let way = self.options.load.unwrap_or(Load::Well);
        let id = params["sessionId"].as_str().unwrap_or_default();
        let session = match way {
            Load::Well | Load::Empty | Load::Late => Session::open(&self.client, id),
            Load::Other => Session::create(&self.client),
            Load::Error => Err(format!("there is no session {id} (any more)")),
            Load::Quit => std::process::exit(1),
        };
        let session = session.map_err(|why| (INVALID, why))?;
        let answer = self.enter(params, session.clone()).await?;
        match way {
            Load::Well if tell => session.replay().await.map_err(|why| (INTERNAL, why))?,
            Load::Late if tell => {
                tokio::spawn(async move {
                    tokio::time::sleep(LATE).await;
                    // What cannot be told is a history that was lost.
                    let _ = session.replay().await;
                });
            }
            Load::Well | Load::Late | Load::Empty | Load::Other | Load::Error | Load::Quit => {}
        }
        Ok(answer)
    }

    /// Takes the session over, with its servers.
    async fn enter(&mut self, params: &Value, session: Session) -> Answer {
        let mut servers = Vec::new();
        for server in params["mcpServers"].as_array().into_iter().flatten() {
            match Mcp::connect(server).await {
                Ok(mcp) => {
                    // As runtimes do: they know their tools before the first prompt.
                    if self.options.list {
                        let _ = tokio::time::timeout(LISTING, mcp.tools()).await;
                    }
                    servers.push(mcp);
                }
                Err(why) => return Err((INTERNAL, why)),
            }
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
    // One write, so that the lines of runtimes at work beside each other do not mix.
    let line = format!("{}\n", json!({"session": session, "prompt": prompt}));
    file.write_all(line.as_bytes())
}
