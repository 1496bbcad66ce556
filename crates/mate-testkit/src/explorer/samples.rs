//! Representative states and commands of each machine, for the surveys.

use super::survey::{Survey, survey};
use mate_model::{
    AccountId, Epoch, Micros, TurnId,
    approval::{ApprovalCommand, ApprovalState, ApprovalStateWord},
    operation::{Evidence, OperationCommand, OperationState, OperationStateWord, Outcome, Verdict},
    round::{RoundCommand, RoundState, RoundStateWord},
    session::{SessionCommand, SessionState, SessionStateWord},
    task::{End, Run, StopEvidence, StopRequest, TaskCommand, TaskState, TaskStateWord},
    turn::{TurnCommand, TurnEnd, TurnState, TurnStateWord},
    words::{DenyReason, EffectClass, EvidenceKind, FailReason, StopReason, UnknownReason},
};
use uuid::Uuid;

const NOW: Micros = Micros(10);
const BY: AccountId = AccountId::new(Uuid::from_u128(1));

/// The surveys of all machines.
#[must_use]
pub fn surveys() -> Vec<Survey> {
    vec![
        task(),
        turn(),
        operation("Operation, class `effect` or `idempotent`", EffectClass::Effect),
        operation("Operation, class `read`", EffectClass::Read),
        round(),
        approval(),
        session(),
    ]
}

fn ends() -> [End; 3] {
    [
        End::Completed { report: None },
        End::Failed { reason: FailReason::RuntimeLost, detail: String::new() },
        End::Stopped {
            evidence: StopEvidence::ContainerEmpty {
                means: "pid_namespace".to_owned(),
                at: NOW,
                proof: String::new(),
            },
        },
    ]
}

/// The survey of the task.
#[must_use]
pub fn task() -> Survey {
    let run = || Run { turn: TurnId::new(Uuid::from_u128(2)), epoch: Epoch(5), since: NOW };
    let stop = |kill| StopRequest { by: Some(BY), at: NOW, kill };
    let mut states = vec![
        TaskState::Proposed,
        TaskState::Accepted { by: BY, at: NOW },
        TaskState::Running { run: run() },
        TaskState::StopRequested { run: run(), stop: stop(false) },
        TaskState::StopRequested { run: run(), stop: stop(true) },
        TaskState::Rejected { by: BY, at: NOW, reason: String::new() },
    ];
    for end in ends() {
        states.push(TaskState::Ended { end: end.clone(), at: NOW });
        states.push(TaskState::Unknown { then: end, reason: UnknownReason::Operations, at: NOW });
    }
    let claim = |epoch| TaskCommand::Claim { turn: TurnId::new(Uuid::from_u128(9)), epoch: Epoch(epoch) };
    let conclude = |epoch, end: usize, uncertain| TaskCommand::Conclude {
        epoch: Epoch(epoch),
        end: ends()[end].clone(),
        uncertain,
    };
    let uncertain = Some(UnknownReason::Operations);
    let commands = [
        ("approve", TaskCommand::Approve { by: BY }),
        ("reject", TaskCommand::Reject { by: BY, reason: String::new() }),
        ("claim, lower epoch", claim(4)),
        ("claim, same epoch", claim(5)),
        ("claim, higher epoch", claim(6)),
        ("stop", TaskCommand::Stop { by: Some(BY), kill: false }),
        ("kill", TaskCommand::Stop { by: Some(BY), kill: true }),
        ("conclude, lower epoch", conclude(4, 0, None)),
        ("conclude completed", conclude(5, 0, None)),
        ("conclude failed", conclude(5, 1, None)),
        ("conclude stopped", conclude(5, 2, None)),
        ("conclude completed, uncertain", conclude(6, 0, uncertain)),
        ("conclude failed, uncertain", conclude(6, 1, uncertain)),
        ("conclude stopped, uncertain", conclude(6, 2, uncertain)),
        ("settle", TaskCommand::Settle),
    ];
    let words = TaskStateWord::ALL.iter().map(|word| word.as_str()).collect();
    survey(
        "Task",
        words,
        &states,
        |state| state.word().as_str(),
        &commands,
        |state, command| state.decide(command, NOW),
    )
}

/// The survey of the turn.
#[must_use]
pub fn turn() -> Survey {
    let answered = || TurnEnd::Answered { reason: StopReason::EndTurn, empty: false };
    let lost = || TurnEnd::Lost { own_activity: false, detail: String::new() };
    let states = [
        TurnState::Starting,
        TurnState::Prompted { at: NOW },
        TurnState::Settling { end: answered(), at: NOW },
        TurnState::Ended { end: answered(), at: NOW },
    ];
    let finish = |end, in_flight| TurnCommand::Finish { end, in_flight };
    let not_started = TurnEnd::NotStarted { detail: String::new() };
    let commands = [
        ("prompt", TurnCommand::Prompt),
        ("finish: answered", finish(answered(), 0)),
        ("finish: answered, calls in flight", finish(answered(), 2)),
        ("finish: answered with an error", finish(TurnEnd::Errored { detail: String::new() }, 0)),
        ("finish: lost", finish(lost(), 0)),
        ("finish: lost, calls in flight", finish(lost(), 1)),
        ("finish: not started", finish(not_started, 0)),
        ("finish: context lost", finish(TurnEnd::ContextLost { detail: String::new() }, 0)),
        ("finish: stopped first", finish(TurnEnd::StoppedFirst, 0)),
        ("close", TurnCommand::Close { in_flight: 0 }),
        ("close, calls in flight", TurnCommand::Close { in_flight: 1 }),
    ];
    let words = TurnStateWord::ALL.iter().map(|word| word.as_str()).collect();
    survey(
        "Turn",
        words,
        &states,
        |state| state.word().as_str(),
        &commands,
        |state, command| state.decide(command, NOW),
    )
}

fn operation_states() -> Vec<OperationState> {
    let evidence = || Evidence::of(EvidenceKind::Answer, "");
    vec![
        OperationState::Requested,
        OperationState::Denied { reason: DenyReason::ByPerson, detail: String::new() },
        OperationState::AwaitingApproval { expires: NOW },
        OperationState::Expired,
        OperationState::Withdrawn,
        OperationState::InFlight,
        OperationState::Succeeded { evidence: evidence() },
        OperationState::Failed { evidence: evidence() },
        OperationState::NotSent { evidence: evidence() },
        OperationState::Unknown { detail: String::new() },
        OperationState::Abandoned { evidence: evidence() },
    ]
}

/// The survey of an operation of a class.
#[must_use]
pub fn operation(name: &'static str, class: EffectClass) -> Survey {
    let detail = String::new;
    let by = |kind, verdict| OperationCommand::Resolve {
        verdict,
        evidence: Evidence { kind, by: Some(BY), detail: detail() },
    };
    let resolve = |verdict| by(EvidenceKind::Person, verdict);
    let settle = OperationCommand::Settle;
    let commands = [
        ("deny", OperationCommand::Deny { reason: DenyReason::NotGranted, detail: detail() }),
        ("await", OperationCommand::Await { expires: NOW }),
        ("expire", OperationCommand::Expire),
        ("withdraw", OperationCommand::Withdraw),
        ("admit", OperationCommand::Admit),
        ("settle: result", settle(Outcome::Result { error: None })),
        ("settle: result with isError", settle(Outcome::Result { error: Some(String::new()) })),
        ("settle: error", settle(Outcome::Error { detail: detail() })),
        ("settle: not sent", settle(Outcome::NotSent { detail: detail() })),
        ("settle: lost", settle(Outcome::Lost { detail: detail() })),
        ("resolve: succeeded", resolve(Verdict::Succeeded)),
        ("resolve: failed", resolve(Verdict::Failed)),
        ("resolve: abandoned", resolve(Verdict::Abandoned)),
        ("resolve: abandoned, by no person", by(EvidenceKind::Verification, Verdict::Abandoned)),
        ("resolve: succeeded, by what was known before", by(EvidenceKind::Answer, Verdict::Succeeded)),
    ];
    let words = OperationStateWord::ALL.iter().map(|word| word.as_str()).collect();
    survey(
        name,
        words,
        &operation_states(),
        |state| state.word().as_str(),
        &commands,
        |state, command| state.decide(class, command, NOW),
    )
}

/// The survey of a round of a call that takes several.
#[must_use]
pub fn round() -> Survey {
    let question = || "q".to_owned();
    let states = [
        RoundState::InFlight,
        RoundState::InputRequired { question: question() },
        RoundState::Continued,
        RoundState::Over,
    ];
    let commands = [
        ("ask", RoundCommand::Ask { question: question() }),
        ("continue", RoundCommand::Continue),
        ("end", RoundCommand::End),
    ];
    let words = RoundStateWord::ALL.iter().map(|word| word.as_str()).collect();
    survey(
        "Round of a call that takes several",
        words,
        &states,
        |state| state.word().as_str(),
        &commands,
        |state, command| state.decide(command, NOW),
    )
}

/// The survey of the approval.
#[must_use]
pub fn approval() -> Survey {
    let bound = Micros(20);
    let states = [
        ApprovalState::Open { expires: bound },
        ApprovalState::Allowed { by: BY, at: NOW, expires: bound },
        ApprovalState::Denied { by: BY, at: NOW, reason: String::new() },
        ApprovalState::Expired,
        ApprovalState::Withdrawn,
        ApprovalState::Used { by: BY, at: NOW },
    ];
    let commands = [
        ("allow", (ApprovalCommand::Allow { by: BY }, NOW)),
        ("allow, too late", (ApprovalCommand::Allow { by: BY }, bound)),
        ("deny", (ApprovalCommand::Deny { by: BY, reason: String::new() }, NOW)),
        ("expire, too early", (ApprovalCommand::Expire, NOW)),
        ("expire", (ApprovalCommand::Expire, bound)),
        ("withdraw", (ApprovalCommand::Withdraw, NOW)),
        ("use", (ApprovalCommand::Use, NOW)),
        ("use, too late", (ApprovalCommand::Use, bound)),
    ];
    let words = ApprovalStateWord::ALL.iter().map(|word| word.as_str()).collect();
    survey(
        "Approval",
        words,
        &states,
        |state| state.word().as_str(),
        &commands,
        |state, (command, now)| state.decide(command, now),
    )
}

/// The survey of the session.
#[must_use]
pub fn session() -> Survey {
    let epoch = Epoch(5);
    let states = [
        SessionState::Idle { epoch },
        SessionState::Hosted { epoch, since: NOW },
        SessionState::Closed { epoch, at: NOW },
    ];
    let commands = [
        ("host", SessionCommand::Host),
        ("release", SessionCommand::Release { epoch }),
        ("release, lower epoch", SessionCommand::Release { epoch: Epoch(4) }),
        ("release, higher epoch", SessionCommand::Release { epoch: Epoch(6) }),
        ("close", SessionCommand::Close),
    ];
    let words = SessionStateWord::ALL.iter().map(|word| word.as_str()).collect();
    survey(
        "Session",
        words,
        &states,
        |state| state.word().as_str(),
        &commands,
        |state, command| state.decide(command, NOW),
    )
}
