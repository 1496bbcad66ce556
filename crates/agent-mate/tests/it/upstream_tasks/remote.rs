//! The effect server over HTTP: it lives on when sessions die.

use crate::harness::{World, program};
use serde_json::Value;
use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
};

/// A server of its own; ends when dropped.
pub(super) struct Remote {
    child: Child,
    address: String,
}

impl Remote {
    /// Starts one and links it as the connection `demo`; nothing is granted of it.
    pub(super) fn linked(world: &World, options: &[&str]) -> Self {
        let remote = Self::start(world, "127.0.0.1:0", options);
        world.ok(&["connection", "add", "demo", "--url", &format!("http://{}/mcp", remote.address)]);
        remote
    }

    fn start(world: &World, address: &str, options: &[&str]) -> Self {
        let log = world.path("effects.log");
        let mut child = Command::new(program())
            .args(["effect-server", "--log", log.to_str().expect("text"), "--listen", address])
            .args(options)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("its ready line");
        let ready: Value = serde_json::from_str(&line).expect("JSON");
        let url = ready["url"].as_str().expect("a URL");
        let address =
            url.strip_prefix("http://").and_then(|url| url.strip_suffix("/mcp")).expect("its address");
        Self { address: address.to_owned(), child }
    }

    /// Ends it with SIGKILL, and starts it again where it was.
    pub(super) fn start_again(&mut self, world: &World, options: &[&str]) {
        self.child.kill().expect("it lives");
        self.child.wait().expect("it ended");
        *self = Self::start(world, &self.address, options);
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
