//! Tool servers that people use, as they come from npm and PyPI: listed, called, seen to act, seen to fail, and killed.

use super::kit;
use crate::harness::{Store, World, id, items, until};
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead as _, BufReader},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

/// Where the kit keeps what it has installed.
fn installed(names: &[&str]) -> PathBuf {
    let done = Command::new("bash").arg(kit("install.sh")).args(names).output().expect("bash");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let usual = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.cache/agents");
    std::env::var_os("ACP_AGENTS").map_or_else(usual, PathBuf::from).canonicalize().expect("a folder")
}

/// The program of an npm package of the kit.
fn npm(kit: &Path, name: &str) -> String {
    let program = format!("{name}/node_modules/@modelcontextprotocol/server-{name}/dist/index.js");
    kit.join(program).to_str().expect("text").to_owned()
}

/// A world with the scripted runtime, and no connection yet.
fn world() -> World {
    let world = World::empty(Store::Sqlite);
    world.scripted("scripted", &[]);
    world
}

/// Links a program, which must be well, and grants all its tools.
fn link(world: &World, name: &str, command: &[&str]) -> Vec<Value> {
    link_with(world, name, &[], command)
}

/// The same, with options of the connection.
fn link_with(world: &World, name: &str, options: &[&str], command: &[&str]) -> Vec<Value> {
    world.ok(&[&["connection", "add", name], options, &["--"], command].concat());
    let looked = world.ok(&["connection", "check", name]);
    assert_eq!(looked["state"], "well", "{looked}");
    world.grant(name, "*");
    items(&world.ok(&["connection", "tools", name]))
}

fn offers(tools: &[Value], name: &str) -> bool {
    tools.iter().any(|tool| tool["name"] == name)
}

/// The workspace of a task's session.
fn workspace(world: &World, task: &Value) -> PathBuf {
    world.session_folder(task["session"].as_str().expect("a session")).join("workspace")
}

#[test]
fn real_filesystem_server_writes_reads_and_fails() {
    let kit = installed(&["filesystem"]);
    let world = world();
    let user = world.user();
    let command = ["node", &npm(&kit, "filesystem"), user.to_str().expect("text")];
    let tools = link_with(&world, "files", &["--workspace-root"], &command);
    assert!(offers(&tools, "write_file") && offers(&tools, "read_text_file"), "{tools:?}");
    assert!(tools.iter().any(|tool| tool["name"] == "read_text_file" && tool["says_read_only"] == true));
    let (task, code) = world.carry_out(&json!([
        {"tool": "files__write_file", "args": {"path": "note.txt", "content": "from a task"}},
        {"tool": "files__read_text_file", "args": {"path": "note.txt"}},
        {"tool": "files__read_text_file", "args": {"path": "absent.txt"}},
        {"tool": "files__write_file", "args": {"path": "/etc/agent-mate-was-here", "content": "no"}},
    ]));
    let states = world.operation_states(&id(&task));
    let wanted =
        ["write_file:succeeded", "read_text_file:succeeded", "read_text_file:failed", "write_file:failed"];
    assert_eq!((states.as_slice(), code), (wanted.map(str::to_owned).as_slice(), 0), "{task}");
    let written = fs::read_to_string(workspace(&world, &task).join("note.txt"));
    assert_eq!(written.expect("the file"), "from a task");
    assert!(!Path::new("/etc/agent-mate-was-here").exists());
}

/// README's own example: the folder of the command is what the server works on.
#[test]
fn real_filesystem_server_keeps_to_the_folder_of_its_command() {
    let kit = installed(&["filesystem"]);
    let world = world();
    let notes = world.user().join("notes");
    fs::create_dir(&notes).expect("made");
    fs::write(notes.join("one.txt"), "a note").expect("written");
    let (notes, outside) = (notes.to_str().expect("text"), world.folder().to_str().expect("text"));
    link(&world, "files", &["node", &npm(&kit, "filesystem"), notes]);
    let (task, code) = world.carry_out(&json!([
        {"tool": "files__list_directory", "args": {"path": notes}},
        {"tool": "files__list_directory", "args": {"path": outside}},
    ]));
    let task = id(&task);
    assert_eq!(world.operation_states(&task), ["list_directory:succeeded", "list_directory:failed"]);
    assert_eq!(code, 0);
    // What failed is told in the server's own words, wherever it is looked at.
    let refused = items(&world.ok(&["operation", "list", "--task", &task, "--state", "failed"]));
    let shown = world.ok(&["operation", "show", &id(&refused[0])]);
    let report = world.ok(&["task", "report", &task]);
    for told in [&shown["detail"], &shown["evidence"]["detail"], &report["operations"][1]["detail"]] {
        let told = told.as_str().unwrap_or_default();
        assert!(told.contains("says isError: ") && told.contains("outside allowed directories"), "{told}");
    }
}

#[test]
fn real_memory_server_keeps_its_graph() {
    let kit = installed(&["memory"]);
    let world = world();
    let graph = world.path("graph.jsonl");
    let place = format!("MEMORY_FILE_PATH={}", graph.display());
    let tools = link(&world, "memory", &["/usr/bin/env", &place, "node", &npm(&kit, "memory")]);
    assert!(offers(&tools, "create_entities") && offers(&tools, "read_graph"), "{tools:?}");
    let entity = json!({"name": "Ada", "entityType": "person", "observations": ["writes programs"]});
    let (task, code) = world.carry_out(&json!([
        {"tool": "memory__create_entities", "args": {"entities": [entity]}},
        {"tool": "memory__read_graph", "args": {}},
        {"tool": "memory__create_entities", "args": {"entities": "none"}},
    ]));
    let states = world.operation_states(&id(&task));
    assert_eq!(states, ["create_entities:succeeded", "read_graph:succeeded", "create_entities:denied"]);
    assert_eq!(code, 0, "{task}");
    assert!(fs::read_to_string(graph).expect("the graph").contains("writes programs"));
}

fn git(folder: &Path, words: &[&str]) -> String {
    let done = Command::new("git").arg("-C").arg(folder).args(words).output().expect("git");
    assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).into_owned()
}

#[test]
fn real_git_server_commits() {
    let kit = installed(&["git"]);
    let world = world();
    let repository = world.path("repository");
    fs::create_dir(&repository).expect("made");
    git(&repository, &["init", "-q"]);
    for (name, value) in [("user.name", "Test"), ("user.email", "test@example.invalid")] {
        git(&repository, &["config", name, value]);
    }
    fs::write(repository.join("a.txt"), "a\n").expect("written");
    let place = repository.to_str().expect("text");
    let program = kit.join("git/bin/mcp-server-git");
    world.ok(&["project", "add", "code", "--workspace", place]);
    let tools = link(&world, "git", &[program.to_str().expect("text"), "--repository", place]);
    assert!(offers(&tools, "git_commit"), "{tools:?}");
    world.ok(&["grant", "add", "--project", "code", "--connection", "git", "--tools", "git_*"]);
    let steps = json!([
        {"tool": "git__git_add", "args": {"repo_path": place, "files": ["a.txt"]}},
        {"tool": "git__git_commit", "args": {"repo_path": place, "message": "By a task"}},
        {"tool": "git__git_checkout", "args": {"repo_path": place, "branch_name": "no-such-branch"}},
    ]);
    let task = world.ok(&["task", "add", "--project", "code", "--approve", &crate::harness::stub(&steps)]);
    let (ended, code) = world.wait(&id(&task));
    assert_eq!(code, 0, "{ended}");
    let states = world.operation_states(&id(&task));
    assert_eq!(states, ["git_add:succeeded", "git_commit:succeeded", "git_checkout:failed"]);
    assert_eq!(git(&repository, &["log", "--format=%s"]).trim(), "By a task");
}

#[test]
fn real_everything_server_is_killed_in_a_call() {
    let kit = installed(&["everything"]);
    let world = world();
    let tools = link(&world, "all", &["node", &npm(&kit, "everything"), "stdio"]);
    assert!(offers(&tools, "echo") && offers(&tools, "trigger-long-running-operation"), "{tools:?}");
    let task = world.submit(&json!([
        {"tool": "all__echo", "args": {"message": "hello"}},
        {"tool": "all__trigger-long-running-operation", "args": {"duration": 40, "steps": 400}},
    ]));
    until("the long call", || {
        let states = world.operation_states(&id(&task));
        states.iter().any(|state| state.ends_with("operation:in_flight")).then_some(())
    });
    world.the_process("server-everything").kill();
    let (ended, code) = world.wait(&id(&task));
    assert_eq!(code, 6, "{ended}");
    assert_eq!(
        world.operation_states(&id(&task)),
        ["echo:succeeded", "trigger-long-running-operation:unknown"]
    );
}

/// The server over Streamable HTTP, outside of every session.
struct Remote {
    process: Child,
    url: String,
}

impl Remote {
    fn start(kit: &Path) -> Self {
        let port =
            TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a port").port();
        let mut command = Command::new("node");
        command.arg(npm(kit, "everything")).arg("streamableHttp").env("PORT", port.to_string());
        let mut process = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("node");
        let mut said = BufReader::new(process.stderr.take().expect("piped"));
        let mut line = String::new();
        while !line.contains("listening") {
            line.clear();
            assert_ne!(said.read_line(&mut line).expect("read"), 0, "it ended");
        }
        std::thread::spawn(move || said.lines().for_each(drop));
        Self { process, url: format!("http://127.0.0.1:{port}/mcp") }
    }

    fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        self.kill();
    }
}

#[test]
fn real_everything_server_over_http_is_killed_in_a_call() {
    let kit = installed(&["everything"]);
    let mut remote = Remote::start(&kit);
    let world = world();
    world.ok(&["connection", "add", "all", "--url", &remote.url]);
    assert_eq!(world.ok(&["connection", "check", "all"])["state"], "well");
    world.grant("all", "*");
    let task = world.submit(&json!([
        {"tool": "all__get-sum", "args": {"a": 2, "b": 3}},
        {"tool": "all__trigger-long-running-operation", "args": {"duration": 40, "steps": 400}},
    ]));
    until("the long call", || {
        let states = world.operation_states(&id(&task));
        states.iter().any(|state| state.ends_with("operation:in_flight")).then_some(())
    });
    remote.kill();
    let (ended, code) = world.wait(&id(&task));
    assert_eq!(code, 6, "{ended}");
    let states = world.operation_states(&id(&task));
    assert_eq!(states, ["get-sum:succeeded", "trigger-long-running-operation:unknown"]);
}
