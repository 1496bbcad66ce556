//! No secret is written down, shown, or passed where others see it.

use crate::harness::{Store, World, id, program, run};
use serde_json::json;
use std::{fs, path::Path};

/// Put together at run time, so that no binary holds it.
fn canary() -> String {
    format!("canary-{}-{}", "5f0c1e77b2", std::process::id())
}

#[test]
fn g09_a_connections_secret_is_nowhere_in_clear() {
    let canary = canary();
    let mut world = World::empty(Store::Sqlite);
    world.scripted("scripted", &[]);
    let log = world.path("effects.log");
    // It tells its secret on standard error, as careless programs do.
    let careless =
        format!("echo \"my key is $API_KEY\" >&2; exec {} effect-server --log {}", program(), log.display());
    let mut add = world.command(&[
        "--json",
        "connection",
        "add",
        "demo",
        "--secret-env",
        "API_KEY",
        "--",
        "/bin/sh",
        "-c",
        &careless,
    ]);
    add.env("API_KEY", &canary);
    let added = run(add, None);
    assert_eq!(added.code, 0, "{added:?}");
    assert!(!added.stdout.contains(&canary) && !added.stderr.contains(&canary));
    world.grant("demo", "*");
    let task = id(&world.submit(&json!([{"tool": "slow", "args": {"seconds": 2}}, {"tool": "note", "args": {"text": "private-words"}}])));
    world.until_begun("slow", 1);
    let upstream = world.the_process("effect-server");
    assert!(
        holds(Path::new(&format!("/proc/{}/environ", upstream.pid)), &canary),
        "the upstream has its secret"
    );
    let runtime = world.the_process("scripted-runtime");
    assert!(!holds(Path::new(&format!("/proc/{}/environ", runtime.pid)), &canary), "the runtime has it not");
    for entry in fs::read_dir("/proc").expect("/proc").flatten() {
        assert!(
            !holds(&entry.path().join("cmdline"), &canary),
            "in the arguments of {:?}",
            entry.file_name()
        );
    }
    assert_eq!(world.wait(&task).1, 0);
    for words in [
        &["connection", "show", "demo"][..],
        &["connection", "list"],
        &["task", "report", &task],
        &["operation", "list", "--task", &task],
        &["task", "events", &task],
    ] {
        let shown = world.ok(words).to_string();
        assert!(!shown.contains(&canary) && !shown.contains("my key is canary"), "{words:?}: {shown}");
    }
    let told = world.events(&task).iter().any(|event| event["data"].to_string().contains("my key is"));
    let told = told || holds_any(&world.home(), "my key is");
    assert!(told, "what it said is recorded, without the secret");
    world.kill_serve();
    assert!(!holds_any(&world.home(), &canary), "a file of the home holds the secret");
    assert!(!holds(&world.path("serve.log"), &canary));
}

/// A server whose only tool fails, and says its key.
const TELLTALE: &str = r#"while read -r line; do
    id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\)[,}].*/\1/p')
    case "$line" in
        *'"method":"initialize"'*) said='"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}';;
        *'"method":"tools/list"'*) said='"result":{"tools":[{"name":"fail","inputSchema":{"type":"object"}}]}';;
        *'"method":"tools/call"'*) said='"result":{"isError":true,"content":[{"type":"text","text":"the key '"$API_KEY"' is refused:"},{"type":"text","text":"ask the owner"}]}';;
        *'"id"'*) said='"error":{"code":-32601,"message":"no"}';;
        *) continue;;
    esac
    printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$said"
done"#;

#[test]
fn g09_the_words_of_a_failed_call_are_kept_without_the_secret() {
    let canary = canary();
    let world = World::empty(Store::Sqlite);
    world.scripted("scripted", &[]);
    let mut add = world.command(&["--json", "connection", "add", "demo", "--secret-env", "API_KEY"]);
    add.args(["--", "/bin/sh", "-c", TELLTALE]).env("API_KEY", &canary);
    assert_eq!(run(add, None).code, 0);
    world.grant("demo", "*");
    let task = id(&world.carry_out(&json!([{"tool": "fail", "args": {}}])).0);
    let operation = id(&world.operations(&task)[0]);
    let report = world.ok(&["task", "report", &task]);
    assert_eq!(report["operations"][0]["state"], "failed", "{report}");
    let words = "the upstream's result says isError: the key [redacted] is refused: ask the owner";
    assert_eq!(report["operations"][0]["detail"], words);
    assert_eq!(world.ok(&["operation", "show", &operation])["evidence"]["detail"], words);
    assert!(world.events(&task).iter().any(|event| event["data"]["detail"] == words));
    let files = all_files(&world.home());
    assert!(!files.iter().any(|file| holds(file, &canary)));
}

#[test]
fn g09_tokens_are_not_kept_in_clear() {
    let world = World::new(Store::Sqlite);
    let token = world.ok(&["token", "add", "--project", "default"]);
    let secret = token["token"].as_str().expect("a secret");
    let owner = fs::read_to_string(world.home().join("token")).expect("the owner's token");
    for secret in [secret, owner.trim()] {
        let listed = world.ok(&["token", "list"]).to_string();
        assert!(!listed.contains(secret));
        let files = all_files(&world.home());
        let found: Vec<_> = files.iter().filter(|file| holds(file, secret)).collect();
        let allowed = if secret == owner.trim() { vec![world.home().join("token")] } else { Vec::new() };
        assert_eq!(found, allowed.iter().collect::<Vec<_>>());
    }
    use std::os::unix::fs::PermissionsExt as _;
    for name in ["token", "key", "ledger.db"] {
        let mode = fs::metadata(world.home().join(name)).expect("there").permissions().mode();
        assert_eq!(mode & 0o077, 0, "{name} can be read by others");
    }
}

#[test]
fn g09_arguments_are_recorded_as_a_shape() {
    let world = World::new(Store::Sqlite);
    let (task, code) = world.carry_out(&json!([{"tool": "note", "args": {"text": "w\u{f6}rtlich-geheim"}}]));
    assert_eq!(code, 0);
    let shown = world.operations(&id(&task));
    assert!(!shown[0].to_string().contains("geheim"), "{shown:?}");
    assert_eq!(shown[0]["state"], "succeeded");
    for event in world.events(&id(&task)) {
        let about = event["type"].as_str().unwrap_or_default();
        // The agent says itself what it wrote; the record of the call does not.
        let free = about == "agent.message";
        assert!(free || !event.to_string().contains("geheim"), "{event}");
    }
}

fn holds(file: &Path, text: &str) -> bool {
    let bytes = fs::read(file).unwrap_or_default();
    bytes.windows(text.len()).any(|part| part == text.as_bytes())
}

fn holds_any(folder: &Path, text: &str) -> bool {
    all_files(folder).iter().any(|file| holds(file, text))
}

fn all_files(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let kind = entry.file_type().expect("a kind");
        if kind.is_dir() {
            files.extend(all_files(&entry.path()));
        } else if kind.is_file() {
            files.push(entry.path());
        }
    }
    files
}
