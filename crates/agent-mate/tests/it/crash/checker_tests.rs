//! The checker sees each kind of wrong: a good history, and what spoils it.

use super::{
    checker::{Rule, check},
    history::{Disturbance, Effect, History, Op, Promise, Revocation, TaskRow, Told},
};
use mate_model::{operation::OperationStateWord as State, task::TaskStateWord, words::EffectClass};

fn op(id: &str, state: State) -> Op {
    Op {
        id: id.to_owned(),
        task: "t1".to_owned(),
        tool: "note".to_owned(),
        class: EffectClass::Effect,
        state,
        intended_at: Some(10),
        recorded_at: Some(40),
        resolved: false,
        has_result: state == State::Succeeded,
    }
}

fn effect(begin: bool, operation: &str, at: i64) -> Effect {
    let (tool, arguments) = ("note".to_owned(), format!("{{\"text\":\"{operation}\"}}"));
    Effect { begin, operation: operation.to_owned(), tool, arguments, at }
}

fn told(operation: &str) -> Told {
    Told { tool: "demo__note".to_owned(), arguments: format!("{{\"text\":\"{operation}\"}}"), ok: true }
}

/// One call succeeded and was told; one lost its answer when the worker was killed at 30.
fn good() -> History {
    History {
        operations: vec![op("o1", State::Succeeded), op("o2", State::Unknown)],
        effects: vec![effect(true, "o1", 20), effect(false, "o1", 21), effect(true, "o2", 22)],
        tasks: vec![TaskRow {
            id: "t1".to_owned(),
            state: TaskStateWord::Unknown,
            instructions: "do".to_owned(),
            own_activity: false,
        }],
        told: vec![told("o1")],
        prompts: vec!["do".to_owned()],
        acknowledged: vec![Promise::Task("t1".to_owned()), Promise::Approved("t1".to_owned())],
        disturbances: vec![Disturbance {
            from: 30,
            until: 31,
            excuses: true,
            settled: vec!["o1".to_owned()],
            what: "the worker was killed".to_owned(),
        }],
        ..History::default()
    }
}

/// Exactly this rule is broken by the change.
fn breaks(rule: Rule, change: impl FnOnce(&mut History)) {
    let mut history = good();
    change(&mut history);
    let found = check(&history);
    assert!(!found.is_empty(), "{rule:?} was not noticed");
    assert!(found.iter().all(|one| one.rule == rule), "{rule:?}: {found:?}");
}

#[test]
fn a_good_history_is_good() {
    let found = check(&good());
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn g03_an_effect_without_its_intent_is_seen() {
    breaks(Rule::IntentBeforeEffect, |history| history.effects.push(effect(true, "o9", 25)));
    breaks(Rule::IntentBeforeEffect, |history| history.effects[0].at = 9);
    breaks(Rule::IntentBeforeEffect, |history| {
        history.operations.push(Op { intended_at: None, ..op("o3", State::Abandoned) });
        history.effects.push(effect(true, "o3", 25));
    });
}

#[test]
fn g04_a_second_effect_is_seen() {
    breaks(Rule::AtMostOnce, |history| {
        let again = Effect { arguments: "{\"other\":1}".to_owned(), ..effect(true, "o1", 25) };
        history.effects.push(again);
    });
    breaks(Rule::AtMostOnce, |history| {
        history.operations.push(op("o3", State::Succeeded));
        let arguments = effect(true, "o1", 0).arguments;
        history.effects.push(Effect { arguments: arguments.clone(), ..effect(true, "o3", 25) });
        history.effects.push(Effect { arguments, ..effect(false, "o3", 26) });
    });
    breaks(Rule::AtMostOnce, |history| history.prompts.push("do".to_owned()));
}

#[test]
fn g05_a_success_without_its_result_is_seen() {
    breaks(Rule::SuccessHasItsResult, |history| history.operations[0].has_result = false);
    breaks(Rule::SuccessHasItsResult, |history| {
        history.effects.remove(1);
    });
}

#[test]
fn g05_a_failure_of_what_happened_is_seen() {
    for state in [State::Failed, State::NotSent, State::Denied] {
        breaks(Rule::FailureDidNotHappen, |history| {
            history.operations.push(op("o3", state));
            history.effects.push(effect(true, "o3", 25));
        });
    }
}

#[test]
fn g05_an_unknown_that_has_proof_is_seen() {
    breaks(Rule::UnknownHasACause, |history| history.disturbances.clear());
    breaks(Rule::UnknownHasACause, |history| history.disturbances[0].excuses = false);
    // It was settled before the kill.
    breaks(Rule::UnknownHasACause, |history| history.operations[1].recorded_at = Some(29));
    // It was intended after the kill.
    breaks(Rule::UnknownHasACause, |history| {
        history.operations[1].intended_at = Some(32);
        history.effects[2].at = 33;
    });
    breaks(Rule::UnknownHasACause, |history| history.disturbances[0].settled.push("o2".to_owned()));
}

#[test]
fn g05_a_task_that_disagrees_with_its_operations_is_seen() {
    breaks(Rule::TaskAgreesWithItsOperations, |history| history.tasks[0].state = TaskStateWord::Completed);
    breaks(Rule::TaskAgreesWithItsOperations, |history| history.operations[1].state = State::Abandoned);
}

#[test]
fn g07_a_call_that_was_revoked_before_its_intent_is_seen() {
    breaks(Rule::RevokedIsNotSent, |history| history.revocations.push(Revocation { from: 5, until: 15 }));
    let mut history = good();
    history.revocations.extend([Revocation { from: 1, until: 10 }, Revocation { from: 11, until: 90 }]);
    assert!(check(&history).is_empty(), "what was admitted before stays, what was granted again goes");
}

#[test]
fn g11_what_is_left_open_is_seen() {
    for state in [State::InFlight, State::Requested, State::AwaitingApproval] {
        breaks(Rule::Classified, |history| history.operations.push(op("o3", state)));
    }
    for state in [TaskStateWord::Running, TaskStateWord::Accepted, TaskStateWord::StopRequested] {
        breaks(Rule::Classified, |history| history.tasks[0].state = state);
    }
    breaks(Rule::NothingLives, |history| history.living.push("a worker".to_owned()));
}

#[test]
fn g12_what_was_promised_and_is_lost_is_seen() {
    breaks(Rule::NothingAcknowledgedIsLost, |history| {
        history.acknowledged.push(Promise::Task("t2".to_owned()));
    });
    breaks(Rule::NothingAcknowledgedIsLost, |history| {
        history.operations.pop();
        history.effects.pop();
        history.tasks[0].state = TaskStateWord::Proposed;
    });
    breaks(Rule::NothingAcknowledgedIsLost, |history| {
        history.tasks.push(TaskRow {
            id: "t2".to_owned(),
            state: TaskStateWord::Proposed,
            instructions: String::new(),
            own_activity: false,
        });
        history.acknowledged.push(Promise::StopAsked("t2".to_owned()));
    });
}

#[test]
fn g10_g12_a_log_that_does_not_hold_and_an_answer_that_is_not_on_record_are_seen() {
    breaks(Rule::LogsHold, |history| history.broken_logs.push("event 7 is missing".to_owned()));
    breaks(Rule::LogsHold, |history| history.corrupt.push("tasks, row 3".to_owned()));
    breaks(Rule::ToldIsRecorded, |history| history.told.push(told("o2")));
    breaks(Rule::ToldIsRecorded, |history| history.told.push(told("o9")));
}
