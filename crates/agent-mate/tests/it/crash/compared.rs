//! The same kill, done to a plain MCP client that tries again and to Agent Mate: the figures of `docs/compared.md`.

use super::records::Records;
use crate::harness::{Process, Store, World, json_lines, program, stub, until};
use mate_model::{operation::OperationStateWord, task::TaskStateWord};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, Command, Stdio},
};

/// Calls in flight at the kill.
const CALLS: usize = 16;

/// What was seen.
#[derive(Debug, PartialEq, Eq)]
struct Figures {
    /// Effects that happened, by the effect server's own log.
    effects: usize,
    /// Different calls that happened more than once.
    twice: usize,
    /// Calls whose uncertain outcome is on record afterwards.
    named: usize,
}

#[test]
fn the_same_kill_with_and_without_agent_mate() {
    let plain = plain_client();
    let ours = agent_mate();
    let text = page(&plain, &ours);
    eprintln!("{text}");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/compared.md");
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&file, &text).expect("written");
    }
    assert_eq!(plain, Figures { effects: 2 * CALLS, twice: CALLS, named: 0 });
    assert_eq!(ours, Figures { effects: CALLS, twice: 0, named: CALLS });
    assert_eq!(
        fs::read_to_string(file).unwrap_or_default(),
        text,
        "`UPDATE=1 ./test compared` writes the page"
    );
}

fn script(tool: &str) -> String {
    let call =
        |number: usize| json!({"tool": tool, "args": {"seconds": 60, "key": format!("order {number}")}});
    let calls: Vec<Value> = (1..=CALLS).map(call).collect();
    stub(&json!([{ "tools": calls }, {"text": "done"}]))
}

fn figures(log: &Path, named: usize) -> Figures {
    let mut keys: BTreeMap<String, usize> = BTreeMap::new();
    for line in json_lines(log).iter().filter(|line| line["kind"] == "begin") {
        *keys.entry(line["key"].to_string()).or_default() += 1;
    }
    let twice = keys.values().filter(|count| **count > 1).count();
    Figures { effects: keys.values().sum(), twice, named }
}

/// The scripted runtime, linked with the effect server directly; after the kill its prompt is sent again, as by any
/// supervisor that finds no answer on record.
fn plain_client() -> Figures {
    let folder = tempfile::tempdir().expect("a folder");
    let (log, told) = (folder.path().join("effects.log"), folder.path().join("told.log"));
    for round in 1..=2 {
        let mut runtime = Talk::start(folder.path(), &told);
        runtime.ask(1, "initialize", &json!({"protocolVersion": 1}));
        let server = json!({"name": "demo", "command": program(), "env": [],
            "args": ["effect-server", "--log", log.to_str().expect("text")]});
        let opened = runtime.ask(2, "session/new", &json!({"cwd": folder.path(), "mcpServers": [server]}));
        let prompt =
            json!({"sessionId": opened["sessionId"], "prompt": [{"type": "text", "text": script("slow")}]});
        runtime.send(3, "session/prompt", &prompt);
        until("every call at work", || {
            let begun = json_lines(&log).iter().filter(|line| line["kind"] == "begin").count();
            (begun >= round * CALLS).then_some(())
        });
        drop(runtime);
    }
    let answers = json_lines(&told).len();
    figures(&log, answers)
}

fn agent_mate() -> Figures {
    let mut world = World::new(Store::Sqlite);
    let add = |world: &World, more: &[&str]| {
        let text = script("demo__slow");
        world.ok(&[&["task", "add", "--project", "default", "--approve", text.as_str()], more].concat())
    };
    let task = add(&world, &[]);
    world.until_begun("slow", CALLS);
    world.kill_serve();
    world.processes("").iter().for_each(Process::kill);
    world.assert_sessions_are_gone();
    world.start_serve();
    let mut records = Records::of(&world);
    assert_eq!(records.until_classified(task["id"].as_str().expect("an id")), TaskStateWord::Unknown);
    let session = task["session"].as_str().expect("a session");
    // The same prompt again, as before.
    let again = add(&world, &["--session", session]);
    records.until_classified(again["id"].as_str().expect("an id"));
    let (operations, _) = records.operations(&world, session.parse().expect("a session"));
    let unknown = operations.iter().filter(|op| op.state.word() == OperationStateWord::Unknown).count();
    figures(&world.path("effects.log"), unknown)
}

fn page(plain: &Figures, ours: &Figures) -> String {
    let row = |what: &str, count: fn(&Figures) -> usize| {
        format!("| {what} | {} | {} |\n", count(plain), count(ours))
    };
    let rows = [
        row("effects that happened", |one| one.effects),
        row("calls that happened twice", |one| one.twice),
        row("calls whose uncertain outcome is on record", |one| one.named),
    ];
    format!(
        "# The same kill, with and without Agent Mate\n\n\
         {CALLS} tool calls are in flight. Their effects have happened, no answer has been recorded, and everything is\n\
         killed with SIGKILL. Then everything is started again, and the same work is asked for again, as a supervisor does\n\
         that finds no answer on record. Both columns use the same runtime, the same tool server and the same script; the\n\
         effects are counted in the tool server's own synced log.\n\n\
         | | a plain MCP client that tries again | Agent Mate |\n|---|---|---|\n{}\n\
         A client that does not try again repeats nothing, and still cannot say which of the calls happened. Agent Mate\n\
         refuses each of the repeated calls with the reason that it may have happened, keeps every one of them as `unknown`\n\
         until there is evidence, and says so of the task.\n\n\
         Repeat it with `./test compared`; `UPDATE=1 ./test compared` writes the measured figures into this page.\n",
        rows.concat()
    )
}

/// A runtime that is spoken to over its standard streams.
struct Talk {
    child: Child,
    answers: BufReader<std::process::ChildStdout>,
}

impl Talk {
    fn start(folder: &Path, told: &Path) -> Self {
        let mut command = Command::new(program());
        command.arg("scripted-runtime").env_clear().current_dir(folder);
        command.env("HOME", folder).env("SCRIPTED_TOLD", told);
        let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut child = spawned.expect("it starts");
        let answers = BufReader::new(child.stdout.take().expect("piped"));
        Self { child, answers }
    }

    fn send(&mut self, id: u64, method: &str, params: &Value) {
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        writeln!(self.child.stdin.as_mut().expect("piped"), "{message}").expect("it reads");
    }

    fn ask(&mut self, id: u64, method: &str, params: &Value) -> Value {
        self.send(id, method, params);
        let mut line = String::new();
        loop {
            line.clear();
            assert!(self.answers.read_line(&mut line).expect("it writes") > 0, "{method}: it ended");
            let message: Value = serde_json::from_str(&line).expect("JSON");
            if message["id"] == id {
                return message["result"].clone();
            }
        }
    }
}

/// Ends with SIGKILL; its tool server ends with its input.
impl Drop for Talk {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
