//! The conformance suite of MCP against a session's endpoint, before a server that is written with an SDK.
//!
//! `docs/conformance.md` is what this finds. `AGENT_MATE_WRITE_DOCS=1` writes it anew.

use crate::harness::{Store, World, program};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

const SESSIONS: &str = "[session]\nlist_seconds = 0\nsettle_seconds = 5\n\
                        [stop]\ncancel_seconds = 1\nclose_seconds = 1\nterm_seconds = 1\n";

/// The revisions, and how many checks must pass of those that the server by itself passes.
const REVISIONS: [(&str, usize); 2] = [("2025-11-25", 80), ("2026-07-28", 161)];

/// Why a check is not passed.
const REASONS: [(&str, &str); 4] = [
    (
        "tools-call-sampling",
        "Agent Mate lends tools no model: a server's wish to sample is refused, unless it comes in the words of 2026-07-28",
    ),
    ("tasks-", "an extension that the SDK of the server behind the bridge does not have"),
    (
        "http-custom-header-server-validation",
        "no tool of the server behind the bridge wants its arguments in headers",
    ),
    (
        "server-sse-polling",
        "the server behind the bridge has no tool that breaks its stream off; the bridge itself resumes none, an answer that is lost is kept for the call made again",
    ),
];

fn kit(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/kit/conformance").join(file)
}

fn agents() -> PathBuf {
    let agents = std::env::var_os("ACP_AGENTS").expect("ACP_AGENTS: run this by ./test");
    PathBuf::from(agents)
}

fn node() -> Command {
    let platforms = fs::read_dir(agents().join("node22/node_modules")).expect("node22 is installed");
    let found = platforms.filter_map(Result::ok).map(|entry| entry.path().join("bin/node"));
    let mut command =
        Command::new(found.into_iter().find(|path| path.is_file()).expect("node22 is installed"));
    command.env("MODULES", agents().join("conformance")).env_remove("NODE_OPTIONS");
    command
}

/// A program of the kit that says where it is, and goes when its input ends.
struct Kit {
    process: Child,
    output: BufReader<std::process::ChildStdout>,
}

impl Kit {
    fn start(file: &str, arguments: &[&Path]) -> Self {
        let mut command = node();
        command.arg(kit(file)).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().expect("node starts");
        let output = BufReader::new(process.stdout.take().expect("piped"));
        Self { process, output }
    }

    fn url(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("read");
        let said: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line:?}: {error}"));
        said["url"].as_str().expect("an address").to_owned()
    }
}

impl Drop for Kit {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// What the suite found: for each scenario, the checks that passed and those that did not.
type Found = BTreeMap<String, (usize, Vec<String>)>;

fn suite(url: &str, revision: &str, into: &Path) -> Found {
    let mut command = node();
    command.arg(agents().join("conformance/node_modules/@modelcontextprotocol/conformance/dist/index.js"));
    command.args(["server", "--url", url, "--requirements", revision, "-o"]).arg(into);
    command.current_dir(into).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // Its own verdict says no more than the checks do.
    command.status().expect("the suite runs");
    let mut found = Found::new();
    for folder in fs::read_dir(into).expect("results").filter_map(Result::ok) {
        let name = folder.file_name().into_string().expect("text");
        let Some(name) = name.strip_prefix("server-") else { continue };
        // The time is at the end, as `-2026-01-01T00-00-00-000Z`.
        let scenario = &name[..name.len() - 25];
        let checks = fs::read_to_string(folder.path().join("checks.json")).expect("checks");
        let checks: Vec<Value> = serde_json::from_str(&checks).expect("checks");
        let (passed, failed) = found.entry(scenario.to_owned()).or_default();
        for check in checks {
            match check["status"].as_str() {
                Some("SUCCESS") => *passed += 1,
                Some("FAILURE") => failed.push(check["id"].as_str().expect("an id").to_owned()),
                _ => {}
            }
        }
    }
    found
}

fn page(results: &[(&str, Found)]) -> String {
    let mut page = String::from(include_str!("conformance.head.md"));
    for (revision, found) in results {
        let passed: usize = found.values().map(|(passed, _)| passed).sum();
        let failed: usize = found.values().map(|(_, failed)| failed.len()).sum();
        write!(page, "\n## {revision}\n\n{passed} checks pass, {failed} do not.\n\n").expect("text");
        page.push_str("| scenario | checks passed | not passed, and why |\n|---|---|---|\n");
        for (scenario, (passed, failed)) in found {
            let why = if failed.is_empty() {
                String::new()
            } else {
                format!("{}: {}", failed.join(", "), reason(scenario))
            };
            writeln!(page, "| {scenario} | {passed} | {why} |").expect("text");
        }
    }
    page
}

fn reason(scenario: &str) -> &'static str {
    let known = REASONS.iter().find(|(prefix, _)| scenario.starts_with(prefix));
    known.unwrap_or_else(|| panic!("{scenario} has checks that do not pass, and no reason")).1
}

#[test]
fn conformance_is_what_the_page_says() {
    let mut server = Kit::start("fixture.cjs", &[]);
    let url = server.url();
    let world = World::settled(Store::Sqlite, SESSIONS);
    let door = world.path("door");
    let mut entrance = Kit::start("door.cjs", &[&door]);
    let runtime = ["runtime", "add", "held", "--", program(), "bench-runtime", door.to_str().expect("text")];
    world.ok(&runtime);
    world.ok(&["connection", "add", "fixture", "--url", &url, "--bare"]);
    world.grant("fixture", "*");
    crate::harness::until("the door", || door.exists().then_some(()));
    world.ok(&["task", "add", "--project", "default", "--approve", "hold"]);
    let endpoint = entrance.url();
    let mut results = Vec::new();
    for (revision, _) in REVISIONS {
        let into = world.path(revision);
        fs::create_dir(&into).expect("made");
        results.push((revision, suite(&endpoint, revision, &into)));
    }
    let page = page(&results);
    for ((revision, wanted), (_, found)) in REVISIONS.iter().zip(&results) {
        let passed: usize = found.values().map(|(passed, _)| passed).sum();
        assert!(passed >= *wanted, "{revision}: {passed} of {wanted} checks pass\n{page}");
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/conformance.md");
    if std::env::var_os("AGENT_MATE_WRITE_DOCS").is_some() {
        fs::write(&path, &page).expect("written");
    }
    let told = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(told, page, "docs/conformance.md is not what the suite finds");
}
