//! A server of the era with sessions that asks in the middle of a call, and a runtime of MCP 2026-07-28 that is asked by
//! the answer to its call: real processes. What the server was answered, its own log says.

use crate::{
    conformance::SESSIONS,
    harness::{Store, World, id, on_both_stores, program, until},
};
use serde_json::{Value, json};
use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    os::unix::net::{UnixListener, UnixStream},
};

on_both_stores!(
    g04_the_same_answer_twice_is_heard_once,
    g07_no_answer_arrives_after_its_grant_was_revoked,
    g06_no_answer_arrives_after_a_stop,
    g05_a_call_whose_worker_was_killed_before_its_answer_is_unknown,
);

const TOOL: &str = "demo__confirm";

/// A held turn, and the way to its tools.
struct Turn {
    world: World,
    task: String,
    grant: String,
    /// `host:port` of the endpoint, and its bearer.
    tools: (String, String),
    _door: UnixStream,
}

impl Turn {
    fn open(store: Store) -> Self {
        let world = World::settled(store, SESSIONS);
        let door = world.path("door");
        let listener = UnixListener::bind(&door).expect("bound");
        world.ok(&["runtime", "add", "held", "--", program(), "bench-runtime", door.to_str().expect("text")]);
        world.upstream("demo", &[]);
        let grant = world.grant("demo", "*");
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
        Self { world, task, grant, tools: (at, bearer), _door: door }
    }

    /// Sends the call, with the answer to its question where there is one; its answer is still to be read.
    fn send(&self, state: Option<&Value>) -> TcpStream {
        let mut params = json!({ "name": TOOL, "arguments": { "text": "sure?" } });
        if let Some(state) = state {
            params["requestState"] = state.clone();
            params["inputResponses"] = json!({ "question": { "action": "accept", "content": {} } });
        }
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
        });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string();
        let (at, bearer) = &self.tools;
        let mut stream = TcpStream::connect(at).expect("it listens");
        write!(
            stream,
            "POST /mcp HTTP/1.1\r\nhost: {at}\r\nauthorization: Bearer {bearer}\r\ncontent-type: application/json\r\n\
             accept: application/json\r\nmcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: {TOOL}\r\n\
             connection: close\r\ncontent-length: {}\r\n\r\n{body}",
            body.len(),
        )
        .expect("written");
        stream
    }

    fn call(&self, state: Option<&Value>) -> Value {
        read(self.send(state))
    }

    /// Makes the call; the state that is given with its question.
    fn asked(&self) -> Value {
        let asked = self.call(None);
        assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
        asked["result"]["requestState"].clone()
    }

    /// What the server was answered, as it wrote it down.
    fn heard(&self) -> Vec<Value> {
        let effects = self.world.effects();
        effects.iter().filter(|line| line["kind"] == "answered").map(|line| line["action"].clone()).collect()
    }

    /// How many events of the task's there are of a kind.
    fn count(&self, kind: &str) -> usize {
        self.world.event_types(&self.task).iter().filter(|known| *known == kind).count()
    }
}

fn read(mut stream: TcpStream) -> Value {
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("read");
    let (_, body) = text.split_once("\r\n\r\n").expect("a body");
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn words(answer: &Value) -> String {
    let blocks = answer["result"]["content"].as_array().cloned().unwrap_or_default();
    blocks.iter().map(|block| block["text"].as_str().unwrap_or_default()).collect::<Vec<_>>().join(" ")
}

fn g04_the_same_answer_twice_is_heard_once(store: Store) {
    let turn = Turn::open(store);
    let state = turn.asked();
    assert_eq!(turn.call(None)["result"]["requestState"], state, "made again, it is asked again");
    let done = turn.call(Some(&state));
    assert_eq!(words(&done), "the answer was: accept", "{done}");
    let again = turn.call(Some(&state));
    assert!(words(&again).contains("was sent before"), "{again}");
    assert_eq!(turn.heard(), ["accept"]);
    assert_eq!(turn.world.count("begin", "confirm"), 1);
    let operations = turn.world.operations(&turn.task);
    assert_eq!(operations[0]["state"], "succeeded", "{operations:?}");
    assert_eq!((turn.count("operation.input_required"), turn.count("operation.continued")), (1, 1));
}

fn g07_no_answer_arrives_after_its_grant_was_revoked(store: Store) {
    let turn = Turn::open(store);
    let state = turn.asked();
    turn.world.ok(&["grant", "revoke", &turn.grant]);
    let told = turn.call(Some(&state));
    assert!(words(&told).contains("NOT sent"), "{told}");
    assert_eq!(turn.heard(), ["cancel"], "the question was given up, and not answered");
    let events = turn.world.events(&turn.task);
    assert!(
        events.iter().any(|event| event["data"]["not_sent"].is_string()),
        "the record says so: {events:?}"
    );
}

fn g06_no_answer_arrives_after_a_stop(store: Store) {
    let turn = Turn::open(store);
    let state = turn.asked();
    turn.world.ok(&["task", "stop", &turn.task, "--no-wait"]);
    // Whether the bridge is still there to refuse it, or gone: no answer reaches the server.
    let (at, _) = &turn.tools;
    if TcpStream::connect(at).is_ok() {
        let mut text = String::new();
        turn.send(Some(&state)).read_to_string(&mut text).ok();
    }
    until("the end of the task", || {
        let seen = turn.world.task(&turn.task);
        (!matches!(seen["state"].as_str(), Some("running" | "stop_requested"))).then_some(())
    });
    assert!(!turn.heard().contains(&json!("accept")), "{:?}", turn.heard());
}

fn g05_a_call_whose_worker_was_killed_before_its_answer_is_unknown(store: Store) {
    let turn = Turn::open(store);
    turn.asked();
    let (worker, runtime) =
        (turn.world.the_process("session-worker "), turn.world.the_process("bench-runtime"));
    runtime.kill();
    worker.kill();
    let seen = until("the operation to be classified", || {
        let seen = turn.world.operations(&turn.task).remove(0);
        (seen["state"] != "in_flight").then_some(seen)
    });
    assert_eq!(seen["state"], "unknown", "{seen}");
    assert!(!turn.heard().contains(&json!("accept")));
}
