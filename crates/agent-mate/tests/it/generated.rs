//! The interface against its own description: requests made up by schemathesis, for every route, in a home that has one of
//! everything.

use crate::harness::{Store, World, id, items, until};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// All requests come from one account, as fast as they are answered.
const SETTINGS: &str = "[session]\nlist_seconds = 3\nsettle_seconds = 2\n\
                        [stop]\ncancel_seconds = 1\nclose_seconds = 1\nterm_seconds = 1\n\
                        [serve]\nrequests_per_second = 1000000\nrequest_burst = 1000000\n\
                        failures_per_second = 1000000\nfailure_burst = 1000000\n";

/// Requests made up for each route, besides those that go along the edges of what it takes.
const EXAMPLES: &str = "12";

/// Real names and ids, by the part of an address that they stand for.
type Real = BTreeMap<&'static str, Vec<String>>;

/// Routes that are asked about one thing only, with its name or id.
type Spare = Vec<(&'static str, String)>;

fn kit(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/kit/schemathesis").join(file)
}

fn program() -> PathBuf {
    let agents = std::env::var_os("ACP_AGENTS").expect("ACP_AGENTS: run this by ./test");
    PathBuf::from(agents).join("schemathesis/bin/schemathesis")
}

#[test]
fn the_interface_is_as_it_is_described_whatever_is_asked() {
    let world = World::settled(Store::Sqlite, SETTINGS).with_demo();
    let (real, spare) = furnish(&world);
    let config = world.path("schemathesis.toml");
    fs::write(&config, settings(&real, &spare)).expect("written");
    let found = made_up(&world, &config);
    assert!(found.0, "what it found:\n{}", found.1);
    // It is still the same home, and it still works.
    assert_eq!(world.ok(&["account", "list"])["items"].as_array().map(Vec::is_empty), Some(false));
    let log = fs::read_to_string(world.path("serve.log")).expect("a log");
    assert!(!log.contains("panicked"), "{log}");
}

/// One of everything, and spare ones for what takes things away. The latter stand under the route that takes them.
fn furnish(world: &World) -> (Real, Spare) {
    let unknown = unknown(world);
    let done =
        world.carry_out(&json!([{"tool": "demo__big", "args": {"bytes": 200_000}}, {"text": "done"}])).0;
    world.upstream("asks", &["--linger", "300"]);
    let asks = ["grant", "add", "--project", "default", "--connection", "asks", "--tools", "*"];
    let grants: Vec<_> =
        (0..2).map(|_| id(&world.ok(&[asks.as_slice(), &["--approve", "always"]].concat()))).collect();
    let waiting: Vec<_> = (0..3).map(|_| waiting(world)).collect();
    let asked = until("three calls to wait for leave", || {
        Some(items(&world.ok(&["approval", "list"]))).filter(|open| open.len() == 3)
    });
    let approval = asked.iter().find(|one| one["task"] == waiting[0]["id"]).map(id).expect("the first one's");
    let propose = || id(&world.ok(&["task", "add", "--project", "default", "only proposed"]));
    let proposed: Vec<_> = (0..3).map(|_| propose()).collect();
    let policy = world.path("policy.cedar");
    fs::write(&policy, "forbid (principal, action, resource) when { false };").expect("written");
    let policy = format!("@{}", policy.display());
    for words in [
        ["policy", "add", "house", &policy].as_slice(),
        &["policy", "add", "spare", &policy],
        &["account", "add", "member"],
        &["account", "add", "spare"],
        &["project", "member", "add", "default", "member", "--role", "operator"],
        &["project", "add", "spare"],
        &["connection", "add", "spare", "--", "true"],
        &["runtime", "add", "spare", "--", "true"],
    ] {
        world.ok(words);
    }
    let token = id(&world.ok(&["token", "add", "--account", "spare"]));
    let artifacts: Vec<_> =
        items(&world.ok(&["artifact", "list", "--project", "default"])).iter().map(id).collect();
    let ended = [&done, &unknown];
    let session = |task: &Value| task["session"].as_str().expect("a session").to_owned();
    let real = Real::from([
        ("task", vec![id(&done), id(&unknown), id(&waiting[0]), proposed[2].clone()]),
        (
            "operation",
            ended.iter().flat_map(|task| world.operations(&id(task))).map(|one| id(&one)).collect(),
        ),
        ("session", vec![session(&done), session(&waiting[0])]),
        ("approval", vec![approval]),
        ("grant", vec![grants[0].clone()]),
        ("token", vec![token]),
        ("project", vec!["default".to_owned(), world.project.clone()]),
        ("account", vec!["member".to_owned()]),
        ("runtime", vec!["scripted".to_owned()]),
        ("connection", vec!["demo".to_owned()]),
        ("policy", vec!["house".to_owned()]),
        ("artifact", vec![artifacts[0].clone()]),
    ]);
    let spare = |name: &str| name.to_owned();
    let spare = vec![
        ("POST /api/v1/projects/{project}/archive", spare("spare")),
        ("POST /api/v1/accounts/{account}/disable", spare("spare")),
        ("DELETE /api/v1/connections/{connection}", spare("spare")),
        ("DELETE /api/v1/runtimes/{runtime}", spare("spare")),
        ("DELETE /api/v1/policies/{policy}", spare("spare")),
        ("POST /api/v1/grants/{grant}/revoke", grants[1].clone()),
        ("POST /api/v1/artifacts/{artifact}/remove", artifacts[1].clone()),
        ("POST /api/v1/sessions/{session}/close", session(&unknown)),
        ("POST /api/v1/tasks/{task}/approve", proposed[0].clone()),
        ("POST /api/v1/tasks/{task}/reject", proposed[1].clone()),
        ("POST /api/v1/tasks/{task}/stop", id(&waiting[1])),
        ("POST /api/v1/tasks/{task}/kill", id(&waiting[2])),
        // These connect. Only what runs on this machine is connected to, whatever addresses were made up before.
        ("POST /api/v1/connections/{connection}/check", spare("demo")),
        ("GET /api/v1/connections/{connection}/tools", spare("demo")),
        ("POST /api/v1/connections/{connection}/authorize", spare("demo")),
        ("POST /api/v1/connections/{connection}/authorized", spare("demo")),
    ];
    (real, spare)
}

/// A task with a call that waits for a person's leave.
fn waiting(world: &World) -> Value {
    world.submit(&json!([{"tool": "asks__note", "args": {"text": "y"}}, {"text": "done"}]))
}

/// A task with a call whose outcome is not known, and with a result that became an artifact.
fn unknown(world: &World) -> Value {
    let task = world.submit(&json!([
        {"tool": "demo__big", "args": {"bytes": 200_000}},
        {"tool": "demo__slow", "args": {"seconds": 30, "key": "k"}},
        {"text": "done"},
    ]));
    world.until_begun("slow", 1);
    world.the_process("effect-server").kill();
    assert_eq!(world.wait(&id(&task)).1, 6);
    task
}

/// How it is to be asked.
fn settings(real: &Real, spare: &Spare) -> String {
    let mut out = String::from("continue-on-failure = true\nmax-stream-events = 1\n[parameters]\n");
    for part in real.keys() {
        out.push_str(&format!("\"path.{part}\" = {{ dictionary = \"{part}\", probability = 0.7 }}\n"));
    }
    for (part, values) in real {
        out.push_str(&format!("[dictionaries.{part}]\nvalues = {values:?}\n"));
    }
    // What a schema cannot say is refused with 422: a name that is not there, two fields of which only one may be given.
    out.push_str(
        "[checks.positive_data_acceptance]\n\
         expected-statuses = [\"2xx\", \"401\", \"403\", \"404\", \"409\", \"422\", \"429\"]\n",
    );
    // What answers have told is not asked about: the caller's own token and account are among it, and once they are
    // revoked and disabled nothing else would be asked about at all.
    for phase in ["coverage", "fuzzing"] {
        out.push_str(&format!("[phases.{phase}]\nextra-data-sources = {{ responses = false }}\n"));
    }
    // What takes away takes what is spare, so that the rest is asked about things that are there.
    for (route, value) in spare {
        let part = route.split(['{', '}']).nth(1).expect("a variable part");
        out.push_str(&format!(
            "[[operations]]\ninclude-name = \"{route}\"\nparameters = {{ \"path.{part}\" = \"{value}\" }}\n"
        ));
    }
    out
}

/// Whether all was well, and what was said.
fn made_up(world: &World, config: &Path) -> (bool, String) {
    let url = &world.serve.as_ref().expect("a coordinator").url;
    let token = world.own_token();
    let mut command = Command::new(program());
    command.arg("--config-file").arg(config).args(["run", &format!("{url}/api/v1/openapi.json")]);
    command.args(["--header", &format!("Authorization: Bearer {token}"), "--checks", "all", "--mode", "all"]);
    command.args(["--phases", "examples,coverage,fuzzing", "--max-examples", EXAMPLES, "--workers", "1"]);
    // The same requests each time; another seed makes up others.
    let seed = std::env::var("AGENT_MATE_SEED").unwrap_or_else(|_| "1".to_owned());
    command.args(["--seed", &seed, "--no-shrink", "--request-timeout", "20", "--output-truncate", "false"]);
    command.env("SCHEMATHESIS_HOOKS", "hooks").env("PYTHONPATH", kit("")).env("PYTHONDONTWRITEBYTECODE", "1");
    command.current_dir(world.folder()).stdin(Stdio::null());
    let output = command.output().expect("schemathesis runs");
    let said = String::from_utf8_lossy(&output.stdout).replace(&token, "TOKEN");
    (output.status.success(), said + &String::from_utf8_lossy(&output.stderr))
}
