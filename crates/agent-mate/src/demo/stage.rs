//! The demonstration's stage: a throw-away home, the coordinator as a child process, and this program's own commands.

use super::PATIENCE;
use crate::cli::{Context, Exit, Failure};
use mate_guard::text;
use serde_json::Value;
use std::{
    fs,
    io::{BufRead, BufReader},
    os::unix::fs::{DirBuilderExt, PermissionsExt},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

pub(super) struct Stage {
    exe: PathBuf,
    /// What is thrown away; its folder `home` is what sessions cannot see.
    place: PathBuf,
    home: PathBuf,
    serve: Option<Child>,
}

impl Drop for Stage {
    fn drop(&mut self) {
        if let Some(mut serve) = self.serve.take() {
            let _ = serve.kill();
            let _ = serve.wait();
        }
    }
}

impl Stage {
    pub(super) fn build() -> Result<Self, Failure> {
        let exe = std::env::current_exe()
            .map_err(|error| Failure::internal(format!("this program does not know where it is: {error}")))?;
        let place = tempfile::Builder::new()
            .prefix("agent-mate-demo-")
            .permissions(fs::Permissions::from_mode(0o700))
            .tempdir()
            .map_err(|error| Failure::internal(format!("no throw-away home can be made: {error}")))?
            .keep();
        let home = place.join("home");
        fs::DirBuilder::new()
            .mode(0o700)
            .create(&home)
            .map_err(|error| Failure::internal(format!("no throw-away home can be made: {error}")))?;
        // The worker ends soon after its last task, so that nothing is left running.
        let config = "[session]\nidle_seconds = 1\n";
        fs::write(home.join("config.toml"), config).map_err(|error| Failure::internal(error.to_string()))?;
        Ok(Self { exe, place, home, serve: None })
    }

    pub(super) fn home(&self) -> &Path {
        &self.home
    }

    /// Where the home and the logs of the others are.
    pub(super) fn place(&self) -> &Path {
        &self.place
    }

    /// The runtime, with a home of its own and a log of its prompts.
    pub(super) fn runtime_command(&self) -> Vec<String> {
        let home = self.place.display();
        vec![
            "/usr/bin/env".to_owned(),
            format!("HOME={home}"),
            format!("SCRIPTED_LOG={home}/prompts.jsonl"),
            self.exe.display().to_string(),
            "scripted-runtime".to_owned(),
        ]
    }

    /// The tool server, with the log of its effects.
    pub(super) fn server_command(&self) -> Vec<String> {
        let log = self.place.join("effects.jsonl").display().to_string();
        vec![self.exe.display().to_string(), "effect-server".to_owned(), "--log".to_owned(), log]
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.exe);
        command
            .arg("--home")
            .arg(&self.home)
            .args(arguments)
            .env_remove("AGENT_MATE_TOKEN")
            .env_remove("AGENT_MATE_URL");
        command.stdin(Stdio::null());
        command
    }

    /// Runs a command and gives its JSON answer.
    pub(super) async fn cli(&self, arguments: &[&str]) -> Result<Value, Failure> {
        self.cli_ending(arguments, 0).await
    }

    async fn cli_ending(&self, arguments: &[&str], code: i32) -> Result<Value, Failure> {
        let mut all = vec!["--json"];
        all.extend(arguments);
        let out = self.output(&all, code).await?;
        serde_json::from_str(&out)
            .map_err(|error| Failure::internal(format!("the answer is no JSON ({error})")))
    }

    /// Runs a command and gives what a person would see.
    pub(super) async fn plain(&self, arguments: &[&str]) -> Result<String, Failure> {
        self.output(arguments, 0).await
    }

    /// Shows a command as it would be typed, and runs it.
    pub(super) async fn show(&self, context: &Context, arguments: &[&str]) -> Result<Value, Failure> {
        self.show_ending(context, arguments, 0).await
    }

    /// The same, of a command that ends with this code.
    pub(super) async fn show_ending(
        &self,
        context: &Context,
        arguments: &[&str],
        code: i32,
    ) -> Result<Value, Failure> {
        let shown: Vec<String> = arguments
            .iter()
            .map(|word| {
                let line = text::line(word, 120);
                if word.starts_with("STUB") {
                    "'(the script)'".to_owned()
                } else if line.contains([' ', '\'']) {
                    format!("\"{line}\"")
                } else {
                    line
                }
            })
            .collect();
        context.screen.line(&format!("   $ agent-mate {}", shown.join(" ")))?;
        self.cli_ending(arguments, code).await
    }

    async fn output(&self, arguments: &[&str], code: i32) -> Result<String, Failure> {
        let mut command = tokio::process::Command::from(self.command(arguments));
        let output = tokio::time::timeout(PATIENCE, command.output())
            .await
            .map_err(|_| Failure::internal("a command took too long"))?
            .map_err(|error| Failure::internal(error.to_string()))?;
        if output.status.code() != Some(code) {
            let said = String::from_utf8_lossy(&output.stderr).into_owned()
                + &String::from_utf8_lossy(&output.stdout);
            return Err(Failure::new(Exit::Internal, "demo", said));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Starts the coordinator and waits for its ready line.
    pub(super) async fn start_serve(&mut self) -> Result<(), Failure> {
        let mut command = self.command(&["--json", "serve", "--listen", "127.0.0.1:0"]);
        let broken =
            |error: std::io::Error| Failure::internal(format!("the coordinator cannot be started: {error}"));
        let mut serve = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().map_err(broken)?;
        let stdout = serve.stdout.take();
        self.serve = Some(serve);
        let ready = tokio::task::spawn_blocking(move || {
            let mut line = String::new();
            stdout
                .map(|stdout| BufReader::new(stdout).read_line(&mut line))
                .is_some_and(|read| read.is_ok_and(|n| n > 0))
        });
        match tokio::time::timeout(PATIENCE, ready).await {
            Ok(Ok(true)) => Ok(()),
            Ok(_) | Err(_) => Err(Failure::internal("the coordinator did not come up")),
        }
    }

    /// Ends the coordinator by SIGKILL; gives its process id.
    pub(super) async fn kill_serve(&mut self) -> Result<u32, Failure> {
        let mut serve =
            self.serve.take().ok_or_else(|| Failure::internal("there is no coordinator to kill"))?;
        let pid = serve.id();
        serve.kill().and_then(|()| serve.wait()).map_err(|error| Failure::internal(error.to_string()))?;
        Ok(pid)
    }

    /// Waits for a line of the tool server's own log.
    pub(super) async fn effect(&self, kind: &str, key: &str, patience: Duration) -> Result<Value, Failure> {
        let wanted = |line: &Value| line["kind"] == kind && line["key"] == key;
        let found = async {
            loop {
                if let Some(line) = self.effects().into_iter().find(wanted) {
                    return line;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let missing =
            |_| Failure::internal(format!("the tool server did not log `{kind}` of `{key}` in time"));
        tokio::time::timeout(patience, found).await.map_err(missing)
    }

    /// The tool server's own log.
    pub(super) fn effects(&self) -> Vec<Value> {
        lines(&self.place.join("effects.jsonl"))
    }

    /// What the runtime was asked.
    pub(super) fn prompts(&self) -> Vec<Value> {
        lines(&self.place.join("prompts.jsonl"))
    }

    /// The process of a session's worker.
    pub(super) fn worker(&self, session: &str) -> Result<u32, Failure> {
        let found = fs::read_dir("/proc").ok().into_iter().flatten().flatten().find_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let words = fs::read(entry.path().join("cmdline")).ok()?;
            let mut words = words.split(|byte| *byte == 0);
            (words.any(|word| word == b"session-worker") && words.next() == Some(session.as_bytes()))
                .then_some(pid)
        });
        found.ok_or_else(|| Failure::internal("the session has no worker"))
    }

    /// The process of a session's runtime: it works in the session's workspace.
    pub(super) async fn runtime(&self, session: &str) -> Result<u32, Failure> {
        let session = self.cli(&["session", "show", session]).await?;
        let workspace = fs::canonicalize(session["workspace"].as_str().unwrap_or_default()).ok();
        let found = fs::read_dir("/proc").ok().into_iter().flatten().flatten().find_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let words = fs::read(entry.path().join("cmdline")).ok()?;
            let is_runtime = words.split(|byte| *byte == 0).nth(1) == Some(b"scripted-runtime");
            let there = fs::read_link(entry.path().join("cwd")).ok() == workspace;
            (is_runtime && there).then_some(pid)
        });
        found.ok_or_else(|| Failure::internal("the session has no runtime"))
    }

    /// Ends a process by SIGKILL.
    pub(super) fn kill(pid: u32) -> Result<(), Failure> {
        let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
        let killed = pid.map(|pid| rustix::process::kill_process(pid, rustix::process::Signal::KILL));
        match killed {
            Some(Ok(())) => Ok(()),
            Some(Err(error)) => Err(Failure::internal(format!("a process could not be killed: {error}"))),
            None => Err(Failure::internal("a process has no id")),
        }
    }

    /// Ends the coordinator, after the session's worker has gone by itself.
    pub(super) async fn end(mut self) {
        let session = fs::read_dir(self.home.join("sessions")).ok().into_iter().flatten().flatten();
        let sessions: Vec<String> =
            session.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        let gone = async {
            while sessions.iter().any(|session| self.worker(session).is_ok()) {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let _ = tokio::time::timeout(Duration::from_secs(10), gone).await;
        if let Some(mut serve) = self.serve.take() {
            let _ = serve.kill();
            let _ = serve.wait();
        }
    }
}

/// Whether a process is there and not a corpse.
pub(super) fn is_alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}

/// How this program was called, for lines to be copied.
pub(super) fn program() -> String {
    std::env::current_exe().map_or_else(|_| "agent-mate".to_owned(), |exe| exe.display().to_string())
}

fn lines(path: &Path) -> Vec<Value> {
    let all = fs::read_to_string(path).unwrap_or_default();
    all.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}
