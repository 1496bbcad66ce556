//! Real agent runtimes with a scripted model: OpenCode at the main job and in its two crashes, and each of them stopped.

mod stopped;
mod upstreams;

use crate::harness::{Store, World, id, json_lines, until, while_true};
use serde_json::{Value, json};
use std::{
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};
use tempfile::TempDir;

/// The parts of the kit that a real runtime needs beside the world.
struct Kit {
    world: World,
    model: Model,
}

/// The scripted model. It is no part of any session, so its log lies elsewhere.
struct Model {
    process: Child,
    folder: TempDir,
}

impl Model {
    /// Starts it on a port of its own; gives its address as well.
    fn start() -> (Self, String) {
        let folder = tempfile::Builder::new().prefix("am-model-").tempdir().expect("a folder");
        let mut command = python("stub_llm.py");
        std::fs::create_dir(folder.path().join("asked")).expect("made");
        command.args(["--port", "0", "--until-eof", "--log"]).arg(folder.path().join("log"));
        command.arg("--dump").arg(folder.path().join("asked"));
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("python3");
        let mut line = String::new();
        let output = process.stdout.take().expect("piped");
        BufReader::new(output).read_line(&mut line).expect("read");
        let ready: Value = serde_json::from_str(&line).expect("the first line of the model");
        let address = ready["listening"].as_str().expect("an address").to_owned();
        (Self { process, folder }, address)
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn kit(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/kit/runtimes").join(file)
}

fn python(file: &str) -> Command {
    let mut command = Command::new("python3");
    command.arg("-B").arg(kit(file));
    command
}

impl Kit {
    /// OpenCode, the scripted model, and the probe as an upstream over stdio behind the bridge.
    fn opencode() -> Self {
        Self::of("opencode", &["opencode"])
    }

    /// The same with another runtime, for which these packages of the kit are needed.
    fn of(runtime: &str, packages: &[&str]) -> Self {
        let installed = Command::new("bash").arg(kit("install.sh")).args(packages).output().expect("bash");
        assert!(installed.status.success(), "{}", String::from_utf8_lossy(&installed.stderr));
        let world = World::empty(Store::Sqlite);
        let (model, address) = Model::start();
        register(&world, runtime, &address);
        Self { world, model }
    }

    /// What the upstream saw of a tool.
    fn probe(&self, kind: &str, tool: &str) -> usize {
        json_lines(&self.world.path("probe.log"))
            .iter()
            .filter(|line| line["kind"] == kind && line["tool"] == tool)
            .count()
    }

    fn until_begun(&self, tool: &str) {
        until(&format!("{tool} at the upstream"), || (self.probe("call_begin", tool) > 0).then_some(()));
    }

    /// Whether the model was ever asked with this text.
    fn model_read(&self, text: &str) -> bool {
        let asked = std::fs::read_dir(self.model.folder.path().join("asked")).expect("a folder").flatten();
        asked
            .into_iter()
            .any(|file| std::fs::read_to_string(file.path()).is_ok_and(|body| body.contains(text)))
    }

    /// How often the model answered with a call of this tool.
    fn model_called(&self, tool: &str) -> usize {
        let lines = json_lines(&self.model.folder.path().join("log"));
        let calls = lines.iter().filter_map(|line| line["calls"].as_array()).flatten();
        calls.filter(|call| call["name"].as_str().is_some_and(|name| name.ends_with(tool))).count()
    }
}

fn register(world: &World, runtime: &str, address: &str) {
    let (home, project) = (world.path("agent"), world.path("project"));
    for folder in [&home, &project] {
        std::fs::create_dir(folder).expect("made");
    }
    let recipe =
        python("recipes.py").arg(runtime).arg(&home).arg(address).arg(&project).output().expect("python3");
    assert!(recipe.status.success(), "{}", String::from_utf8_lossy(&recipe.stderr));
    let recipe: Value = serde_json::from_slice(&recipe.stdout).expect("the recipe is JSON");
    let mut words = vec!["runtime", "add", runtime, "--preset", runtime, "--", "/usr/bin/env", "-i"]
        .into_iter()
        .map(str::to_owned)
        .collect::<Vec<_>>();
    for (name, value) in recipe["env"].as_object().expect("an environment") {
        words.push(format!("{name}={}", value.as_str().expect("text")));
    }
    words.extend(
        recipe["cmd"]
            .as_array()
            .expect("a command")
            .iter()
            .map(|word| word.as_str().expect("text").to_owned()),
    );
    world.ok(&words.iter().map(String::as_str).collect::<Vec<_>>());
    let log = format!("PROBE_LOG={}", world.path("probe.log").display());
    let probe = kit("mcp_probe.py");
    world.ok(&[
        "connection",
        "add",
        "demo",
        "--",
        "/usr/bin/env",
        &log,
        "python3",
        "-B",
        probe.to_str().expect("text"),
    ]);
    world.grant("demo", "*");
}

#[test]
fn real_opencode_calls_a_tool_of_a_stdio_upstream() {
    let kit = Kit::opencode();
    let (task, code) =
        kit.world.carry_out(&json!([{"tool": "note", "args": {"text": "x"}}, {"text": "done"}]));
    assert_eq!((task["state"].as_str(), code), (Some("completed"), 0), "{task}");
    assert_eq!(kit.world.operation_states(&id(&task)), ["note:succeeded"]);
    assert_eq!((kit.probe("call_begin", "note"), kit.probe("call_end", "note")), (1, 1));
    let report = kit.world.ok(&["task", "report", &id(&task)]);
    assert!(report["last_message"].as_str().is_some_and(|said| said.contains("done")), "{report}");
    // It asks before each tool; for the bridge's tools nobody is needed, since the bridge judges them.
    let events = kit.world.events(&id(&task));
    let about =
        |kind: &str| events.iter().find(|event| event["type"] == kind).map(|event| event["data"].clone());
    assert_eq!(about("permission.asked").expect("it asks")["bridge"], true);
    assert_eq!(about("permission.answered").expect("it is answered")["allowed"], true);
    kit.world.assert_chains_hold(task["session"].as_str().expect("a session"));
}

#[test]
fn real_opencode_goes_on_when_the_coordinator_is_killed_in_a_call() {
    let mut kit = Kit::opencode();
    let task = id(&kit.world.submit(&json!([
        {"tool": "slow", "args": {"seconds": 4, "key": "once"}},
        {"tool": "note", "args": {"text": "alone"}},
        {"text": "done"},
    ])));
    kit.until_begun("slow");
    kit.world.kill_serve();
    until("a call without a coordinator", || (kit.probe("call_end", "note") == 1).then_some(()));
    kit.world.start_serve();
    let (ended, code) = kit.world.wait(&task);
    assert_eq!((ended["state"].as_str(), code), (Some("completed"), 0), "{ended}");
    assert_eq!(kit.world.operation_states(&task), ["slow:succeeded", "note:succeeded"]);
    assert_eq!((kit.probe("call_begin", "slow"), kit.probe("call_end", "slow")), (1, 1));
    let types = kit.world.event_types(&task);
    assert_eq!(types.iter().filter(|kind| *kind == "turn.prompted").count(), 1);
    assert_eq!(
        (kit.model_called("slow"), kit.model_called("note")),
        (1, 1),
        "the prompt reached the model once"
    );
    kit.world.assert_chains_hold(ended["session"].as_str().expect("a session"));
}

#[test]
fn real_opencode_and_its_worker_are_killed_in_a_call() {
    let kit = Kit::opencode();
    let steps = json!([{"tool": "slow", "args": {"seconds": 20, "key": "once"}}, {"text": "done"}]);
    let task = kit.world.submit(&steps);
    let session = task["session"].as_str().expect("a session").to_owned();
    kit.until_begun("slow");
    let worker = kit.world.worker(&session);
    for runtime in kit.world.processes("opencode") {
        runtime.kill();
    }
    worker.kill();
    let (ended, code) = kit.world.wait(&id(&task));
    assert_eq!((ended["state"].as_str(), code), (Some("unknown"), 6), "{ended}");
    assert_eq!(kit.world.operation_states(&id(&task)), ["slow:unknown"]);
    kit.world.assert_sessions_are_gone();
    assert_eq!((kit.probe("call_begin", "slow"), kit.probe("call_end", "slow")), (1, 0));
    let again = kit.world.submit_in(&session, &steps);
    kit.world.wait(&id(&again));
    assert_eq!(kit.world.operation_states(&id(&again)), ["slow:denied"]);
    while_true("slow is never called again", Duration::from_secs(1), || kit.probe("call_begin", "slow") == 1);
}

#[test]
fn real_opencode_resumes_in_its_conversation_with_the_facts_of_the_record() {
    let kit = Kit::opencode();
    let steps = json!([
        {"tool": "note", "args": {"text": "before"}},
        {"tool": "slow", "args": {"seconds": 20, "key": "once"}},
        {"text": "done"},
    ]);
    let task = kit.world.submit(&steps);
    let session = task["session"].as_str().expect("a session").to_owned();
    kit.until_begun("slow");
    let worker = kit.world.worker(&session);
    for runtime in kit.world.processes("opencode") {
        runtime.kill();
    }
    worker.kill();
    assert_eq!(kit.world.wait(&id(&task)).1, 6);
    let operations = kit.world.operations(&id(&task));
    let next = crate::harness::stub(&json!([{"tool": "note", "args": {"text": "after"}}, {"text": "well"}]));
    let next = kit.world.ok(&["task", "resume", &id(&task), &next]);
    let (ended, code) = kit.world.wait(&id(&next));
    assert_eq!((ended["state"].as_str(), code), (Some("completed"), 0), "{ended}");
    assert_eq!((&ended["context"], &ended["session"]), (&json!("loaded"), &json!(session)), "{ended}");
    let note = ended["note"].as_str().expect("the note");
    for operation in &operations {
        assert!(note.contains(&id(operation)) && kit.model_read(&id(operation)), "{operation}: {note}");
    }
    assert!(kit.model_read("Recovery note of Agent Mate"));
    assert_eq!(kit.world.operation_states(&id(&next)), ["note:succeeded"]);
    while_true("slow is never called again", Duration::from_secs(1), || kit.probe("call_begin", "slow") == 1);
}
