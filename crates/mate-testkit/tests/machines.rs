//! Each machine of the model: `decide` over all states and commands makes exactly the moves that the schema holds.

use mate_model::{
    approval::ApprovalStateWord, moves, operation::OperationStateWord, session::SessionStateWord,
    task::TaskStateWord, turn::TurnStateWord, words::EffectClass,
};
use mate_testkit::explorer::{Survey, samples};
use std::collections::BTreeSet;

fn made(surveys: &[Survey]) -> BTreeSet<(&'static str, &'static str)> {
    surveys
        .iter()
        .flat_map(|survey| survey.moves.keys().map(|(from, to)| (survey.states[*from], survey.states[*to])))
        .collect()
}

/// Every state but the final ones has a move out of it, and the final ones have none.
fn exits(survey: &Survey, is_final: impl Fn(&str) -> bool) {
    for (number, word) in survey.states.iter().enumerate() {
        assert_eq!(survey.is_final(number), is_final(word), "{}: {word}", survey.name);
    }
}

fn refused(survey: &Survey, state: &str, command: &str) -> Option<&'static str> {
    let number = survey.states.iter().position(|word| *word == state).unwrap_or(usize::MAX);
    assert!(number < survey.states.len(), "no state {state}");
    let found: Vec<_> = survey
        .refusals
        .iter()
        .filter(|((from, _), labels)| *from == number && labels.contains(command))
        .map(|((_, kind), _)| *kind)
        .collect();
    assert!(found.len() < 2, "{state}, {command}: {found:?}");
    found.first().copied()
}

macro_rules! words_of {
    ($moves:expr) => {
        $moves.iter().map(|(from, to)| (from.as_str(), to.as_str())).collect::<BTreeSet<_>>()
    };
}

#[test]
fn the_tables_of_moves_are_what_decide_does_in_both_directions() {
    assert_eq!(made(&[samples::task()]), words_of!(moves::TASK));
    assert_eq!(made(&[samples::turn()]), words_of!(moves::TURN));
    assert_eq!(made(&[samples::approval()]), words_of!(moves::APPROVAL));
    assert_eq!(made(&[samples::session()]), words_of!(moves::SESSION));
    assert_eq!(made(&[samples::round()]), words_of!(moves::ROUND));
    let all_classes: Vec<_> =
        EffectClass::ALL.iter().map(|class| samples::operation("Operation", *class)).collect();
    assert_eq!(made(&all_classes), words_of!(moves::OPERATION));
}

#[test]
fn every_word_of_a_state_has_its_sample() {
    for survey in samples::surveys() {
        let seen: BTreeSet<usize> = survey
            .moves
            .keys()
            .map(|(from, _)| *from)
            .chain(survey.refusals.keys().map(|(state, _)| *state))
            .collect();
        assert_eq!(seen.len(), survey.states.len(), "{}", survey.name);
    }
}

#[test]
fn final_is_final_and_every_live_state_has_an_exit() {
    let task = |word: &str| word.parse::<TaskStateWord>().unwrap().is_final();
    exits(&samples::task(), task);
    let operation = |word: &str| word.parse::<OperationStateWord>().unwrap().is_final();
    for class in EffectClass::ALL {
        exits(&samples::operation("Operation", *class), operation);
    }
    exits(&samples::turn(), |word| word == TurnStateWord::Ended.as_str());
    exits(&samples::session(), |word| word == SessionStateWord::Closed.as_str());
    exits(&samples::round(), |word| ["continued", "over"].contains(&word));
    let open = [ApprovalStateWord::Open.as_str(), ApprovalStateWord::Allowed.as_str()];
    exits(&samples::approval(), |word| !open.contains(&word));
    for survey in samples::surveys() {
        for (state, kind) in survey.refusals.keys() {
            let says_final = *kind == "final";
            assert_eq!(says_final, survey.is_final(*state), "{}: {}", survey.name, survey.states[*state]);
        }
    }
}

#[test]
fn duplicates_are_refused_as_such() {
    let task = samples::task();
    for (state, command) in [
        ("accepted", "approve"),
        ("running", "approve"),
        ("running", "claim, same epoch"),
        ("stop_requested", "stop"),
        ("stop_requested", "claim, same epoch"),
        ("unknown", "conclude failed"),
    ] {
        assert_eq!(refused(&task, state, command), Some("already"), "{state}, {command}");
    }
    let turn = samples::turn();
    assert_eq!(refused(&turn, "prompted", "prompt"), Some("already"));
    assert_eq!(refused(&turn, "settling", "prompt"), Some("already"));
    assert_eq!(refused(&turn, "settling", "finish: lost"), Some("already"));
    let operation = samples::operation("Operation", EffectClass::Effect);
    assert_eq!(refused(&operation, "in_flight", "admit"), Some("already"));
    assert_eq!(refused(&operation, "awaiting_approval", "await"), Some("already"));
    assert_eq!(refused(&samples::approval(), "allowed", "allow"), Some("already"));
}

#[test]
fn stale_epochs_are_refused_as_such() {
    let task = samples::task();
    for state in ["running", "stop_requested"] {
        assert_eq!(refused(&task, state, "claim, lower epoch"), Some("stale"), "{state}");
        assert_eq!(refused(&task, state, "conclude, lower epoch"), Some("stale"), "{state}");
    }
    let session = samples::session();
    for command in ["release, lower epoch", "release, higher epoch"] {
        assert_eq!(refused(&session, "hosted", command), Some("stale"), "{command}");
        assert_eq!(refused(&session, "idle", command), Some("stale"), "{command}");
    }
}

#[test]
fn g06_stopped_needs_a_request_and_evidence() {
    let task = samples::task();
    for command in ["conclude stopped", "conclude stopped, uncertain"] {
        assert_eq!(refused(&task, "running", command), Some("no evidence"), "{command}");
    }
    let turn = samples::turn();
    for command in ["finish: answered", "finish: lost", "finish: answered with an error"] {
        assert_eq!(refused(&turn, "starting", command), Some("no evidence"), "{command}");
    }
    for command in ["finish: not started", "finish: stopped first"] {
        assert_eq!(refused(&turn, "prompted", command), Some("no evidence"), "{command}");
    }
}

#[test]
fn g05_an_uncertain_call_stays_uncertain_without_evidence() {
    let operation = samples::operation("Operation", EffectClass::Effect);
    for command in ["settle: lost", "settle: not sent", "settle: result", "settle: error"] {
        assert_eq!(refused(&operation, "unknown", command), Some("not now"), "{command}");
    }
    for command in ["resolve: abandoned, by no person", "resolve: succeeded, by what was known before"] {
        assert_eq!(refused(&operation, "unknown", command), Some("no evidence"), "{command}");
    }
}
