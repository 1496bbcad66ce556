//! Upstreams that are processes: real children, and the kit's servers.

use async_trait::async_trait;
use mate_bridge::{Child, ConnectionSpec, HttpSpec, Spawner, StdioSpec, Transport};
use mate_model::ConnectionId;
use serde_json::Value;
use std::{
    path::PathBuf,
    process::Stdio,
    sync::{Arc, Mutex},
};
use tokio::io::{AsyncBufReadExt, BufReader, DuplexStream};
use uuid::Uuid;

/// Starts real children, or tasks that speak over in-memory pipes (their command is `@`).
#[derive(Default)]
pub(crate) struct Children {
    pub(crate) pids: Arc<Mutex<Vec<u32>>>,
    task: Option<Box<dyn Fn(DuplexStream) + Send + Sync>>,
}

impl Children {
    pub(crate) fn task(task: impl Fn(DuplexStream) + Send + Sync + 'static) -> Self {
        Self { pids: Arc::default(), task: Some(Box::new(task)) }
    }
}

#[async_trait]
impl Spawner for Children {
    async fn spawn(&self, _: &str, spec: &StdioSpec) -> Result<Child, String> {
        if let Some(task) = self.task.as_ref().filter(|_| spec.command == "@") {
            let (ours, theirs) = tokio::io::duplex(1 << 20);
            task(theirs);
            let (stdout, stdin) = tokio::io::split(ours);
            let (end, exit) = tokio::sync::oneshot::channel::<()>();
            let exit = Box::pin(async move {
                exit.await.ok();
                "ended".to_owned()
            });
            let end = Box::new(move || drop(end));
            return Ok(Child { stdin: Box::new(stdin), stdout: Box::new(stdout), stderr: None, exit, end });
        }
        let mut child = tokio::process::Command::new(&spec.command)
            .args(&spec.args)
            .envs(spec.env.iter().cloned())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|e| e.to_string())?;
        self.pids.lock().unwrap().push(child.id().unwrap());
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let stderr = child.stderr.take().unwrap();
        let (end, mut ended) = tokio::sync::oneshot::channel::<()>();
        let exit = Box::pin(async move {
            tokio::select! {
                status = child.wait() => format!("{status:?}"),
                _ = &mut ended => {
                    child.kill().await.ok();
                    "killed".to_owned()
                }
            }
        });
        // The exit future is dropped with the link's end; `kill_on_drop` then ends the child.
        Ok(Child {
            stdin: Box::new(stdin),
            stdout: Box::new(stdout),
            stderr: Some(Box::new(stderr)),
            exit,
            end: Box::new(move || drop(end)),
        })
    }
}

pub(crate) fn connection(name: &str, transport: Transport) -> ConnectionSpec {
    let id = ConnectionId::new(Uuid::from_u128(name.bytes().map(u128::from).sum()));
    ConnectionSpec {
        id,
        name: name.into(),
        prefixed: true,
        roots: false,
        transport,
        call_timeout: None,
        start_timeout: None,
    }
}

pub(crate) fn task_upstream() -> Transport {
    Transport::Stdio(StdioSpec { command: "@".into(), args: vec![], env: vec![], cwd: None, live: None })
}

pub(crate) fn http(url: &str) -> Transport {
    Transport::Http(HttpSpec {
        url: url.into(),
        headers: vec![("x-probe".into(), "s3cret".into())],
        live: None,
    })
}

fn kit(file: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/kit").join(file);
    path.canonicalize().unwrap_or_else(|e| panic!("{}: {e}", path.display())).to_str().unwrap().into()
}

/// The probe as a stdio child that logs to `log`.
pub(crate) fn probe(log: &std::path::Path, env: &[(&str, &str)]) -> Transport {
    let mut env: Vec<(String, String)> = env.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
    env.push(("PROBE_LOG".into(), log.to_str().unwrap().into()));
    Transport::Stdio(StdioSpec {
        command: "python3".into(),
        args: vec![kit("runtimes/mcp_probe.py")],
        env,
        cwd: None,
        live: None,
    })
}

/// How often the probe's log has a line of `kind` that contains `part`.
pub(crate) fn count(log: &std::path::Path, kind: &str, part: &str) -> usize {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    text.lines().filter(|l| l.contains(&format!("\"kind\": \"{kind}\"")) && l.contains(part)).count()
}

/// A kit server on a port of its own; ends when dropped.
pub(crate) struct KitServer {
    _child: tokio::process::Child,
    pub(crate) url: String,
}

pub(crate) async fn evil(mode: &str, effects: &std::path::Path) -> KitServer {
    let mut child = tokio::process::Command::new("python3")
        .args([kit("upstreams/evil.py"), "0".into(), mode.into()])
        .env("EFFECTS", effects)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).await.unwrap();
    let said: Value = serde_json::from_str(&line).unwrap();
    KitServer { _child: child, url: said["listening"].as_str().unwrap().into() }
}
