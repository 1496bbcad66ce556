//! What is revoked before a call's admission is never sent, and what was in flight is on record.

mod moment;
mod record;
mod told;
mod trials;

use crate::harness::{World, id, run, stub};
use serde_json::Value;

/// Somebody who is no administrator, an operator of the project, with a token.
struct Ann {
    token: String,
    token_id: String,
}

impl Ann {
    fn of(world: &World) -> Self {
        world.ok(&["account", "add", "ann"]);
        world.ok(&["project", "member", "add", "default", "ann", "--role", "operator"]);
        let token = world.ok(&["token", "add", "--account", "ann"]);
        Self { token: token["token"].as_str().expect("a secret").to_owned(), token_id: id(&token) }
    }

    /// Submits and approves a task, in a session if one is given.
    fn submit(&self, world: &World, session: Option<&str>, steps: &Value) -> Value {
        let instructions = stub(steps);
        let mut words = vec!["--json", "task", "add", "--project", "default", "--approve"];
        words.extend(session.iter().flat_map(|session| ["--session", session]));
        words.push(&instructions);
        let mut add = world.command(&words);
        add.env("AGENT_MATE_TOKEN", &self.token);
        run(add, None).json()
    }
}

/// The ways to take authority away, as words of the command line.
fn revoke(world: &World, kind: &str, grant: &str, ann: &Ann) -> Vec<Value> {
    let words: &[&str] = match kind {
        "grant" => &["grant", "revoke", grant],
        "token" => &["token", "revoke", &ann.token_id],
        "member" => &["project", "member", "remove", "default", "ann"],
        "role" => &["project", "member", "add", "default", "ann", "--role", "viewer"],
        "account" => &["account", "disable", "ann"],
        "connection" => &["connection", "remove", "demo"],
        "project" => &["project", "archive", "default"],
        other => panic!("no such way: {other}"),
    };
    vec![world.ok(words)]
}
