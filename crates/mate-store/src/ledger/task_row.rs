//! A task as a row: its state's data in columns, read back strictly.

use crate::{
    Row, Statement, StoreError, Value, decode,
    params::{json, params},
};
use mate_model::{
    AccountId, Micros, TaskId, Transition, TurnId,
    records::Task,
    task::{End, Run, StopRequest, TaskState, TaskStateWord},
};

/// The columns of a task, for a SELECT.
macro_rules! task_columns {
    () => {
        "id, project, session, proposer, token, instructions, policy, number, continues, (SELECT c.id FROM tasks c \
         WHERE c.continues = tasks.id AND c.state <> 'rejected') AS continued_by, resumes, created_at, state, approved_by, \
         approved_at, turn, epoch, started_at, stop_by, stop_at, stop_kill, ended_at, end_json, unknown_reason, \
         rejected_by, reject_reason"
    };
}
pub(super) use task_columns;

/// What a move writes stays until another move writes it: who approved, which turn it was.
const MOVE: &str = "UPDATE tasks SET from_state = state, state = $2,
        approved_by = COALESCE($3, approved_by), approved_at = COALESCE($4, approved_at),
        turn = COALESCE($5, turn), epoch = COALESCE($6, epoch), started_at = COALESCE($7, started_at),
        stop_by = COALESCE($8, stop_by), stop_at = COALESCE($9, stop_at), stop_kill = COALESCE($10, stop_kill),
        ended_at = COALESCE($11, ended_at), end_json = COALESCE($12, end_json),
        unknown_reason = COALESCE($13, unknown_reason), rejected_by = $14, reject_reason = $15, resume_due = $19
    WHERE id = $1 AND state = $16
        AND (state NOT IN ('running', 'stop_requested') OR (epoch = $17 AND stop_kill = $18))";

/// What a state's data is in columns; NULL where a state has none of it.
struct Columns {
    approved: Option<(AccountId, Micros)>,
    run: Option<Run>,
    stop: Option<StopRequest>,
    ended_at: Option<Micros>,
    end: Option<String>,
    unknown: Value,
    rejected: Option<(AccountId, String)>,
}

fn columns(state: &TaskState) -> Result<Columns, StoreError> {
    let none = Columns {
        approved: None,
        run: None,
        stop: None,
        ended_at: None,
        end: None,
        unknown: Value::Null,
        rejected: None,
    };
    Ok(match state {
        TaskState::Proposed => none,
        TaskState::Accepted { by, at } => Columns { approved: Some((*by, *at)), ..none },
        TaskState::Running { run } => Columns { run: Some(run.clone()), ..none },
        TaskState::StopRequested { run, stop } => {
            Columns { run: Some(run.clone()), stop: Some(stop.clone()), ..none }
        }
        TaskState::Ended { end, at } => Columns { ended_at: Some(*at), end: Some(json(end)?), ..none },
        TaskState::Rejected { by, at, reason } => {
            Columns { ended_at: Some(*at), rejected: Some((*by, reason.clone())), ..none }
        }
        TaskState::Unknown { then, reason, at } => {
            Columns { ended_at: Some(*at), end: Some(json(then)?), unknown: Value::from(*reason), ..none }
        }
    })
}

/// The compare-and-set that applies a move; `resume_due` when its policy wants the task to go on after this end.
pub(super) fn apply(
    task: TaskId,
    transition: &Transition<TaskState>,
    resume_due: bool,
) -> Result<Statement, StoreError> {
    let to = columns(transition.to())?;
    let from = columns(transition.from())?;
    let (approved_by, approved_at) = to.approved.unzip();
    let (rejected_by, reject_reason) = to.rejected.unzip();
    let values = params![
        task,
        transition.to().word(),
        approved_by,
        approved_at,
        to.run.as_ref().map(|run| run.turn),
        to.run.as_ref().map(|run| run.epoch),
        to.run.as_ref().map(|run| run.since),
        to.stop.as_ref().and_then(|stop| stop.by),
        to.stop.as_ref().map(|stop| stop.at),
        to.stop.as_ref().map(|stop| stop.kill),
        to.ended_at,
        to.end,
        to.unknown,
        rejected_by,
        reject_reason,
        transition.from().word(),
        from.run.as_ref().map_or(0, |run| run.epoch.0),
        from.stop.as_ref().is_some_and(|stop| stop.kill),
        resume_due,
    ];
    Ok(Statement::one(MOVE, values))
}

/// Reads a task.
pub(super) fn decode(row: &Row) -> Result<Task, StoreError> {
    Ok(Task {
        id: row.parse("id")?,
        project: row.parse("project")?,
        session: row.parse("session")?,
        proposer: row.parse("proposer")?,
        token: row.parse("token")?,
        instructions: row.text("instructions")?.to_owned(),
        policy: decode::json(row, "policy")?,
        number: row.int("number")?,
        continues: row.opt_parse("continues")?,
        continued_by: row.opt_parse("continued_by")?,
        resumes: row.int("resumes")?,
        claim: row.opt_parse::<TurnId>("turn")?.map(|_| run(row)).transpose()?,
        stop: decode::opt_micros(row, "stop_at")?.map(|_| stop(row)).transpose()?,
        state: state(row)?,
        created_at: decode::micros(row, "created_at")?,
    })
}

fn state(row: &Row) -> Result<TaskState, StoreError> {
    let word: TaskStateWord = row.parse("state")?;
    Ok(match word {
        TaskStateWord::Proposed => TaskState::Proposed,
        TaskStateWord::Accepted => {
            TaskState::Accepted { by: row.parse("approved_by")?, at: decode::micros(row, "approved_at")? }
        }
        TaskStateWord::Running => TaskState::Running { run: run(row)? },
        TaskStateWord::StopRequested => TaskState::StopRequested { run: run(row)?, stop: stop(row)? },
        TaskStateWord::Completed | TaskStateWord::Failed | TaskStateWord::Stopped => {
            let ended = TaskState::Ended {
                end: decode::json(row, "end_json")?,
                at: decode::micros(row, "ended_at")?,
            };
            if ended.word() != word {
                return Err(
                    row.corrupt("end_json", format!("it says {}, the state says {word}", ended.word()))
                );
            }
            ended
        }
        TaskStateWord::Rejected => TaskState::Rejected {
            by: row.parse("rejected_by")?,
            at: decode::micros(row, "ended_at")?,
            reason: row.text("reject_reason")?.to_owned(),
        },
        TaskStateWord::Unknown => TaskState::Unknown {
            then: decode::json::<End>(row, "end_json")?,
            reason: row.parse("unknown_reason")?,
            at: decode::micros(row, "ended_at")?,
        },
    })
}

fn stop(row: &Row) -> Result<StopRequest, StoreError> {
    Ok(StopRequest {
        by: row.opt_parse("stop_by")?,
        at: decode::micros(row, "stop_at")?,
        kill: row.flag("stop_kill")?,
    })
}

fn run(row: &Row) -> Result<Run, StoreError> {
    Ok(Run {
        turn: row.parse("turn")?,
        epoch: decode::epoch(row, "epoch")?,
        since: decode::micros(row, "started_at")?,
    })
}
