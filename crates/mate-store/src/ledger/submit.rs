//! Submitting a task: one script holds the task, its session if that is new, its events and the request's key.

use super::{
    IdempotencyRecord, Ledger, LedgerError, error::Refused, idempotency, resume, sessions, task_row,
};
use crate::{
    Statement, StoreError,
    params::{json, params},
};
use mate_model::{
    AccountId, Micros, ProjectId, SessionId, TaskId, TokenId, Transition,
    event::Draft,
    records::{Session, Task, TaskPolicy},
    task::TaskState,
};

const OPEN_PROJECT: &str = "UPDATE projects SET name = name WHERE id = $1 AND archived_at IS NULL";
const OPEN_SESSION: &str = "UPDATE sessions SET workspace = workspace
    WHERE id = $1 AND project = $2 AND state <> 'closed'";
const ADD: &str = "INSERT INTO tasks (id, project, session, proposer, token, instructions, policy, number,
        created_at, from_state, state, stop_kill, continues, resumes, resume_due)
    VALUES ($1, $2, $3, $4, $5, $6, $7,
        (SELECT COALESCE(MAX(t.number), 0) + 1 FROM tasks t WHERE t.session = $3), $8, '', 'proposed', 0, $9, $10, 0)";

/// A task that is about to be submitted.
#[derive(Clone, Debug)]
pub struct NewTask {
    /// Its id.
    pub id: TaskId,
    /// Where it belongs.
    pub project: ProjectId,
    /// The session that will carry it.
    pub session: SessionId,
    /// That session, when it is to be added by the same script.
    pub new_session: Option<Session>,
    /// Who submits it.
    pub proposer: AccountId,
    /// With which token.
    pub token: TokenId,
    /// What the agent is asked to do.
    pub instructions: String,
    /// What it wants beyond that.
    pub policy: TaskPolicy,
    /// When.
    pub created_at: Micros,
    /// The task that it continues.
    pub continues: Option<Continued>,
    /// The move to `accepted`, when the proposer approves it at once.
    pub approval: Option<Transition<TaskState>>,
}

/// Which task a new one continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Continued {
    /// That task.
    pub task: TaskId,
    /// It goes on by its own policy, and not because somebody asked.
    pub by_itself: bool,
    /// How many times the tasks before the new one, and it, will have gone on by themselves.
    pub resumes: i64,
}

/// What became of a submission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submitted {
    /// The task as it stands.
    pub task: Task,
    /// The number of its last event in the project's log.
    pub seq: i64,
}

impl Ledger {
    /// Submits a task; its number in the session is given by the script.
    ///
    /// # Errors
    /// [`LedgerError::KeyUsed`] when the request's key was claimed before (read it with [`Ledger::claim`]),
    /// [`LedgerError::Archived`], [`LedgerError::SessionClosed`] (also for a session of another project),
    /// [`LedgerError::Conflict`] when the task that it continues cannot be continued (any more),
    /// [`LedgerError::NotFound`], and the store's.
    pub async fn submit(
        &self,
        new: NewTask,
        drafts: &[Draft],
        key: Option<&IdempotencyRecord>,
    ) -> Result<Submitted, LedgerError> {
        let mut script = Vec::with_capacity(6);
        script.extend(key.map(idempotency::insert));
        let open_project = script.len();
        script.push(Statement::one(OPEN_PROJECT, params![new.project]));
        match &new.new_session {
            Some(session) if session.id == new.session && session.project == new.project => {
                script.push(sessions::insert(session)?);
            }
            Some(_) => return Err(StoreError::Misuse("the new session is another one".to_owned()).into()),
            None => script.push(Statement::one(OPEN_SESSION, params![new.session, new.project])),
        }
        let open_session = open_project + 1;
        let continued = open_session + 1;
        script.extend(new.continues.map(|continued| resume::take(continued, new.project)));
        script.push(Statement::one(
            ADD,
            params![
                new.id,
                new.project,
                new.session,
                new.proposer,
                new.token,
                new.instructions.as_str(),
                json(&new.policy)?,
                new.created_at,
                new.continues.map(|continued| continued.task),
                new.continues.map_or(0, |continued| continued.resumes),
            ],
        ));
        if let Some(approval) = &new.approval {
            script.push(task_row::apply(new.id, approval, false)?);
        }
        let seq = self.commit(new.project, drafts, &script).await.map_err(|refused| match refused {
            Refused::Guard(index) if index == open_project => LedgerError::Archived,
            Refused::Guard(index) if index == open_session => LedgerError::SessionClosed,
            Refused::Guard(index) if index == continued && new.continues.is_some() => {
                LedgerError::Conflict("task that is to be continued")
            }
            Refused::Guard(_) => LedgerError::Conflict("task"),
            Refused::Unique if key.is_some() => LedgerError::KeyUsed,
            Refused::Unique => LedgerError::Taken("task"),
            Refused::Missing => LedgerError::NotFound("session, account or token"),
            Refused::Other(error) => error,
        })?;
        // It is there: what goes wrong from here on must not read as a refusal.
        let task = self.task(new.id).await.map_err(|error| kept(&error))?;
        let task = task.ok_or(LedgerError::NotFound("task"))?;
        Ok(Submitted { task, seq })
    }
}

fn kept(error: &StoreError) -> StoreError {
    StoreError::Unavailable {
        why: format!("the task was kept, but not read back: {error}"),
        maybe_committed: true,
    }
}
