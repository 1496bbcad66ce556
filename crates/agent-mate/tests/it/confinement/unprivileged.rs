//! The whole of it for a user without rights, by each means.

use crate::harness::{Output, program, run, until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead as _, BufReader},
    os::unix::fs::PermissionsExt as _,
    path::PathBuf,
    process::{Child, Command, Stdio},
};
use tempfile::TempDir;

/// Somebody who is not root, with a home of Agent Mate beside a folder to work in.
struct User {
    serve: Option<Child>,
    folder: TempDir,
}

impl User {
    fn new(means: &str) -> Self {
        let folder = tempfile::Builder::new().prefix("am-").tempdir_in("/tmp").expect("a folder");
        let user = Self { serve: None, folder };
        for part in ["private", "private/h", "work"] {
            fs::create_dir(user.path(part)).expect("made");
        }
        fs::set_permissions(user.path("private/h"), fs::Permissions::from_mode(0o700)).expect("set");
        let settings =
            format!("[session]\nidle_seconds = 1\nlist_seconds = 3\n[confinement]\nmeans = \"{means}\"\n");
        fs::write(user.path("private/h/config.toml"), settings).expect("written");
        // They may not go where the tests are built.
        fs::copy(program(), user.path("agent-mate")).expect("copied");
        if rustix::process::geteuid().is_root() {
            let owned = Command::new("chown").args(["-R", "1234:1234"]).arg(user.folder.path()).status();
            assert!(owned.expect("chown").success());
        }
        user
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, words: &[&str]) -> Command {
        let own = self.path("agent-mate");
        let mut command = if rustix::process::geteuid().is_root() {
            let mut command = Command::new("setpriv");
            command.args(["--reuid=1234", "--regid=1234", "--clear-groups", "--inh-caps=-all"]).arg(own);
            command
        } else {
            Command::new(own)
        };
        command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", self.path("work"));
        command.arg("--home").arg(self.path("private/h")).arg("--json").args(words).current_dir("/");
        command
    }

    fn ok(&self, words: &[&str]) -> Output {
        let output = run(self.command(words), None);
        assert_eq!(output.code, 0, "{words:?}: {output:?}");
        output
    }

    fn serve(&mut self) -> String {
        let mut command = self.command(&["serve", "--listen", "127.0.0.1:0"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("read");
        self.serve = Some(child);
        let ready: Value = serde_json::from_str(&line).expect("the ready line");
        ready["url"].as_str().expect("an address").to_owned()
    }
}

impl Drop for User {
    fn drop(&mut self) {
        if let Some(mut serve) = self.serve.take() {
            let _ = serve.kill();
            let _ = serve.wait();
        }
    }
}

/// A client that closes itself to inspection first.
const CLOSED: &str = r#"
import ctypes, http.client, sys
assert ctypes.CDLL(None).prctl(4, 0, 0, 0, 0) == 0
connection = http.client.HTTPConnection(sys.argv[1].split("/")[2])
connection.request("GET", "/api/v1/projects", headers={"Authorization": "Bearer " + sys.argv[2]})
answer = connection.getresponse()
print(answer.status, answer.read())
"#;

#[test]
fn i06_a_user_without_rights_is_confined_by_a_mount_namespace() {
    is_confined_by("mount_namespace");
}

#[test]
fn i06_a_user_without_rights_is_confined_by_landlock() {
    is_confined_by("landlock");
}

fn is_confined_by(means: &str) {
    let mut user = User::new(means);
    user.ok(&["init"]);
    let token = fs::read_to_string(user.path("private/h/token")).expect("the token").trim().to_owned();
    let url = user.serve();
    let [home, work, own] =
        ["private/h", "work", "agent-mate"].map(|name| user.path(name).display().to_string());
    // What it reads, and whether it is heard although it knows the token, which it cannot.
    let script = format!(
        "cat {home}/key {home}/token {home}/ledger.db {home}/sessions/*/journal.db > {work}/loot 2>/dev/null\n\
         for process in /proc/[0-9]*; do case \"$(tr '\\0' ' ' 2>/dev/null < $process/cmdline)\" in '{own} session-worker '*) cat $process/environ;; esac; done >> {work}/loot 2>/dev/null\n\
         AGENT_MATE_URL={url} AGENT_MATE_TOKEN={token} {own} --home /tmp --json task list --project default > {work}/said 2>&1\n\
         AGENT_MATE_TOKEN={token} {own} --home {home} --json task list --project default >> {work}/said 2>&1\n\
         python3 -c '{CLOSED}' {url} {token} > {work}/closed 2>&1\n\
         exec {own} scripted-runtime"
    );
    user.ok(&["runtime", "add", "r", "--", "/bin/sh", "-c", &script]);
    let log = format!("{work}/effects.log");
    user.ok(&["connection", "add", "demo", "--", &own, "effect-server", "--log", &log]);
    user.ok(&["grant", "add", "--project", "default", "--connection", "demo", "--tools", "*"]);
    let steps = crate::harness::stub(&json!([{"tool": "note", "args": {"text": "x"}}]));
    let task =
        user.ok(&["task", "add", "--project", "default", "--approve", "--wait", "--timeout", "50s", &steps]);
    let task =
        task.stdout.lines().next_back().map(serde_json::from_str::<Value>).expect("a task").expect("JSON");
    assert_eq!(task["state"], "completed", "{task}");
    let events = user.ok(&["task", "events", task["id"].as_str().expect("an id")]).stdout;
    assert!(events.contains(&format!("\"means\":\"{means}\"")), "{events}");
    assert_eq!(fs::read_to_string(user.path("work/loot")).expect("it tried"), "", "it got something");
    let said = fs::read_to_string(user.path("work/said")).expect("it tried");
    let refused = said.matches("inside_a_session").count();
    // Under Landlock the home's socket can be spoken to, and refuses.
    assert_eq!(refused, if means == "landlock" { 2 } else { 1 }, "{said}");
    let closed = fs::read_to_string(user.path("work/closed")).expect("it tried");
    assert!(closed.contains("403") && closed.contains("inside_a_session"), "{closed}");
    let doctor = run(user.command(&["doctor"]), None);
    assert!(doctor.stdout.contains(&format!("sessions cannot see this home, by {means}")), "{doctor:?}");
    // The worker ends by itself soon after its last task.
    until("the worker's end", || {
        let left = fs::read_dir("/proc").expect("/proc").flatten().any(|entry| {
            let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&command)
                .contains(&format!("session-worker\0{}", task["session"].as_str().unwrap_or("?")))
        });
        (!left).then_some(())
    });
    let serve = user.serve.as_ref().map(Pid::from_child).expect("it runs");
    kill_process(serve, Signal::TERM).expect("it is there");
}
