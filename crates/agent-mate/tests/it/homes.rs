//! Homes in odd places, and the way into them.

use crate::harness::{Store, World, id, program, run};
use serde_json::json;
use std::{fs, os::unix::fs::PermissionsExt, path::Path, process::Command};

/// The exit code of a command with another home than the world's.
fn code_at(home: &Path, words: &[&str]) -> i32 {
    let mut command = Command::new(program());
    command.arg("--home").arg(home).args(words).env_remove("AGENT_MATE_HOME").env_remove("AGENT_MATE_URL");
    run(command, None).code
}

#[test]
fn a_home_whose_path_is_longer_than_a_socket_may_have_works_like_any_other() {
    let world = World::at(Store::Sqlite, &"long-".repeat(40));
    // This runtime reaches the bridge through the session's own socket.
    world.scripted("scripted", &["--no-http"]);
    world.upstream("demo", &[]);
    world.grant("demo", "*");
    let (ended, code) =
        world.carry_out(&json!([{"tool": "demo__note", "args": {"text": "x"}}, {"text": "done"}]));
    assert_eq!((ended["state"].as_str(), code), (Some("completed"), 0), "{ended}");
    assert_eq!(world.count("begin", "note"), 1);
}

#[test]
fn settings_are_where_such_things_are_kept_or_in_the_home_that_is_given() {
    let folder = tempfile::Builder::new().prefix("am-").tempdir_in("/tmp").expect("a folder");
    let config = folder.path().join("config").join("agent-mate");
    fs::create_dir_all(&config).expect("made");
    fs::write(config.join("config.toml"), "[serve]\nlisten = \"127.0.0.1:7999\"\n").expect("written");
    let init = |home: Option<&Path>| {
        let mut command = Command::new(program());
        command.env_clear().env("HOME", folder.path()).env("XDG_CONFIG_HOME", folder.path().join("config"));
        command.env("XDG_DATA_HOME", folder.path().join("data")).args(["--json", "init"]);
        command.args(home.map(|home| format!("--home={}", home.display())));
        let output = run(command, None);
        assert_eq!(output.code, 0, "{output:?}");
        output.json()
    };
    let usual = init(None);
    assert_eq!(usual["url"], "http://127.0.0.1:7999");
    assert_eq!(usual["home"], json!(folder.path().join("data").join("agent-mate")));
    assert_eq!(init(Some(&folder.path().join("given")))["url"], "http://127.0.0.1:7717");
    // A worker reads what its coordinator has read.
    let world = World::new(Store::Sqlite);
    let task = world.submit(&json!([{"hang": true}]));
    let worker = world.the_process("session-worker ");
    let config = format!("--config {}", world.home().join("config.toml").display());
    assert!(worker.command.contains(&config), "{worker:?}");
    world.ok(&["task", "kill", &id(&task)]);
}

#[test]
fn an_empty_folder_that_was_open_to_others_becomes_a_closed_home() {
    let world = World::empty(Store::Sqlite);
    let folder = world.path("made-before");
    fs::create_dir(&folder).expect("made");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).expect("set");
    assert_eq!(code_at(&folder, &["init"]), 0);
    let mode = fs::metadata(&folder).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let full = world.path("full");
    fs::create_dir(&full).expect("made");
    fs::write(full.join("mine"), "x").expect("written");
    fs::set_permissions(&full, fs::Permissions::from_mode(0o755)).expect("set");
    assert_ne!(code_at(&full, &["init"]), 0, "what others may enter and use is left as it is");
}

#[test]
fn a_second_coordinator_and_a_home_that_is_not_set_up_are_refused() {
    let world = World::empty(Store::Sqlite);
    assert_eq!(world.cli(&["serve", "--listen", "127.0.0.1:0"]).code, 4);
    assert_eq!(code_at(&world.path("nowhere"), &["serve", "--listen", "127.0.0.1:0"]), 4);
}

#[test]
fn the_last_token_of_an_administrator_cannot_be_revoked() {
    let world = World::empty(Store::Sqlite);
    let tokens = world.ok(&["token", "list"]);
    let first = id(&tokens["items"][0]);
    let refused = world.cli(&["token", "revoke", &first]);
    assert_eq!((refused.code, refused.error_code().as_str()), (4, "last_token"));
    // One that ends is no way in that lasts: it can go, and does not let the last one go.
    let found = world.cli(&["init", "--recover"]);
    assert_eq!((found.code, found.error_code().as_str()), (4, "not_lost"), "{found:?}");
    let ends = world.ok(&["token", "add", "--expires", "30d"]);
    let refused = world.cli(&["token", "revoke", &first]);
    assert_eq!((refused.code, refused.error_code().as_str()), (4, "last_token"));
    world.ok(&["account", "add", "second", "--admin"]);
    let second = world.ok(&["token", "add", "--account", "second", "--expires", "30d"]);
    let mut disable = world.command(&["--json", "account", "disable", "owner"]);
    disable.env("AGENT_MATE_TOKEN", second["token"].as_str().expect("a secret"));
    let refused = run(disable, None);
    assert_eq!((refused.code, refused.error_code().as_str()), (4, "last_administrator"));
    world.ok(&["token", "revoke", &id(&ends)]);
    let other = world.ok(&["token", "add"]);
    world.ok(&["token", "revoke", &id(&other)]);
    world.ok(&["project", "list"]);
}

/// A database that is not there, and one that is empty, are told by `doctor`, and at the start.
#[test]
fn a_database_that_cannot_be_used_is_told() {
    let mut world = World::empty(Store::Postgres);
    world.serve = None;
    let url = world.database_url().expect("a database").to_owned();
    let (config, empty) = (world.home().join("config.toml"), mate_testkit::postgres::TestDatabase::fresh());
    let settings = fs::read_to_string(&config).expect("settings");
    let database = |world: &World| {
        let found = world.cli(&["doctor"]).json();
        let checks = found["checks"].as_array().expect("checks").clone();
        checks.into_iter().find(|check| check["name"] == "database").expect("the check")
    };
    assert_eq!(database(&world)["ok"], true);
    for (other, told, refused) in [
        (format!("{url}_is_not_there"), "create the database", 1),
        (empty.url.clone(), "`agent-mate init` sets it up", 4),
    ] {
        fs::write(&config, settings.replace(&url, &other)).expect("written");
        let found = database(&world);
        assert!(found["ok"] == false && found["detail"].to_string().contains(told), "{found}");
        let serve = world.cli(&["serve", "--listen", "127.0.0.1:0"]);
        assert_eq!(serve.code, refused, "{serve:?}");
        assert_eq!(serve.stdout.matches("is not available").count(), usize::from(refused == 1), "{serve:?}");
    }
}

/// How a runtime is launched can be said; what would keep a secret in clear is refused.
#[test]
fn a_runtimes_launch_is_set_and_a_missing_program_is_told() {
    let world = World::empty(Store::Sqlite);
    let add = ["runtime", "add", "mine", "--env", "A=1", "--pass-env", "B_KEY", "--own-tools", "off"];
    let rest = ["--mode", "plan", "--auth-method", "key", "--", "no-such-program-of-agent-mate"];
    let made = world.ok(&[add.as_slice(), &rest].concat());
    assert!(made["notices"][0].as_str().unwrap_or_default().contains("there is no program"), "{made}");
    let launch = &world.ok(&["runtime", "show", "mine"])["registration"];
    let wanted = json!([{"A": "1"}, ["B_KEY"], "off", "plan", "key"]);
    let kept = ["env", "pass_env", "own_tools", "mode", "auth_method"].map(|field| launch[field].clone());
    assert_eq!(json!(kept), wanted, "{launch}");
    let made = world.ok(&["runtime", "add", "there", "--", "/bin/true"]);
    assert_eq!(made["notices"], json!([]));
    let secret = format!("A=ghp_{}", "a1B2".repeat(9));
    for words in [["--env", &secret], ["--env", "1A=x"], ["--own-tools", "maybe"], ["--mode", ""]] {
        let words = [&["runtime", "add", "other"], words.as_slice(), &["--", "/bin/true"]].concat();
        assert_eq!(world.cli(&words).code, 2, "{words:?}");
    }
}
