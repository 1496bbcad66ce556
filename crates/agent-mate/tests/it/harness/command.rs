//! Running the program as a person would.

use super::until;
use serde_json::Value;
use std::{
    io::{Read, Write as _},
    path::Path,
    process::{Child, Command, Stdio},
    thread::{self, JoinHandle},
};

/// What a command left.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Output {
    /// Its standard output as one JSON document.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }

    /// The stable word of a failure that was printed as JSON.
    pub(crate) fn error_code(&self) -> String {
        let text = if self.stdout.trim().is_empty() { &self.stderr } else { &self.stdout };
        let document: Value =
            serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in {self:?}"));
        document["error"]["code"].as_str().unwrap_or_else(|| panic!("no error code in {self:?}")).to_owned()
    }
}

/// The program under test.
pub(crate) fn program() -> &'static str {
    env!("CARGO_BIN_EXE_agent-mate")
}

/// The program with this home, and nothing of the caller's surroundings but the path of programs.
pub(crate) fn at_home(home: &Path, user: &Path) -> Command {
    let mut command = Command::new(program());
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("HOME", user).env("LANG", "C.UTF-8").arg("--home").arg(home);
    if mate_fault::COMPILED_IN {
        command.env(mate_fault::VARIABLE, user.with_file_name("faults"));
    }
    command.current_dir(user);
    command
}

/// Runs a command to its end; one that takes too long is ended and fails the test.
pub(crate) fn run(mut command: Command, input: Option<&str>) -> Output {
    let stdin = if input.is_some() { Stdio::piped() } else { Stdio::null() };
    let mut child = command
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let stdout = collect(child.stdout.take());
    let stderr = collect(child.stderr.take());
    if let (Some(mut pipe), Some(text)) = (child.stdin.take(), input) {
        // A command that does not want its input ends without reading it.
        let _ = pipe.write_all(text.as_bytes());
    }
    let mut child = Ending(child);
    let status =
        until(&format!("the end of {command:?}"), || child.0.try_wait().expect("it can be waited for"));
    Output {
        code: status.code().unwrap_or(-1),
        stdout: stdout.join().expect("read"),
        stderr: stderr.join().expect("read"),
    }
}

/// A child that does not outlive the test.
struct Ending(Child);

impl Drop for Ending {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn collect(pipe: Option<impl Read + Send + 'static>) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}
