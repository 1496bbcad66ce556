//! Rules on what source files may say.

use super::{Source, files, none, rust_files};

const LONGEST_FILE: usize = 600;
const CODE: [&str; 8] = [".rs", ".py", ".sh", ".js", ".mjs", ".css", ".html", ".sql"];

/// Put together here, so that this file does not hold what it looks for.
const FORBIDDEN: [&str; 9] = [
    concat!("registry.npm", "js.org"),
    concat!("files.python", "hosted.org"),
    concat!("py", "pi.org"),
    concat!("index.crates", ".io"),
    concat!("static.crates", ".io"),
    concat!("deb.deb", "ian.org"),
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("/.car", "go/registry"),
];

const SQL: [&str; 12] = [
    "SELECT ",
    "INSERT INTO ",
    "UPDATE ",
    "DELETE FROM ",
    "CREATE TABLE ",
    "CREATE INDEX ",
    "CREATE UNIQUE INDEX ",
    "ALTER TABLE ",
    "DROP TABLE ",
    "PRAGMA ",
    "BEGIN IMMEDIATE",
    "WITH RECURSIVE ",
];

const DRIVERS: [&str; 4] = ["rusqlite::", "libsqlite3_sys::", "tokio_postgres::", "deadpool_postgres::"];

#[test]
fn no_source_file_is_longer_than_600_lines() {
    let long: Vec<String> = files()
        .iter()
        .filter(|source| CODE.iter().any(|end| source.path.ends_with(end)))
        .map(|source| (source.text.lines().count(), &source.path))
        .filter(|(lines, _)| *lines > LONGEST_FILE)
        .map(|(lines, path)| format!("{path}: {lines} lines"))
        .collect();
    none("split these by idea", &long);
}

#[test]
fn sql_and_its_drivers_are_known_to_one_crate() {
    let mut found = Vec::new();
    for source in rust_files().iter().filter(|source| !may_know_sql(&source.path)) {
        for (number, line) in code_lines(source) {
            let starts_sql = |text: &str| SQL.iter().any(|word| text.trim_start().starts_with(word));
            if starts_sql(line)
                || line.split('"').skip(1).any(starts_sql)
                || DRIVERS.iter().any(|driver| line.contains(driver))
            {
                found.push(format!("{}:{number}: {}", source.path, line.trim()));
            }
        }
    }
    none("move these into mate-store", &found);
}

/// Besides the store: what spoils or prepares a database for a test, and the benchmarks' own yardstick.
fn may_know_sql(path: &str) -> bool {
    path.starts_with("crates/mate-store/")
        || path.starts_with("bench/")
        || path.starts_with("crates/mate-testkit/")
        || path.contains("/tests/")
}

#[test]
fn unsafe_code_lives_in_one_module_of_the_runtime() {
    let mut places: Vec<String> = rust_files()
        .iter()
        .filter(|source| {
            code_lines(source).any(|(_, line)| words(line).any(|word| word == concat!("un", "safe")))
        })
        .map(|source| source.path.clone())
        .collect();
    places.retain(|path| !(path.starts_with("crates/mate-runtime/src/") && path.ends_with("/kernel.rs")));
    // A VFS of SQLite's, which only a C interface takes.
    places.retain(|path| path != "crates/mate-engine/tests/power/vfs.rs");
    none("this code belongs in the kernel module of mate-runtime", &places);
}

#[test]
fn nothing_names_a_registry_host_or_a_path_of_a_build_machine() {
    let mut found = Vec::new();
    for source in files().iter().filter(|source| !source.path.ends_with("Cargo.lock")) {
        for (number, line) in source.text.lines().enumerate() {
            if FORBIDDEN.iter().any(|word| names(line, word)) {
                found.push(format!("{}:{}: {}", source.path, number + 1, line.trim()));
            }
        }
    }
    none("these do not belong in the repository", &found);
}

/// A forbidden path counts only where a path starts: `some/wo..rk/` inside another path is fine.
fn names(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !word.starts_with('/') || !before.is_some_and(|c| c.is_alphanumeric() || "_-.}~*".contains(c))
    })
}

/// Lines with their numbers, without comments.
fn code_lines(source: &Source) -> impl Iterator<Item = (usize, &str)> {
    let numbered = source.text.lines().enumerate().map(|(at, line)| (at + 1, line));
    numbered.filter(|(_, line)| !line.trim_start().starts_with("//"))
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_alphanumeric() && c != '_')
}

#[test]
fn the_checks_see_what_they_look_for() {
    assert!(names(concat!("open(\"/wo", "rk/main\")"), concat!("/wo", "rk/")));
    assert!(!names(concat!("target/wo", "rk/main"), concat!("/wo", "rk/")));
    let source = Source { path: String::new(), text: "// one\nlet a = 2;".into() };
    assert_eq!(code_lines(&source).map(|(number, _)| number).collect::<Vec<_>>(), [2]);
}
