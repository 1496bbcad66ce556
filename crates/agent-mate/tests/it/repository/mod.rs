//! What can be checked of the house rules by reading the repository itself.

mod faults;
mod manifests;
mod sources;
mod units;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// A file of the repository: its path from the root, with `/`, and its text.
struct Source {
    path: String,
    text: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs git in the repository and gives its output. A failure is the test's failure.
fn git(args: &[&str]) -> String {
    let output = Command::new("git").arg("-C").arg(root()).args(args).output().expect("git is installed");
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("git speaks UTF-8 here")
}

/// Every text file that is, or is about to be, under version control.
fn files() -> Vec<Source> {
    let listed =
        git(&["-c", "core.quotePath=false", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let mut sources = Vec::new();
    for path in listed.split('\0').filter(|path| !path.is_empty()) {
        // A file that was deleted and not yet committed is still listed, and a binary one has no lines.
        let Ok(bytes) = fs::read(root().join(path)) else { continue };
        let Ok(text) = String::from_utf8(bytes) else { continue };
        sources.push(Source { path: path.to_owned(), text });
    }
    assert!(sources.len() > 50, "the repository was not found: {} files", sources.len());
    sources
}

fn rust_files() -> Vec<Source> {
    files().into_iter().filter(|source| source.path.ends_with(".rs")).collect()
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Fails with all findings at once.
fn none(rule: &str, findings: &[String]) {
    assert!(findings.is_empty(), "{rule}:\n  {}", findings.join("\n  "));
}
