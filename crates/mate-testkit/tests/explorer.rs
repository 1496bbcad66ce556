//! The explorer over the protocol as it is, and over the protocol with one rule broken on purpose.
//!
//! `docs/state-machines.md` says what it finds; `UPDATE=1` writes that page anew.

use mate_testkit::explorer::{Flaw, Report, Stores, document, explorations, explore, flawed};
use std::{fs, path::PathBuf};

fn page_path() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/state-machines.md"))
}

fn updates() -> bool {
    std::env::var_os("UPDATE").is_some_and(|value| value == "1")
}

/// While the page is being written anew, only its writer looks at it.
fn page_says(part: &str) {
    let page = fs::read_to_string(page_path()).unwrap_or_default();
    assert!(
        updates() || page.contains(part),
        "docs/state-machines.md is behind; write it anew with `UPDATE=1 cargo test -p mate-testkit --test explorer`. \
         It should say:\n{part}"
    );
}

fn holds(name: &str) -> Report {
    let known = explorations();
    let number = known.iter().position(|(known, _)| *known == name).unwrap_or(usize::MAX);
    let config = known[number].1;
    let report = explore(config);
    let wrong = report.violation.as_ref().map(ToString::to_string);
    assert!(wrong.is_none(), "{}", wrong.unwrap_or_default());
    assert!(report.late_sends <= (config.stores == Stores::Shared), "a frozen worker lost its kernel's lock");
    assert!(document::uncertain_cuts_are_unknown(&report) || config.full || name.contains("a read"));
    page_says(&document::exploration_line(name, &report));
    report
}

macro_rules! explored {
    ($($test:ident: $name:literal,)+) => {
        $(#[test]
        fn $test() {
            holds($name);
        })+

        #[test]
        fn every_exploration_has_its_test() {
            let tested = [$($name),+];
            for (name, _) in explorations() {
                assert!(tested.contains(&name), "{name}");
            }
        }
    };
}

explored! {
    g03_g04_g05_g06_hold_embedded_with_crashes: "embedded: two effects, three crashes",
    g03_g04_g05_g06_hold_embedded_with_a_frozen_worker: "embedded: two effects, a crash and a freeze",
    g03_g06_g07_hold_embedded_with_all_wishes: "embedded: two effects, all wishes and answers, a crash",
    g03_g05_g07_hold_embedded_with_leave: "embedded: a read and an effect with leave, all wishes and answers, a crash",
    g05_g11_g12_hold_embedded_with_evidence: "embedded: two effects, evidence from people and late answers, a crash",
    g05_g11_g12_hold_shared_with_evidence: "shared: an effect and a read, evidence from people and late answers, a freeze",
    g03_g04_g05_g06_hold_shared_with_a_stale_worker: "shared: two effects, a crash and a freeze",
    g03_g06_g07_hold_shared_with_all_wishes: "shared: two effects, all wishes and answers, a freeze",
    g03_g05_hold_shared_with_a_read_and_leave: "shared: a read and an effect with leave, a freeze",
    g03_g05_hold_shared_with_an_effect_and_leave: "shared: an effect and an effect with leave, a freeze",
}

#[test]
fn g11_recovery_reaches_from_every_cut_the_end_that_the_contract_names() {
    let (_, config) = explorations()[0];
    let report = explore(config);
    assert!(report.cuts.len() > 40, "too few cuts were seen: {}", report.cuts.len());
    assert!(document::uncertain_cuts_are_unknown(&report));
    page_says(&document::cuts_chapter(&report));
}

#[test]
fn each_flaw_is_noticed_and_called_by_its_name() {
    for flaw in Flaw::ALL {
        let (config, expected) = flawed(*flaw);
        let violation = explore(config).violation.unwrap_or_else(|| panic!("{flaw:?} was not noticed"));
        assert!(violation.what == expected, "{flaw:?} was noticed as something else: {violation}");
        assert!(!violation.trace.is_empty());
        page_says(&document::flaw_line(*flaw, &violation));
    }
}

#[test]
fn the_page_shows_the_machines_as_they_are() {
    if updates() {
        fs::create_dir_all(page_path().parent().unwrap()).unwrap();
        fs::write(page_path(), document::whole_page()).unwrap();
    }
    page_says(&document::machines_chapter());
}
