//! A runtime and a server of MCP 2026-07-28 with a session between them: real processes, real loss.

use crate::{
    conformance::{Kit, SESSIONS},
    harness::{Store, World, id, on_both_stores, program, until},
};
use serde_json::{Value, json};
use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    os::unix::net::{UnixListener, UnixStream},
};

on_both_stores!(
    g05_a_task_whose_worker_was_killed_is_settled_by_its_record,
    g04_a_closed_call_goes_on_and_made_again_it_is_given_its_result,
    g04_answers_to_a_task_are_rounds_of_its_call,
);

const TASKS: &str = "io.modelcontextprotocol/tasks";

/// A held turn, and the way to its tools.
struct Held {
    world: World,
    task: String,
    /// `host:port` of the endpoint, and its bearer.
    tools: (String, String),
    _door: UnixStream,
    _server: Kit,
}

impl Held {
    fn open(store: Store) -> Self {
        let mut server = Kit::start("fixture.cjs", &[]);
        let url = server.url();
        let world = World::settled(store, SESSIONS);
        let door = world.path("door");
        let listener = UnixListener::bind(&door).expect("bound");
        world.ok(&["runtime", "add", "held", "--", program(), "bench-runtime", door.to_str().expect("text")]);
        world.ok(&["connection", "add", "fixture", "--url", &url, "--bare"]);
        world.grant("fixture", "*");
        let task = id(&world.ok(&["task", "add", "--project", "default", "--approve", "hold"]));
        let (door, _) = listener.accept().expect("the runtime comes");
        let mut lines = BufReader::new(door.try_clone().expect("cloned"));
        let mut line = String::new();
        lines.read_line(&mut line).expect("where its tools are");
        let told: Value = serde_json::from_str(&line).expect("JSON");
        lines.read_line(&mut line).expect("the prompt is there");
        let url = told["url"].as_str().expect("an address");
        let at = url.trim_start_matches("http://").trim_end_matches("/mcp").to_owned();
        let bearer = told["bearer"].as_str().expect("a bearer").to_owned();
        Self { world, task, tools: (at, bearer), _door: door, _server: server }
    }

    /// Sends one request; its answer is still to be read.
    fn send(&self, method: &str, name: &str, mut params: Value, follows: bool) -> TcpStream {
        let can = if follows { json!({ "elicitation": {}, "extensions": { TASKS: {} } }) } else { json!({}) };
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": can,
        });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
        let (at, bearer) = &self.tools;
        let mut stream = TcpStream::connect(at).expect("it listens");
        write!(
            stream,
            "POST /mcp HTTP/1.1\r\nhost: {at}\r\nauthorization: Bearer {bearer}\r\ncontent-type: application/json\r\n\
             accept: application/json\r\nmcp-protocol-version: 2026-07-28\r\nmcp-method: {method}\r\nmcp-name: {name}\r\n\
             connection: close\r\ncontent-length: {}\r\n\r\n{body}",
            body.len(),
        )
        .expect("written");
        stream
    }

    fn ask(&self, method: &str, name: &str, params: Value, follows: bool) -> Value {
        let mut text = String::new();
        self.send(method, name, params, follows).read_to_string(&mut text).expect("read");
        let (_, body) = text.split_once("\r\n\r\n").expect("a body");
        serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    fn call(&self, tool: &str, arguments: &Value) -> String {
        let made = self.ask("tools/call", tool, json!({ "name": tool, "arguments": arguments }), true);
        assert_eq!(made["result"]["resultType"], "task", "{made}");
        made["result"]["taskId"].as_str().expect("a name").to_owned()
    }

    fn about(&self, method: &str, task: &str, mut params: Value) -> Value {
        params["taskId"] = json!(task);
        self.ask(method, task, params, true)["result"].clone()
    }
}

fn g05_a_task_whose_worker_was_killed_is_settled_by_its_record(store: Store) {
    let held = Held::open(store);
    let name = held.call("slow_compute", &json!({ "seconds": 3, "label": "a" }));
    assert_eq!(name, id(&held.world.operations(&held.task)[0]), "our name for it");
    let (worker, runtime) =
        (held.world.the_process("session-worker "), held.world.the_process("bench-runtime"));
    runtime.kill();
    worker.kill();
    let seen = until("the operation to be settled", || {
        let seen = held.world.ok(&["operation", "show", &name]);
        (seen["state"] != "in_flight" && seen["state"] != "unknown").then_some(seen)
    });
    let how = (&seen["state"], &seen["evidence"]["kind"]);
    assert_eq!(how, (&json!("succeeded"), &json!("upstream_record")), "{seen}");
    assert_eq!(held.world.operations(&held.task).len(), 1);
}

fn g04_a_closed_call_goes_on_and_made_again_it_is_given_its_result(store: Store) {
    let held = Held::open(store);
    let call = json!({ "name": "slow_compute", "arguments": { "seconds": 1, "label": "b" } });
    let sent = held.send("tools/call", "slow_compute", call.clone(), false);
    until("the call", || {
        held.world.operations(&held.task).first().filter(|seen| seen["state"] == "in_flight").map(drop)
    });
    drop(sent);
    let told = held.ask("tools/call", "slow_compute", call, false);
    let content = told["result"]["content"].to_string();
    assert!(content.contains("computed b") && content.contains("stored result"), "{told}");
    let operations = held.world.operations(&held.task);
    assert_eq!((operations.len(), &operations[0]["state"]), (1, &json!("succeeded")), "{operations:?}");
}

fn g04_answers_to_a_task_are_rounds_of_its_call(store: Store) {
    let held = Held::open(store);
    let name = held.call("confirm_delete", &json!({ "filename": "c" }));
    let asked = until("the question", || {
        let seen = held.about("tasks/get", &name, json!({}));
        (seen["status"] == "input_required").then_some(seen)
    });
    assert_eq!(asked["inputRequests"]["confirm"]["method"], "elicitation/create", "{asked}");
    let answer =
        json!({ "inputResponses": { "confirm": { "action": "accept", "content": { "confirm": true } } } });
    for _ in 0..2 {
        let said = held.about("tasks/update", &name, answer.clone());
        assert_eq!(said["resultType"], "complete", "{said}");
    }
    let seen = until("its end", || {
        let seen = held.about("tasks/get", &name, json!({}));
        (seen["status"] == "completed").then_some(seen)
    });
    assert_eq!(seen["result"]["content"][0]["text"], "deleted c", "{seen}");
    let operations = held.world.operations(&held.task);
    assert_eq!((operations.len(), &operations[0]["state"]), (1, &json!("succeeded")), "{operations:?}");
    let kinds = held.world.event_types(&held.task);
    let count = |kind: &str| kinds.iter().filter(|known| *known == kind).count();
    assert_eq!((count("operation.input_required"), count("operation.continued")), (1, 1), "{kinds:?}");
}
