//! `connection import`: what other clients' files name becomes connections, with every value sealed.

use crate::harness::{Output, Store, World, items, program, run};
use serde_json::{Value, json};
use std::fs;

fn canary(which: &str) -> String {
    format!("canary-{which}-{}-{}", "0b9e5d", std::process::id())
}

fn file(world: &World, name: &str, text: &str) -> String {
    let path = world.path(name);
    fs::write(&path, text).expect("written");
    path.to_str().expect("text").to_owned()
}

fn import(world: &World, words: &[&str], env: &[(&str, &str)]) -> Output {
    let mut command = world.command(&["--json", "connection", "import"]);
    command.args(words).envs(env.iter().copied());
    run(command, None)
}

/// `entry:state` of each row.
fn states(output: &Output) -> Vec<String> {
    let text = |row: &Value, field: &str| row[field].as_str().unwrap_or_default().to_owned();
    items(&output.json()).iter().map(|row| format!("{}:{}", text(row, "entry"), text(row, "state"))).collect()
}

fn holds_any(folder: &std::path::Path, text: &str) -> bool {
    fs::read_dir(folder).into_iter().flatten().flatten().any(|entry| {
        let path = entry.path();
        if path.is_dir() {
            return holds_any(&path, text);
        }
        let bytes = fs::read(&path).unwrap_or_default();
        bytes.windows(text.len()).any(|part| part == text.as_bytes())
    })
}

#[test]
fn g09_a_file_of_claude_is_taken_over_and_its_values_are_sealed() {
    let mut world = World::empty(Store::Sqlite);
    let (literal, variable) = (canary("literal"), canary("variable"));
    let log = world.path("effects.log");
    let text = format!(
        r#"{{
          // as people keep it
          "mcpServers": {{
            "Effects": {{ "command": "{}", "args": ["effect-server", "--log", "{}"],
                          "env": {{ "API_KEY": "{literal}", "OTHER": "${{CANARY_VARIABLE}}", "LEVEL": "${{LEVEL:-3}}" }} }},
            "remote": {{ "type": "http", "url": "http://127.0.0.1:9/mcp", "headers": {{ "Authorization": "Bearer ${{env:CANARY_VARIABLE}}" }},
                         "alwaysAllow": ["x"], "timeout": 3 }},
            "old": {{ "type": "sse", "url": "http://127.0.0.1:9/sse" }},
            "off": {{ "command": "x", "disabled": true }},
          }},
        }}"#,
        program(),
        log.display()
    );
    let path = file(&world, "claude.json", &text);
    let done = import(&world, &[&path], &[("CANARY_VARIABLE", &variable)]);
    assert_eq!(done.code, 4, "one entry is refused: {done:?}");
    assert_eq!(states(&done), ["Effects:added", "remote:added", "old:refused", "off:skipped"]);
    let rows = items(&done.json());
    assert_eq!(rows[0]["name"], "effects");
    assert!(
        rows[1]["notes"].to_string().contains("--approve")
            && rows[1]["notes"].to_string().contains("timeout")
    );
    assert!(rows[2]["why"].as_str().is_some_and(|why| why.contains("/mcp")));
    let shown = world.ok(&["connection", "show", "effects"]);
    assert_eq!(shown["secret_env"], json!(["API_KEY", "LEVEL", "OTHER"]));
    assert_eq!(world.ok(&["connection", "check", "effects"])["state"], "well");
    let again = import(&world, &[&path], &[("CANARY_VARIABLE", &variable)]);
    assert_eq!(states(&again), ["Effects:skipped", "remote:skipped", "old:refused", "off:skipped"]);
    let prefixed =
        import(&world, &[&path, "--only", "Effects", "--prefix", "mine-"], &[("CANARY_VARIABLE", "x")]);
    assert_eq!((prefixed.code, items(&prefixed.json())[0]["name"].as_str()), (0, Some("mine-effects")));
    world.kill_serve();
    for canary in [&literal, &variable] {
        assert!(!done.stdout.contains(canary) && !done.stderr.contains(canary));
        assert!(!holds_any(&world.home(), canary), "a file of the home holds {canary}");
    }
}

#[test]
fn a_file_of_vs_code_with_inputs() {
    let world = World::empty(Store::Sqlite);
    let text = r#"{
      "inputs": [{ "type": "promptString", "id": "github-token", "password": true }, { "id": "region", "default": "eu" }],
      "servers": {
        "github": { "type": "http", "url": "http://127.0.0.1:9/mcp", "headers": { "Authorization": "Bearer ${input:github-token}" } },
        "local": { "command": "server", "args": ["--in", "${input:region}"], "cwd": "/tmp", "env": { "T": "${input:github-token}" } }
      }
    }"#;
    let path = file(&world, "mcp.json", text);
    let missing = import(&world, &[&path], &[]);
    assert_eq!(
        (missing.code, states(&missing)),
        (4, vec!["github:refused".to_owned(), "local:refused".to_owned()])
    );
    assert!(missing.stdout.contains("--input github-token=@FILE"), "{missing:?}");
    let token = file(&world, "token", "hunter2\n");
    let given = format!("github-token=@{token}");
    let dry = import(&world, &[&path, "--input", &given, "--dry-run"], &[]);
    assert_eq!(
        (dry.code, states(&dry)),
        (0, vec!["github:would_add".to_owned(), "local:would_add".to_owned()])
    );
    assert!(items(&world.ok(&["connection", "list"])).is_empty(), "nothing was made");
    assert_eq!(import(&world, &[&path, "--input", &given], &[]).code, 0);
    let local = world.ok(&["connection", "show", "local"]);
    assert_eq!(local["command"], json!(["/usr/bin/env", "-C", "/tmp", "server", "--in", "eu"]));
    assert_eq!(local["secret_env"], json!(["T"]));
}

/// What would be kept in clear holds no secret.
#[test]
fn g09_a_secret_in_an_argument_or_an_address_is_refused() {
    let world = World::empty(Store::Sqlite);
    let key = format!("ghp_{}", "a1B2".repeat(9));
    let text = json!({ "mcpServers": {
        "argument": { "command": "server", "args": ["--token", "${CANARY_VARIABLE}"] },
        "written": { "command": "server", "args": ["--token", key] },
        "address": { "url": "http://127.0.0.1:9/mcp?api_key=hunter2" },
        "filled": { "url": "http://127.0.0.1:9/${CANARY_VARIABLE}/mcp" },
        "same": { "command": "server", "args": ["hunter2-hunter2"], "env": { "K": "hunter2-hunter2" } },
        "spoken": { "command": "server", "args": ["hunter2-hunter2"], "env": { "K": "Bearer hunter2-hunter2" } },
        "two_words": { "command": "server", "args": ["--api-key", "hunter2-hunter2"] },
        "within": { "command": "server", "args": ["http://127.0.0.1:9/?region=eu&sig=hunter2"] },
        "query": { "url": "http://127.0.0.1:9/mcp?k=hunter2-hunter2", "headers": { "X-Key": "hunter2-hunter2" } },
        "number": 5,
        "list": ["server"],
        "home": { "command": "${HOME}/bin/server" },
        "nested": { "command": "server", "env": { "A": ["x"] } },
        "strange": { "type": "ws", "url": "ws://127.0.0.1:9" },
        "agent_mate": { "command": "server" },
    } });
    let path = file(&world, "cursor.json", &text.to_string());
    let canary = canary("argument");
    let done = import(&world, &[&path], &[("CANARY_VARIABLE", &canary)]);
    let added: Vec<_> = states(&done).into_iter().filter(|state| state.ends_with(":added")).collect();
    assert_eq!((done.code, added), (4, vec!["home:added".to_owned()]));
    assert!(
        !done.stdout.contains(&canary) && !done.stdout.contains(&key) && !done.stdout.contains("hunter2")
    );
    for bad in ["[1,", "{\"a\": 1}", "[]"] {
        let path = file(&world, "bad.json", bad);
        assert_eq!(import(&world, &[&path], &[]).code, 2, "{bad}");
    }
    assert_eq!(import(&world, &[&path, "--only", "absent"], &[]).code, 2);
}
