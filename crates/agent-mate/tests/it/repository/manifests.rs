//! Rules on crates, dependencies and released files.

use std::fs;

use super::{git, none, read, root};

/// How many crates Cargo.lock may name: what keeps a clean build within minutes. The policy engine (`cedar-policy`) brings 87 of
/// them, of which a quarter are never built: optional parts of what it depends on, and other systems.
/// The dashboard's templates (`maud`) bring three, the schemas of the interface (`utoipa`) two.
const LOCKED_CRATES: usize = 373;

/// Hashes (git's, of the content) and paths of the migrations that a release has shipped.
const RELEASED: &str = "crates/mate-store/migrations/released";

fn crates() -> Vec<String> {
    let folder = fs::read_dir(root().join("crates")).expect("crates/ is a folder");
    let mut names: Vec<String> = folder
        .map(|entry| entry.expect("crates/ can be read").file_name().to_string_lossy().into_owned())
        .filter(|name| root().join("crates").join(name).join("Cargo.toml").exists())
        .collect();
    names.sort();
    names
}

#[test]
fn every_crate_but_the_runtime_forbids_unsafe_code() {
    let mut missing = Vec::new();
    for name in crates().iter().filter(|name| *name != "mate-runtime") {
        for file in ["src/lib.rs", "src/main.rs"] {
            let path = root().join("crates").join(name).join(file);
            let Ok(text) = fs::read_to_string(&path) else { continue };
            if !text.contains("#![forbid(unsafe_code)]") {
                missing.push(format!("crates/{name}/{file}"));
            }
        }
    }
    none("add #![forbid(unsafe_code)] to these", &missing);
}

#[test]
fn every_crate_takes_lints_and_dependencies_from_the_workspace() {
    let mut found = Vec::new();
    for name in crates() {
        let manifest = read(&format!("crates/{name}/Cargo.toml"));
        let mut section = "";
        let mut lints = false;
        for line in manifest.lines().map(str::trim) {
            if line.starts_with('[') {
                section = line;
            } else if section == "[lints]" && line == "workspace = true" {
                lints = true;
            } else if section.contains("dependencies")
                && line.contains('=')
                && !line.starts_with('#')
                && !line.contains("workspace = true")
            {
                found.push(format!("crates/{name}: {line}"));
            }
        }
        if !lints {
            found.push(format!("crates/{name}: no [lints] workspace = true"));
        }
    }
    none("take these from the root Cargo.toml", &found);
}

#[test]
fn dependencies_stay_within_their_budget() {
    let locked = read("Cargo.lock").lines().filter(|line| *line == "[[package]]").count();
    assert!(
        locked <= LOCKED_CRATES,
        "Cargo.lock names {locked} crates, and {LOCKED_CRATES} are allowed: `cargo tree -i CRATE` shows who brings one"
    );
}

#[test]
fn released_migrations_are_never_edited() {
    let mut changed = Vec::new();
    for line in read(RELEASED).lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let Some((hash, path)) = line.split_once(' ') else {
            panic!("{RELEASED}: {line:?} is not `HASH PATH`")
        };
        if !root().join(path).exists() || git(&["hash-object", "--", path]).trim() != hash {
            changed.push(path.to_owned());
        }
    }
    none("a released migration is fixed by a new one; put these back", &changed);
}

#[test]
fn migrations_come_in_pairs() {
    let list = |engine: &str| {
        let folder = format!("crates/mate-store/migrations/{engine}");
        let listed = git(&["ls-files", "--cached", "--others", "--exclude-standard", "--", &folder]);
        let mut names: Vec<String> = listed
            .lines()
            .filter_map(|path| path.strip_prefix(&format!("{folder}/")))
            .map(str::to_owned)
            .collect();
        names.sort();
        names
    };
    assert_eq!(
        list("sqlite"),
        list("postgres"),
        "each migration has the same number and name for both engines"
    );
}
