//! The canary: a marked secret goes into every input that there is, and then everything that is kept, shown or passed on
//! is searched for it. Inputs and outputs are named in the tables below; whoever adds a way in or out adds a line.

use crate::harness::{Store, World, id, on_both_stores, program, run, stub};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use std::{fs, path::Path};

on_both_stores!(g09_a_canary_in_every_input_is_in_no_output);

/// Put together at run time, so that no binary holds it.
fn canary() -> String {
    format!("canary-{}-{}-pWq7", "9c41d7e02ab6", std::process::id())
}

/// What goes in, and where. The scripted runtime puts the secret in the place of `{canary}`: nothing that is written
/// down on purpose (the instructions) holds it.
fn inputs() -> Value {
    let across = |cut: usize| format!("{}{{canary}} after", "x".repeat(cut - 8));
    let update = |kind: &str, more: Value| {
        let mut update = json!({"sessionUpdate": kind});
        for (name, value) in more.as_object().expect("an object") {
            update[name] = value.clone();
        }
        json!({"raw": update})
    };
    let image = json!({"type": "image", "data": "iVBORw0KGgo="});
    json!([
        // arguments: recorded as a shape, with one field as it is
        {"tool": "demo__note", "args": {"text": "a note with {canary}", "{canary}": "a name"}},
        // results: short, long, structured, resources with their names, links, and no text
        {"tool": "demo__give", "args": {"content": [
            {"type": "text", "text": "short {canary}"},
            {"type": "text", "text": format!("{} {{canary}} {}", "long ".repeat(8_000), "more ".repeat(8_000))},
            {"type": "resource", "resource": {"uri": "file:///{canary}/x{canary}.txt", "text": "text {canary}"}},
            {"type": "resource_link", "uri": "https://u:{canary}@host/{canary}", "name": "{canary}", "mimeType": "{canary}"},
            image,
        ], "structured": {"key": "{canary}"}}},
        // errors of tools and of the protocol
        {"tool": "demo__fail", "args": {"text": "{canary}"}},
        {"tool": "demo__no_such_{canary}", "args": {}, "unlisted": true},
        {"tool": "demo__echo", "args": {"text": "{canary}"}, "call_id": "call-{canary}"},
        // words of the agent, whole and in pieces; its thoughts, its plan, its report
        {"text": "says {canary} and goes on", "chunks": 12, "gap_ms": 5},
        {"thought": "thinks {canary}"},
        {"plan": ["plans {canary}", across(1_000), across(2_000), across(4_096)]},
        {"tool": "agent_mate__report", "args": {"status": "done", "summary": "reports {canary}"}},
        // what the runtime shows of its own tools, also across the places where texts are cut
        update("tool_call", json!({"toolCallId": "t{canary}", "title": across(1_000), "kind": "{canary}", "status": "completed",
            "locations": [{"path": "/w/{canary}"}, {"path": across(1_000)}]})),
        update("tool_call_update", json!({"toolCallId": across(1_000), "title": across(2_000), "status": "completed"})),
        update("current_mode_update", json!({"currentModeId": across(1_000)})),
        update("brand_new_{canary}", json!({})),
        {"permission": "own tool {canary}"},
        // its standard output and error, and a file's name
        {"raw_line": "garbage {canary}"},
        {"stderr": "complains {canary}"},
        {"stderr": across(500)},
        {"write": {"path": "file {canary}.txt", "text": "holds {canary}"}},
        // the error with which the turn ends
        {"error": across(2_000)},
    ])
}

/// The forms in which it is looked for.
pub(crate) fn forms(canary: &str) -> Vec<String> {
    let hex = |text: &str| text.bytes().map(|byte| format!("{byte:02x}")).collect::<String>();
    // The beginning alone is half a secret too.
    let half = &canary[..16];
    vec![
        half.to_owned(),
        hex(half),
        STANDARD.encode(half).trim_end_matches('=')[..20].to_owned(),
        canary[14..].to_owned(),
    ]
}

fn g09_a_canary_in_every_input_is_in_no_output(store: Store) {
    let canary = canary();
    let mut world = World::empty(store);
    let file = world.path("canary");
    fs::write(&file, &canary).expect("written");
    let fill = format!("SCRIPTED_CANARY={}", file.display());
    world.ok(&["runtime", "add", "scripted", "--", "/usr/bin/env", &fill, program(), "scripted-runtime"]);
    let log = world.path("effects.log");
    // The environment of an upstream, which tells it on standard error.
    let careless =
        format!("echo \"my key is $API_KEY\" >&2; exec {} effect-server --log {}", program(), log.display());
    let mut add = world.command(&[
        "--json",
        "connection",
        "add",
        "demo",
        "--secret-env",
        "API_KEY",
        "--allow-field",
        "note.text",
        "--",
        "/bin/sh",
        "-c",
        &careless,
    ]);
    add.env("API_KEY", &canary);
    let added = run(add, None);
    assert_eq!(added.code, 0, "{added:?}");
    world.grant("demo", "*");
    // Nobody is there to be asked about its own tools.
    let deny = ["--on-approval", "deny"];
    let words = ["task", "add", "--project", "default", "--approve", deny[0], deny[1], &stub(&inputs())];
    let task = world.ok(&words);
    let (session, task) = (task["session"].as_str().expect("a session").to_owned(), id(&task));
    let (ended, code) = world.wait(&task);
    assert_eq!(code, 5, "it ends with an error of the runtime: {ended}");
    let published = world.cli(&["artifact", "publish", "--task", &task, &format!("file {canary}.txt")]);
    assert_eq!(published.code, 0, "{published:?}");

    // Outputs. Answers over HTTP, as the command line has them:
    let mut outputs: Vec<(String, Vec<u8>)> =
        vec![("answer: artifact publish".to_owned(), published.stdout.into_bytes())];
    let mut ask = |words: &[&str]| {
        let shown = world.ok(words);
        outputs.push((format!("answer: {words:?}"), shown.to_string().into_bytes()));
        shown
    };
    let listed = ask(&["operation", "list", "--task", &task]);
    assert!(crate::harness::items(&listed).len() >= 5, "{listed}");
    for operation in crate::harness::items(&listed) {
        ask(&["operation", "show", &id(&operation)]);
    }
    let artifacts = ask(&["artifact", "list", "--task", &task]);
    let events = ask(&["task", "events", &task, "--limit", "500"]);
    ask(&["task", "show", &task]);
    ask(&["task", "report", &task]);
    ask(&["connection", "show", "demo"]);
    ask(&["session", "show", &session]);
    ask(&["project", "show", "default"]);
    for artifact in crate::harness::items(&artifacts).iter().filter(|one| one["state"] == "kept") {
        outputs.push((format!("content of {artifact}"), world.content(&id(artifact))));
    }
    // It went in: what stands in its place is there, in every kind of record.
    for kind in [
        "agent.message",
        "agent.thought",
        "agent.plan",
        "agent.reported",
        "tool.call",
        "artifact.recorded",
        "diagnostic",
        "workspace.listed",
    ] {
        let events = crate::harness::items(&events);
        let told =
            events.iter().filter(|event| event["type"] == kind).map(Value::to_string).collect::<String>();
        assert!(told.contains("[redacted]"), "{kind} does not tell that something was hidden: {told:.2000}");
    }
    // Arguments of every process there is:
    for entry in fs::read_dir("/proc").expect("/proc").flatten() {
        outputs.push((
            format!("arguments of {:?}", entry.file_name()),
            fs::read(entry.path().join("cmdline")).unwrap_or_default(),
        ));
    }
    // The tables of a shared database:
    outputs.extend(world.database_url().map(|url| ("the database".to_owned(), dump(url))));
    world.kill_serve();
    // Every file of the home (ledger, journals, their logs of writes, workers' logs, contents), and the coordinator's log:
    let workspace = world.session_folder(&session).join("workspace");
    let mut files = Vec::new();
    all_files(&world.home(), &mut files);
    for path in files.into_iter().filter(|path| !path.starts_with(&workspace)) {
        outputs.push((format!("file {}", path.display()), fs::read(&path).unwrap_or_default()));
    }
    outputs.push(("the coordinator's log".to_owned(), fs::read(world.path("serve.log")).unwrap_or_default()));

    let mut found = Vec::new();
    for (name, bytes) in &outputs {
        for form in forms(&canary) {
            if let Some(at) = bytes.windows(form.len()).position(|part| part == form.as_bytes()) {
                let around = &bytes[at.saturating_sub(120)..(at + 60).min(bytes.len())];
                found.push(format!("{name}: ...{}...", String::from_utf8_lossy(around)));
            }
        }
    }
    assert!(
        found.is_empty(),
        "{} of {} outputs hold the canary:\n{}",
        found.len(),
        outputs.len(),
        found.join("\n")
    );
}

/// Every row of every table.
pub(crate) fn dump(url: &str) -> Vec<u8> {
    use mate_store::{Database as _, PostgresDatabase, postgres::PostgresOptions};
    const ALL: &str =
        "SELECT query_to_xml(format('SELECT * FROM %I', table_name), true, false, '')::text AS rows
        FROM information_schema.tables WHERE table_schema = 'public'";
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let rows = runtime.block_on(async {
        let database = PostgresDatabase::open(url, PostgresOptions::default()).await.expect("it opens");
        database.fetch(ALL, Vec::new()).await.expect("its tables are read")
    });
    rows.iter().flat_map(|row| row.text("rows").expect("text").as_bytes().to_vec()).collect()
}

pub(crate) fn all_files(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type().expect("a kind") {
            kind if kind.is_dir() => all_files(&entry.path(), found),
            kind if kind.is_file() => found.push(entry.path()),
            _ => {}
        }
    }
}
