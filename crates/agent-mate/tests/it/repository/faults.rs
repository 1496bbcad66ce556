//! Fault points are in what the tests run, and in nothing that is released.

use super::{none, read, root, rust_files};
use crate::harness::program;
use aho_corasick::AhoCorasick;
use mate_fault::{COMPILED_IN, POINTS};
use std::{collections::BTreeSet, fs};

#[test]
fn the_program_has_fault_points_exactly_when_they_are_asked_for() {
    let program = fs::read(program()).expect("the program can be read");
    let names = AhoCorasick::new(POINTS.iter().map(|point| point.name)).expect("a few short words");
    // One name may be the beginning of another.
    let found: BTreeSet<&str> =
        names.find_overlapping_iter(&program).map(|found| POINTS[found.pattern()].name).collect();
    if COMPILED_IN {
        assert_eq!(
            found.len(),
            POINTS.len(),
            "the program was built with its points, and has only {found:?}"
        );
    } else {
        assert!(found.is_empty(), "the program was built without points, and has {found:?}");
    }
}

#[test]
fn only_the_feature_for_tests_turns_fault_points_on() {
    let mut found = Vec::new();
    for entry in fs::read_dir(root().join("crates")).expect("crates/ is a folder") {
        let name = entry.expect("crates/ can be read").file_name().to_string_lossy().into_owned();
        let manifest = read(&format!("crates/{name}/Cargo.toml"));
        for line in manifest.lines().filter(|line| !line.trim_start().starts_with('#')) {
            let known = line.starts_with("faults = [");
            if !known && (line.contains("mate-fault/points") || line.starts_with("default ")) {
                found.push(format!("crates/{name}: {line}"));
            }
        }
    }
    none("these would build the points in", &found);
    let workspace = read("Cargo.toml");
    assert!(workspace.contains("mate-fault = { path = \"crates/mate-fault\" }\n"), "without features");
    assert!(read("test").contains("BUILD=(--locked --workspace --features agent-mate/faults)"));
}

#[test]
fn every_listed_fault_point_stands_somewhere_in_the_code() {
    let sources: Vec<_> = rust_files()
        .into_iter()
        .filter(|source| source.path.contains("/src/") && !source.path.starts_with("crates/mate-fault/"))
        .collect();
    let stands = |name: &str| {
        let (one, other) = (format!("point!(\"{name}\")"), format!("point_async!(\"{name}\")"));
        sources.iter().any(|source| source.text.contains(&one) || source.text.contains(&other))
    };
    let missing: Vec<String> =
        POINTS.iter().map(|point| point.name).filter(|name| !stands(name)).map(str::to_owned).collect();
    none("these points are listed and stand nowhere", &missing);
}
