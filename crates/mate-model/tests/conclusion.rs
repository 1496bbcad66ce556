//! A task's end, read from its turn's end: every row of the contract.

use mate_model::{
    Epoch, Micros, Refusal, TurnId,
    task::{End, Run, StopEvidence, StopRequest, TaskCommand, TaskState, TaskStateWord},
    turn::{Facts, TurnEnd, conclusion},
    words::{FailReason, ReportStatus, StopReason, UnknownReason},
};
use uuid::Uuid;

const NOW: Micros = Micros(1);

/// What a row of the table says: the end, and whether the runtime's own activity makes it uncertain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Row {
    Completed,
    Failed(FailReason),
    FailedAtOwnWork(FailReason),
    /// Only with evidence from the container.
    Stopped,
    /// With the container's evidence where one was made, else as never started.
    StoppedFirst,
}

fn evidence() -> StopEvidence {
    StopEvidence::ContainerEmpty { means: "pid_namespace".to_owned(), at: NOW, proof: "waited".to_owned() }
}

fn answered(reason: StopReason) -> TurnEnd {
    TurnEnd::Answered { reason, empty: false }
}

fn lost(own_activity: bool) -> TurnEnd {
    TurnEnd::Lost { own_activity, detail: "signal 9".to_owned() }
}

/// Each end of a turn, without and with a stop request.
fn table() -> Vec<(TurnEnd, Row, Row)> {
    let failed = |reason| (Row::Failed(reason), Row::Failed(reason));
    let with = |end, (plain, stopped)| (end, plain, stopped);
    let mut rows = vec![
        (answered(StopReason::EndTurn), Row::Completed, Row::Completed),
        (answered(StopReason::Cancelled), Row::Failed(FailReason::CancelledByRuntime), Row::Stopped),
        (lost(false), Row::Failed(FailReason::RuntimeLost), Row::Stopped),
        (lost(true), Row::FailedAtOwnWork(FailReason::RuntimeLost), Row::Stopped),
        (TurnEnd::StoppedFirst, Row::StoppedFirst, Row::StoppedFirst),
    ];
    rows.push(with(answered(StopReason::MaxTokens), failed(FailReason::LimitReached)));
    rows.push(with(answered(StopReason::MaxTurnRequests), failed(FailReason::LimitReached)));
    rows.push(with(answered(StopReason::Refusal), failed(FailReason::Refused)));
    let empty = TurnEnd::Answered { reason: StopReason::EndTurn, empty: true };
    rows.push(with(empty, failed(FailReason::EmptyTurn)));
    let not_started = TurnEnd::NotStarted { detail: "no such program".to_owned() };
    let errored = TurnEnd::Errored { detail: "internal error".to_owned() };
    rows.push((errored, Row::Failed(FailReason::RuntimeError), Row::Stopped));
    rows.push(with(not_started, failed(FailReason::StartFailed)));
    rows
}

fn expected(row: Row, unknown_operations: u64, proof: bool) -> Result<(Row, Option<UnknownReason>), Refusal> {
    let operations = (unknown_operations > 0).then_some(UnknownReason::Operations);
    match row {
        Row::Stopped if !proof => Err(Refusal::NoEvidence),
        Row::FailedAtOwnWork(_) => Ok((row, operations.or(Some(UnknownReason::OwnActivity)))),
        // No prompt was sent: no call can have been.
        Row::StoppedFirst | Row::Failed(FailReason::StartFailed) => Ok((row, None)),
        Row::Completed | Row::Failed(_) | Row::Stopped => Ok((row, operations)),
    }
}

fn fits(end: &End, row: Row, proof: bool) -> bool {
    match (row, end) {
        (Row::Completed, End::Completed { .. }) => true,
        (Row::Failed(wanted) | Row::FailedAtOwnWork(wanted), End::Failed { reason, .. }) => *reason == wanted,
        (Row::Stopped, End::Stopped { evidence: shown }) => *shown == evidence(),
        (Row::StoppedFirst, End::Stopped { evidence: shown }) => {
            *shown == if proof { evidence() } else { StopEvidence::NeverStarted }
        }
        _ => false,
    }
}

#[test]
fn g05_g06_every_row_of_the_contract() {
    for (end, plain, stopped) in table() {
        for stop_requested in [false, true] {
            for unknown_operations in [0, 1, 7] {
                for proof in [false, true] {
                    let row = if stop_requested { stopped } else { plain };
                    let facts = Facts {
                        end: &end,
                        report: Some(ReportStatus::Done),
                        unknown_operations,
                        stop_requested,
                        evidence: proof.then(evidence),
                    };
                    let shown = format!("{facts:?}");
                    match (conclusion(facts), expected(row, unknown_operations, proof)) {
                        (Ok((got, uncertain)), Ok((row, reason))) => {
                            assert!(fits(&got, row, proof), "{shown}: {got:?}");
                            assert_eq!(uncertain, reason, "{shown}");
                        }
                        (got, wanted) => {
                            assert_eq!(got.err(), wanted.err(), "{shown}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn a_report_is_shown_beside_a_completed_end_and_nowhere_changes_it() {
    for report in [None, Some(ReportStatus::Blocked), Some(ReportStatus::NothingToDo)] {
        let end = answered(StopReason::EndTurn);
        let facts = Facts { end: &end, report, unknown_operations: 0, stop_requested: false, evidence: None };
        assert_eq!(conclusion(facts), Ok((End::Completed { report }, None)));
    }
}

fn run() -> Run {
    Run { turn: TurnId::new(Uuid::from_u128(2)), epoch: Epoch(5), since: NOW }
}

#[test]
fn an_uncertain_task_takes_the_end_that_it_stored() {
    let end = End::Failed { reason: FailReason::RuntimeLost, detail: "gone".to_owned() };
    let uncertain = Some(UnknownReason::OwnActivity);
    let conclude = TaskCommand::Conclude { epoch: Epoch(6), end: end.clone(), uncertain };
    let unknown = TaskState::Running { run: run() }.decide(conclude, NOW).unwrap().into_to();
    assert_eq!(unknown.word(), TaskStateWord::Unknown);
    let settled = unknown.decide(TaskCommand::Settle, Micros(9)).unwrap().into_to();
    assert_eq!(settled, TaskState::Ended { end, at: Micros(9) });
}

#[test]
fn g02_a_second_claim_keeps_the_first_ones_turn() {
    let by = mate_model::AccountId::new(Uuid::from_u128(1));
    let stop = StopRequest { by: Some(by), at: NOW, kill: false };
    for state in [TaskState::Running { run: run() }, TaskState::StopRequested { run: run(), stop }] {
        let claim = TaskCommand::Claim { turn: TurnId::new(Uuid::from_u128(99)), epoch: Epoch(6) };
        let claimed = state.decide(claim, Micros(9)).unwrap().into_to();
        assert_eq!(claimed.word(), state.word(), "a claim never takes a stop request back");
        assert_eq!(claimed.run(), Some(&Run { epoch: Epoch(6), ..run() }));
    }
}
