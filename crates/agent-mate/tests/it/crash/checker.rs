//! The judge of a history: every rule looks at the whole of it, and says each thing that is wrong.

use super::history::{Disturbance, History, Op, Promise, Revocation, is_classified};
use mate_model::{operation::OperationStateWord as State, task::TaskStateWord, words::EffectClass};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

/// What must hold of every history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rule {
    /// No effect without a durable intent before it.
    IntentBeforeEffect,
    /// No effect twice, and no prompt.
    AtMostOnce,
    /// No `succeeded` without its result, and without the effect being complete.
    SuccessHasItsResult,
    /// No `failed` or `not_sent` for what happened.
    FailureDidNotHappen,
    /// Every task has an end or waits for evidence, and nothing of it is open.
    Classified,
    /// Nothing is called unknown that has proof.
    UnknownHasACause,
    /// A task that is uncertain is not called completed, and one that is called uncertain has something uncertain.
    TaskAgreesWithItsOperations,
    /// The logs have no gap, and each event is what its hash says.
    LogsHold,
    /// Nothing that was acknowledged is lost.
    NothingAcknowledgedIsLost,
    /// What the runtime was told stands in the record.
    ToldIsRecorded,
    /// What was revoked before its admission was never sent.
    RevokedIsNotSent,
    /// Nothing of a session lives on.
    NothingLives,
}

/// A rule that does not hold, and for what.
#[derive(Clone, Debug)]
pub(crate) struct Violation {
    pub(crate) rule: Rule,
    pub(crate) what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.rule, self.what)
    }
}

/// Fails with everything that is wrong with a history.
pub(crate) fn assert_holds(when: &str, history: &History) {
    let found: Vec<String> = check(history).iter().map(ToString::to_string).collect();
    let told: Vec<String> = history.operations.iter().map(ToString::to_string).collect();
    assert!(found.is_empty(), "{when}:\n  {}\noperations:\n  {}", found.join("\n  "), told.join("\n  "));
}

/// Everything that is wrong with a history.
pub(crate) fn check(history: &History) -> Vec<Violation> {
    let mut judge = Judge { history, found: Vec::new() };
    judge.effects();
    judge.operations();
    judge.tasks();
    judge.promises();
    judge.told();
    for broken in &history.broken_logs {
        judge.say(Rule::LogsHold, broken.clone());
    }
    for corrupt in &history.corrupt {
        judge.say(Rule::LogsHold, format!("a row cannot be read: {corrupt}"));
    }
    for process in &history.living {
        judge.say(Rule::NothingLives, process.clone());
    }
    judge.found
}

struct Judge<'a> {
    history: &'a History,
    found: Vec<Violation>,
}

impl Judge<'_> {
    fn say(&mut self, rule: Rule, what: String) {
        self.found.push(Violation { rule, what });
    }

    fn effects(&mut self) {
        let known: BTreeMap<&str, &Op> =
            self.history.operations.iter().map(|op| (op.id.as_str(), op)).collect();
        let mut begun: BTreeSet<&str> = BTreeSet::new();
        let mut by_arguments: BTreeSet<(&str, &str)> = BTreeSet::new();
        for effect in self.history.effects.iter().filter(|effect| effect.begin) {
            let op = known.get(effect.operation.as_str());
            match op.map(|op| op.intended_at) {
                Some(Some(intended)) if intended <= effect.at => {}
                Some(Some(_)) => {
                    self.say(Rule::IntentBeforeEffect, format!("{effect:?} came before its intent"));
                }
                Some(None) => self.say(Rule::IntentBeforeEffect, format!("{effect:?} was never intended")),
                None => self.say(Rule::IntentBeforeEffect, format!("{effect:?} has no operation")),
            }
            if !begun.insert(&effect.operation) {
                self.say(Rule::AtMostOnce, format!("{effect:?} is there twice"));
            }
            let intended = op.and_then(|op| op.intended_at).unwrap_or_default();
            let revoked = |one: &Revocation| one.from <= intended && intended < one.until;
            if op.is_some_and(|op| op.class != EffectClass::Read)
                && self.history.revocations.iter().any(revoked)
            {
                self.say(Rule::RevokedIsNotSent, format!("{effect:?} was intended at {intended}"));
            }
            // Each call of a script has arguments of its own, so equal ones are one call made again.
            let reads = op.is_some_and(|op| op.class == EffectClass::Read);
            if !reads && !by_arguments.insert((&effect.tool, &effect.arguments)) {
                self.say(Rule::AtMostOnce, format!("{effect:?} happened again under another operation"));
            }
        }
    }

    fn operations(&mut self) {
        for op in &self.history.operations {
            let mine = |begin: bool| {
                self.history.effects.iter().any(|effect| effect.operation == op.id && effect.begin == begin)
            };
            let (began, ended) = (mine(true), mine(false));
            match op.state {
                State::Succeeded if !ended || !(op.has_result || op.resolved) => {
                    self.say(Rule::SuccessHasItsResult, format!("{op}: complete: {ended}"));
                }
                State::Denied | State::NotSent | State::Expired | State::Withdrawn if began => {
                    self.say(Rule::FailureDidNotHappen, format!("{op} happened"));
                }
                // A tool that says that it failed is believed; a read may be repeated.
                State::Failed if began && !op.has_result && op.class != EffectClass::Read => {
                    self.say(Rule::FailureDidNotHappen, format!("{op} happened"));
                }
                State::Requested | State::AwaitingApproval | State::InFlight => {
                    self.say(Rule::Classified, format!("{op} is open"));
                }
                State::Unknown if !self.history.disturbances.iter().any(|one| excuses(one, op)) => {
                    self.say(Rule::UnknownHasACause, {
                        let all: Vec<String> =
                            self.history.disturbances.iter().map(ToString::to_string).collect();
                        format!("{op}; disturbed: {}", all.join(", "))
                    });
                }
                State::Succeeded
                | State::Failed
                | State::Denied
                | State::NotSent
                | State::Expired
                | State::Withdrawn
                | State::Unknown
                | State::Abandoned => {}
            }
        }
    }

    fn tasks(&mut self) {
        for task in &self.history.tasks {
            if !is_classified(task.state) && task.state != TaskStateWord::Proposed {
                self.say(Rule::Classified, format!("{task:?} has no end"));
            }
            let uncertain =
                self.history.operations.iter().any(|op| op.task == task.id && op.state == State::Unknown);
            if uncertain && is_classified(task.state) && task.state != TaskStateWord::Unknown {
                self.say(Rule::TaskAgreesWithItsOperations, format!("{task:?} has an unknown operation"));
            }
            if task.state == TaskStateWord::Unknown && !uncertain && !task.own_activity {
                self.say(Rule::TaskAgreesWithItsOperations, format!("{task:?}: nothing of it is unknown"));
            }
            let prompts = self.history.prompts.iter().filter(|prompt| **prompt == task.instructions).count();
            if prompts > 1 {
                self.say(Rule::AtMostOnce, format!("{task:?} was prompted {prompts} times"));
            }
        }
    }

    fn promises(&mut self) {
        for promise in &self.history.acknowledged {
            let (Promise::Task(id) | Promise::Approved(id) | Promise::StopAsked(id)) = promise;
            let state = self.history.tasks.iter().find(|task| task.id == *id).map(|task| task.state);
            let kept = match (promise, state) {
                (_, None) | (Promise::Approved(_), Some(TaskStateWord::Proposed)) => false,
                (Promise::StopAsked(_), Some(state)) => !matches!(
                    state,
                    TaskStateWord::Proposed | TaskStateWord::Accepted | TaskStateWord::Running
                ),
                (Promise::Task(_) | Promise::Approved(_), Some(_)) => true,
            };
            if !kept {
                self.say(Rule::NothingAcknowledgedIsLost, format!("{promise:?}: {state:?}"));
            }
        }
    }

    fn told(&mut self) {
        for told in self.history.told.iter().filter(|told| told.ok) {
            let stands = self.history.effects.iter().any(|effect| {
                effect.begin
                    && told.tool.ends_with(&effect.tool)
                    && effect.arguments == told.arguments
                    && self
                        .history
                        .operations
                        .iter()
                        .any(|op| op.id == effect.operation && op.state == State::Succeeded)
            });
            if !stands && !told.tool.ends_with("agent_mate__report") {
                self.say(Rule::ToldIsRecorded, format!("{told:?} is not on record as succeeded"));
            }
        }
    }
}

/// Whether the disturbance can have cost the operation its answer: it was between intent and outcome then.
fn excuses(one: &Disturbance, op: &Op) -> bool {
    let Some(intended) = op.intended_at else { return false };
    let was_open = intended <= one.until && !one.settled.contains(&op.id);
    one.excuses && was_open && op.recorded_at.is_none_or(|recorded| recorded >= one.from)
}
