//! The effect server: a small, honest MCP server, over its standard streams or HTTP, whose tools have effects
//! that can be counted afterwards in a log of their own. It knows nothing of Agent Mate.

use crate::{
    effect_http,
    effect_log::EffectLog,
    effect_tasks::{self, Tasks},
    effect_tools,
};
use mate_model::Clock;
use serde_json::{Value, json};
use std::{collections::HashMap, path::PathBuf, process::ExitCode, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    signal::unix::{Signal, SignalKind, signal},
    sync::{Mutex, oneshot, watch},
};

/// The longest line that is read, in bytes.
const LONGEST: usize = 64 << 20;

/// How the server behaves.
#[derive(Debug, Clone)]
pub struct EffectOptions {
    /// The effect log: one JSON line per event, appended and synced.
    pub log: PathBuf,
    /// Go on when standard input ends (an unkind server).
    pub ignore_eof: bool,
    /// Go on after SIGTERM, SIGINT and SIGHUP (a very unkind one).
    pub ignore_term: bool,
    /// `slow` stops when it is cancelled; otherwise it runs to its end.
    pub honour_cancel: bool,
    /// Exit after so long in any case.
    pub linger: Duration,
    /// Serve over HTTP on this address, instead of the standard streams.
    pub listen: Option<String>,
    /// A JSON object of members that take the place of those in a tool's definition, by tool; read at each list.
    pub definitions: Option<PathBuf>,
    /// Where the records of tasks are kept, so that they survive this process.
    pub tasks: Option<PathBuf>,
}

impl EffectOptions {
    /// Reads `--log FILE [--ignore-eof] [--ignore-term] [--honour-cancel] [--linger SECONDS]
    /// [--listen ADDRESS] [--tasks FILE] [--definitions FILE]`.
    ///
    /// # Errors
    /// What is wrong with the arguments.
    pub fn parse(args: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let mut options = Self {
            log: PathBuf::new(),
            ignore_eof: false,
            ignore_term: false,
            honour_cancel: false,
            linger: Duration::from_secs(600),
            listen: None,
            tasks: None,
            definitions: None,
        };
        let mut args = args.into_iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--log" => options.log = args.next().ok_or("--log needs a file")?.into(),
                "--ignore-eof" => options.ignore_eof = true,
                "--ignore-term" => options.ignore_term = true,
                "--honour-cancel" => options.honour_cancel = true,
                "--linger" => {
                    let seconds = args.next().and_then(|s| s.parse().ok());
                    options.linger =
                        Duration::from_secs(seconds.ok_or("--linger needs a number of seconds")?);
                }
                "--listen" => options.listen = Some(args.next().ok_or("--listen needs an address")?),
                "--definitions" => {
                    options.definitions = Some(args.next().ok_or("--definitions needs a file")?.into());
                }
                "--tasks" => options.tasks = Some(args.next().ok_or("--tasks needs a file")?.into()),
                other => return Err(format!("unknown argument {other:?}")),
            }
        }
        if options.log.as_os_str().is_empty() {
            return Err("--log FILE is needed: the effects are counted there".into());
        }
        Ok(options)
    }
}

pub(crate) struct Server {
    pub(crate) log: EffectLog,
    pub(crate) honour_cancel: bool,
    pub(crate) tasks: Tasks,
    pub(crate) definitions: Option<PathBuf>,
    /// Where messages go that answer nothing; none over HTTP.
    out: Option<Mutex<tokio::io::Stdout>>,
    cancels: Mutex<HashMap<String, watch::Sender<bool>>>,
    /// Questions to the client that are open, by the id of the request.
    questions: Mutex<HashMap<u64, oneshot::Sender<Value>>>,
}

/// Serves until standard input ends, a signal comes, or the time is over.
pub async fn effect_server_main(options: EffectOptions, clock: Arc<dyn Clock>) -> ExitCode {
    let tasks = match Tasks::open(options.tasks, Arc::clone(&clock)) {
        Ok(tasks) => tasks,
        Err(error) => {
            eprintln!("effect server: its tasks cannot be read: {error}");
            return ExitCode::FAILURE;
        }
    };
    let log = match EffectLog::open(&options.log, clock) {
        Ok(log) => log,
        Err(error) => {
            eprintln!("effect server: the log {} cannot be opened: {error}", options.log.display());
            return ExitCode::FAILURE;
        }
    };
    let server = Arc::new(Server {
        log,
        honour_cancel: options.honour_cancel,
        definitions: options.definitions.clone(),
        tasks,
        out: options.listen.is_none().then(|| Mutex::new(tokio::io::stdout())),
        cancels: Mutex::default(),
        questions: Mutex::default(),
    });
    server.log.note(&json!({ "kind": "start" }));
    let why = tokio::select! {
        () = read(Arc::clone(&server), options.ignore_eof), if options.listen.is_none() => "stdin_eof",
        why = listen(&server, options.listen.as_deref()) => why,
        () = signals(&server, options.ignore_term) => "signal",
        () = tokio::time::sleep(options.linger) => "linger",
    };
    server.log.note(&json!({ "kind": "exit", "why": why }));
    ExitCode::SUCCESS
}

async fn listen(server: &Arc<Server>, address: Option<&str>) -> &'static str {
    let Some(address) = address else { return std::future::pending().await };
    if let Err(error) = effect_http::serve(Arc::clone(server), address).await {
        eprintln!("effect server: it cannot be reached on {address}: {error}");
    }
    "no_listener"
}

async fn read(server: Arc<Server>, ignore_eof: bool) {
    let mut input = BufReader::new(tokio::io::stdin());
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = input.read_until(b'\n', &mut line).await;
        if !matches!(read, Ok(n) if n > 0) || line.len() > LONGEST {
            break;
        }
        match serde_json::from_slice::<Value>(&line) {
            Ok(message) => take(&server, message).await,
            Err(error) => server.log.note(&json!({ "kind": "bad_line", "error": error.to_string() })),
        }
    }
    server.log.note(&json!({ "kind": "stdin_eof" }));
    if ignore_eof {
        std::future::pending::<()>().await;
    }
}

async fn signals(server: &Server, ignore: bool) {
    async fn next(signal: &mut Option<Signal>) {
        match signal {
            Some(signal) => {
                signal.recv().await;
            }
            None => std::future::pending().await,
        }
    }
    let mut term = signal(SignalKind::terminate()).ok();
    let mut int = signal(SignalKind::interrupt()).ok();
    let mut hup = signal(SignalKind::hangup()).ok();
    loop {
        let name = tokio::select! {
            () = next(&mut term) => "SIGTERM",
            () = next(&mut int) => "SIGINT",
            () = next(&mut hup) => "SIGHUP",
        };
        server.log.note(&json!({ "kind": "signal", "signal": name }));
        if !ignore {
            return;
        }
    }
}

/// Takes one line; what takes a while is answered later.
async fn take(server: &Arc<Server>, message: Value) {
    if matches!(message["method"].as_str(), Some("tools/call" | "tasks/result")) {
        let later = Arc::clone(server);
        let cancelled = server.cancellable(&message["id"]).await;
        tokio::spawn(async move {
            if let Some(answer) = answered(&later, message, cancelled).await {
                later.send(&answer).await;
            }
        });
    } else if let Some(answer) = respond(server, message).await {
        server.send(&answer).await;
    }
}

/// Takes one message; gives the response, if there is to be one.
pub(crate) async fn respond(server: &Arc<Server>, message: Value) -> Option<Value> {
    let id = if message["method"].is_string() { &message["id"] } else { &Value::Null };
    let cancelled = server.cancellable(id).await;
    answered(server, message, cancelled).await
}

async fn answered(server: &Arc<Server>, message: Value, cancelled: watch::Receiver<bool>) -> Option<Value> {
    let (id, params) = (message["id"].clone(), message["params"].clone());
    let Some(method) = message["method"].as_str() else {
        let question = id.as_u64().unwrap_or_default();
        if let Some(waiting) = server.questions.lock().await.remove(&question) {
            let _ = waiting.send(message["result"].clone());
        }
        return None;
    };
    if id.is_null() {
        server.log.note(&json!({ "kind": "notification", "method": method }));
        if method == "notifications/cancelled"
            && let Some(cancel) = server.cancels.lock().await.get(&params["requestId"].to_string())
        {
            cancel.send_replace(true);
        }
        return None;
    }
    let answer = answer(server, method, &id, &params, cancelled).await;
    server.cancels.lock().await.remove(&id.to_string());
    Some(match answer? {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(error) => json!({ "jsonrpc": "2.0", "id": id, "error": error }),
    })
}

async fn answer(
    server: &Arc<Server>,
    method: &str,
    id: &Value,
    params: &Value,
    cancelled: watch::Receiver<bool>,
) -> Option<Result<Value, Value>> {
    if method.starts_with("tasks/") {
        server.log.note(&json!({ "kind": "asked", "method": method, "task": params["taskId"] }));
    }
    Some(match method {
        "initialize" => Ok(server.greeting(params)),
        "ping" => Ok(json!({})),
        "tools/list" => Ok(effect_tools::list(server.definitions.as_deref())),
        "tools/call" if effect_tools::is_a_task(params) => Ok(effect_tasks::begin(server, id, params)),
        "tools/call" => return effect_tools::call(server, id, params, cancelled).await,
        other => match server.tasks.answer(other, params).await {
            Some(answer) => answer,
            None => Err(json!({ "code": -32601, "message": format!("no method {other}") })),
        },
    })
}

impl Server {
    fn greeting(&self, params: &Value) -> Value {
        let version = match params["protocolVersion"].as_str() {
            Some(known @ ("2025-06-18" | "2025-11-25")) => known,
            Some(_) | None => "2025-11-25",
        };
        let mut tasks = json!({ "requests": { "tools": { "call": {} } } });
        // What has begun is not called off otherwise.
        if self.honour_cancel {
            tasks["cancel"] = json!({});
        }
        json!({
            "protocolVersion": version,
            "capabilities": { "tools": {}, "tasks": tasks },
            "serverInfo": { "name": "effect-server", "version": env!("CARGO_PKG_VERSION") },
        })
    }

    /// Notes a request, so that it can be cancelled.
    async fn cancellable(&self, id: &Value) -> watch::Receiver<bool> {
        let (cancel, cancelled) = watch::channel(false);
        if !id.is_null() {
            self.cancels.lock().await.insert(id.to_string(), cancel);
        }
        cancelled
    }

    /// Asks the client, in the middle of a call; its answer, or null when there will be none.
    pub(crate) async fn ask(&self, text: &str) -> Value {
        if self.out.is_none() {
            return Value::Null;
        }
        let (answer, answered) = oneshot::channel();
        let id = {
            let mut questions = self.questions.lock().await;
            let id = (1..).find(|id| !questions.contains_key(id)).unwrap_or_default();
            questions.insert(id, answer);
            id
        };
        let schema = json!({ "type": "object", "properties": {} });
        let params = json!({ "message": text, "requestedSchema": schema });
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": params }))
            .await;
        answered.await.unwrap_or_default()
    }

    pub(crate) async fn send(&self, message: &Value) {
        let Some(out) = &self.out else { return };
        let mut out = out.lock().await;
        let line = format!("{message}\n");
        let wrote = async {
            out.write_all(line.as_bytes()).await?;
            out.flush().await
        };
        if let Err(error) = wrote.await {
            self.log.note(&json!({ "kind": "write_failed", "error": error.to_string() }));
        }
    }
}
