//! The suite's servers as connections: each scenario has a home of its own, a session, and a runtime that uses what the
//! server offers (`tests/kit/conformance/client.cjs`).
//!
//! `docs/conformance-client.md` is what this finds. `AGENT_MATE_WRITE_DOCS=1` writes it anew.

use super::{Found, agents, failed, held, kit, node, take};
use crate::harness::program;
use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Stdio,
};

const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];

/// Why a scenario's checks are not all passed.
const REASONS: [(&str, &str); 2] = [
    (
        "auth/scope-step-up",
        "Agent Mate asks for no more rights in the middle of a session: the call is refused by the server and `unknown`, and a \
         person authorises the connection again with `--scope`",
    ),
    (
        "http-custom-headers",
        "the suite gives `null` for an argument that the tool's schema wants as a boolean; arguments are checked against the \
         schema before anything is sent",
    ),
];

/// Scenarios of extensions that Agent Mate does not speak, and of what no revision requires.
const NOT_REQUIRED: [&str; 8] = [
    "auth/client-credentials-jwt",
    "auth/client-credentials-basic",
    "auth/enterprise-managed-authorization",
    "auth/dpop",
    "auth/dpop-nonce",
    "auth/wif-jwt-bearer",
    "json-schema-2020-12-preservation",
    "sep-2640-",
];

/// A busy machine may be late for what the suite gives a time: what comes out otherwise than the page says is asked again.
const RUNS: u32 = 3;

fn suite(revision: &str, world: &Path) -> Found {
    let (into, homes) = (world.join("results"), world.join("homes"));
    fs::create_dir_all(&into).expect("made");
    fs::create_dir_all(&homes).expect("made");
    let mut command = node();
    let client = [
        command.get_program().to_str().expect("text"),
        kit("client.cjs").to_str().expect("text"),
        program(),
        homes.to_str().expect("text"),
    ]
    .join(" ");
    command.arg(agents().join("conformance/node_modules/@modelcontextprotocol/conformance/dist/index.js"));
    command.args(["client", "--command", &client, "--requirements", revision, "--timeout", "120000", "-o"]);
    command.arg(&into).current_dir(&into).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().expect("the suite runs");
    let mut found = Found::new();
    gather(&into, "", &mut found);
    found
}

/// Scenarios with a `/` in their name are in folders below.
fn gather(folder: &Path, before: &str, found: &mut Found) {
    for entry in fs::read_dir(folder).expect("results").filter_map(Result::ok) {
        let name = format!("{before}{}", entry.file_name().into_string().expect("text"));
        if NOT_REQUIRED.iter().any(|left| name.starts_with(left)) {
            continue;
        }
        if entry.path().join("checks.json").is_file() {
            take(found, &name, &entry.path());
        } else if entry.path().is_dir() {
            gather(&entry.path(), &format!("{name}/"), found);
        }
    }
}

fn page(results: &[(&str, Found)]) -> String {
    let mut page = String::from(include_str!("client.head.md"));
    for (revision, found) in results {
        let scenarios = found.len();
        write!(
            page,
            "\n## {revision}\n\n{scenarios} scenarios; of their checks {} pass, {} do not.\n\n",
            held(found),
            failed(found)
        )
        .expect("text");
        page.push_str("| scenario | passed | not passed, and why |\n|---|---|---|\n");
        for (scenario, checks) in found {
            let (passed, failed) = (checks.held(), &checks.failed);
            let reason =
                REASONS.iter().find(|(name, _)| name == scenario).map_or("NO REASON", |(_, why)| why);
            let why =
                if failed.is_empty() { String::new() } else { format!("{}: {reason}", failed.join(", ")) };
            writeln!(page, "| {scenario} | {passed} | {why} |").expect("text");
        }
    }
    page
}

#[test]
fn conformance_of_the_client_is_what_the_page_says() {
    let world = tempfile::Builder::new().prefix("am-").tempdir_in("/tmp").expect("a folder");
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/conformance-client.md");
    let told = fs::read_to_string(&path).unwrap_or_default();
    let mut run = 1;
    let page = loop {
        let find = |revision| (revision, suite(revision, &world.path().join(format!("{revision}-{run}"))));
        let page = page(&REVISIONS.map(find));
        if page == told || run == RUNS {
            break page;
        }
        run += 1;
    };
    assert!(!page.contains("NO REASON"), "checks do not pass for a reason that nobody has given\n{page}");
    if std::env::var_os("AGENT_MATE_WRITE_DOCS").is_some() {
        fs::write(&path, &page).expect("written");
    }
    let told = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(told, page, "docs/conformance-client.md is not what the suite finds");
}
