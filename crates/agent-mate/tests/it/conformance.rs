//! The conformance suite of MCP against a session's endpoint, before a server that is written with an SDK.
//!
//! `docs/conformance.md` is what this finds. `AGENT_MATE_WRITE_DOCS=1` writes it anew.

mod client;

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

pub(crate) const SESSIONS: &str = "[session]\nlist_seconds = 0\nsettle_seconds = 5\n\
                        [stop]\ncancel_seconds = 1\nclose_seconds = 1\nterm_seconds = 1\n";

/// The revisions, how many checks the server must pass by itself, and how many behind the bridge.
const REVISIONS: [(&str, usize, usize); 2] = [("2025-11-25", 84, 81), ("2026-07-28", 196, 190)];

/// Why a check is not passed.
const REASONS: [(&str, &str); 1] = [(
    "tools-call-sampling",
    "Agent Mate lends tools no model: a server's wish to sample is refused, unless it comes in the words of 2026-07-28",
)];

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
pub(crate) struct Kit {
    process: Child,
    output: BufReader<std::process::ChildStdout>,
}

impl Kit {
    pub(crate) fn start(file: &str, arguments: &[&Path]) -> Self {
        let mut command = node();
        command.arg(kit(file)).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().expect("node starts");
        let output = BufReader::new(process.stdout.take().expect("piped"));
        Self { process, output }
    }

    pub(crate) fn url(&mut self) -> String {
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

/// What the suite found of one scenario.
#[derive(Default)]
pub(crate) struct Checks {
    passed: usize,
    /// What it only warns of: a SHOULD, within a time that it gives, so that one run has it and the next has not.
    warned: usize,
    failed: Vec<String>,
}

impl Checks {
    /// As the page has it, whatever the machine's speed.
    fn held(&self) -> usize {
        self.passed + self.warned
    }
}

/// What the suite found, by scenario.
type Found = BTreeMap<String, Checks>;

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
        if let Some(name) = name.strip_prefix("server-") {
            take(&mut found, name, &folder.path());
        }
    }
    found
}

/// Takes the checks of one scenario in. Its folder's name ends with the time, as `-2026-01-01T00-00-00-000Z`.
fn take(found: &mut Found, name: &str, folder: &Path) {
    let scenario = &name[..name.len() - 25];
    let checks = fs::read_to_string(folder.join("checks.json")).expect("checks");
    let checks: Vec<Value> = serde_json::from_str(&checks).expect("checks");
    let Checks { passed, warned, failed } = found.entry(scenario.to_owned()).or_default();
    for check in checks {
        match check["status"].as_str() {
            Some("SUCCESS") => *passed += 1,
            Some("WARNING") => {
                eprintln!("{scenario}: {} is warned of: {}", check["id"], check["errorMessage"]);
                *warned += 1;
            }
            Some("FAILURE") => {
                eprintln!("{scenario}: {}: {}", check["id"], check["errorMessage"]);
                failed.push(check["id"].as_str().expect("an id").to_owned());
            }
            _ => {}
        }
    }
}

/// One revision: what was found at the server by itself, and behind the bridge.
struct Compared {
    revision: &'static str,
    alone: Found,
    behind: Found,
}

fn passed(found: &Found) -> usize {
    found.values().map(|checks| checks.passed).sum()
}

fn held(found: &Found) -> usize {
    found.values().map(Checks::held).sum()
}

fn failed(found: &Found) -> usize {
    found.values().map(|checks| checks.failed.len()).sum()
}

fn page(results: &[Compared]) -> String {
    let mut page = String::from(include_str!("conformance.head.md"));
    for Compared { revision, alone, behind } in results {
        write!(
            page,
            "\n## {revision}\n\nBy itself the server passes {} of {} checks. Behind the bridge {} pass, {} do not.\n\n",
            held(alone),
            held(alone) + failed(alone),
            held(behind),
            failed(behind),
        )
        .expect("text");
        page.push_str("| scenario | passed alone | passed behind the bridge | not passed, and why |\n|---|---|---|---|\n");
        for (scenario, checks) in behind {
            let (passed, failed) = (checks.held(), &checks.failed);
            let why = if failed.is_empty() {
                String::new()
            } else {
                format!("{}: {}", failed.join(", "), reason(scenario))
            };
            let by_itself = alone.get(scenario).map_or(0, Checks::held);
            writeln!(page, "| {scenario} | {by_itself} | {passed} | {why} |").expect("text");
        }
    }
    page
}

fn reason(scenario: &str) -> &'static str {
    let known = REASONS.iter().find(|(prefix, _)| scenario.starts_with(prefix));
    known.map_or("NO REASON", |(_, reason)| reason)
}

/// The suite gives some answers half a second, which a busy machine may not have: what comes out otherwise than the page
/// says is asked again.
const RUNS: u32 = 3;

/// Both revisions at a server of its own and at a session of its own: what one run has left undone is no other's.
fn compared() -> Vec<Compared> {
    let mut server = Kit::start("fixture.cjs", &[]);
    let url = server.url();
    let world = World::settled(Store::Sqlite, SESSIONS);
    let door = world.path("door");
    let mut entrance = Kit::start("door.cjs", &[&door]);
    let runtime = ["runtime", "add", "held", "--", program(), "bench-runtime", door.to_str().expect("text")];
    world.ok(&runtime);
    world.ok(&["connection", "add", "fixture", "--url", &url, "--bare", "--workspace-root"]);
    world.grant("fixture", "*");
    crate::harness::until("the door", || door.exists().then_some(()));
    world.ok(&["task", "add", "--project", "default", "--approve", "hold"]);
    let endpoint = entrance.url();
    let find = |at: &str, revision, kind: &str| {
        let into = world.path(&format!("{kind}-{revision}"));
        fs::create_dir(&into).expect("made");
        suite(at, revision, &into)
    };
    let compare = |revision| Compared {
        revision,
        alone: find(&url, revision, "alone"),
        behind: find(&endpoint, revision, "behind"),
    };
    REVISIONS.iter().map(|(revision, _, _)| compare(revision)).collect()
}

#[test]
fn conformance_is_what_the_page_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/conformance.md");
    let told = fs::read_to_string(&path).unwrap_or_default();
    let mut run = 1;
    let results = loop {
        let results = compared();
        if page(&results) == told || run == RUNS {
            break results;
        }
        run += 1;
    };
    let page = page(&results);
    for ((revision, all, wanted), Compared { alone, behind, .. }) in REVISIONS.iter().zip(&results) {
        let (by_itself, through) = (passed(alone), passed(behind));
        assert!(by_itself >= *all && failed(alone) == 0, "{revision}: {by_itself} of {all} alone\n{page}");
        assert!(through >= *wanted, "{revision}: {through} of {wanted} checks pass\n{page}");
    }
    assert!(!page.contains("NO REASON"), "checks do not pass for a reason that nobody has given\n{page}");
    if std::env::var_os("AGENT_MATE_WRITE_DOCS").is_some() {
        fs::write(&path, &page).expect("written");
    }
    let told = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(told, page, "docs/conformance.md is not what the suite finds");
}
