//! The coordinator as a child of the test.

use super::{command::at_home, until};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::Value;
use std::{
    fs::OpenOptions,
    io::{BufRead as _, BufReader},
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Child, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

/// A running coordinator, leader of a process group of its own.
pub(crate) struct Serve {
    child: Child,
    /// Its address over HTTP.
    pub(crate) url: String,
}

impl Serve {
    /// Starts it and waits for its ready line, which names its address.
    pub(crate) fn start(home: &Path, user: &Path, log: &Path, env: &[(&str, &str)]) -> Self {
        let log = OpenOptions::new().create(true).append(true).open(log).expect("the log opens");
        let mut command = at_home(home, user);
        command.envs(env.iter().copied()).args(["serve", "--listen", "127.0.0.1:0", "--json"]);
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::from(log))
            .process_group(0)
            .spawn()
            .expect("the coordinator starts");
        let (say, heard) = mpsc::channel();
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        thread::spawn(move || say.send(lines.next()));
        let line = heard.recv_timeout(Duration::from_secs(60)).ok().flatten().and_then(Result::ok);
        let Some(line) = line else {
            let _ = child.kill();
            panic!("the coordinator said nothing; it ended with {:?}", child.wait());
        };
        let ready: Value = serde_json::from_str(&line).expect("the ready line is JSON");
        let url = ready["url"].as_str().filter(|url| url.starts_with("http://127.0.0.1:"));
        Self { child, url: url.unwrap_or_else(|| panic!("no address in {ready}")).to_owned() }
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).expect("it is there");
    }

    /// Sends its process group a signal, as a terminal does at Ctrl-C.
    pub(crate) fn signal_group(&self, signal: Signal) {
        kill_process_group(self.pid(), signal).expect("it is there");
    }

    /// Waits for its end.
    pub(crate) fn ended(mut self) -> std::process::ExitStatus {
        until("the coordinator's end", || self.child.try_wait().expect("it can be waited for"))
    }
}

impl Drop for Serve {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
