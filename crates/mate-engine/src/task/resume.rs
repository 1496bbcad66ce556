//! Resuming: what is final stays final; a new task continues the old one, and says so.

use super::submit::check_instructions;
use crate::{Engine, EngineError, Principal, Verb};
use mate_model::{
    AccountId, SessionId, TaskId, TokenId,
    event::{Draft, EventType},
    records::{Session, Task},
    session::{SessionState, SessionStateWord},
    task::{TaskCommand, TaskState, TaskStateWord},
    transition::Epoch,
};
use mate_store::{Continued, IdempotencyRecord, LedgerError, NewTask};
use serde_json::json;
use std::path::Path;

/// How a task is to be continued.
#[derive(Clone, Debug)]
pub struct Resume {
    /// The id that the new task gets; a fresh one if absent.
    pub id: Option<TaskId>,
    /// The task that is continued.
    pub task: TaskId,
    /// In a new session of the same runtime and workspace, without the conversation so far.
    pub fresh: bool,
    /// What the agent is asked to do; absent: what it was asked before.
    pub instructions: Option<String>,
    /// Wait when the session is busy; otherwise it is refused.
    pub queue: bool,
}

/// In whose name a task is continued.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heir {
    pub(super) account: AccountId,
    pub(super) token: TokenId,
    pub(super) by_itself: bool,
}

impl Engine {
    /// Continues a task that has ended by a new one, in the name of the caller: accepted at once, unless the project
    /// wants another one to approve it.
    ///
    /// # Errors
    /// Why it is refused; nothing was written then.
    pub async fn resume(
        &self,
        who: &Principal,
        wish: Resume,
        key: Option<IdempotencyRecord>,
    ) -> Result<Task, EngineError> {
        let old = self.task_for(who, wish.task, Verb::TaskResume).await?;
        let heir = Heir { account: who.account, token: who.token, by_itself: false };
        self.continue_task(old, heir, wish, key).await
    }

    /// The one way to continue a task: by somebody, or by its policy.
    pub(super) async fn continue_task(
        &self,
        old: Task,
        heir: Heir,
        wish: Resume,
        key: Option<IdempotencyRecord>,
    ) -> Result<Task, EngineError> {
        check_resumable(&old)?;
        if let Some(text) = &wish.instructions {
            check_instructions(text)?;
        }
        let project = self.ledger.project(old.project).await?.filter(|project| project.archived_at.is_none());
        let project = project.ok_or_else(|| {
            EngineError::refused("project_archived", "the project is archived: it takes no new tasks")
        })?;
        // Going on by itself was part of what another one approved.
        let accepted = heir.by_itself || !project.distinct_approver;
        let (session, new) = self.session_to_go_on_in(&old, wish.fresh).await?;
        let now = self.clock.now();
        self.ledger.observe_time(now).await?;
        let approve = TaskCommand::Approve { by: heir.account };
        let approval = accepted.then(|| TaskState::Proposed.decide(approve, now)).transpose()?;
        let id = wish.id.unwrap_or_else(|| TaskId::new(self.entropy.uuid()));
        self.ready_session(session.id, new, wish.queue).await?;
        let mut drafts = drafts(&old, id, heir, now, new.then_some(session.id));
        drafts.extend(accepted.then(|| approved(id, heir, now)));
        let task = NewTask {
            id,
            project: old.project,
            session: session.id,
            new_session: new.then_some(session),
            proposer: heir.account,
            token: heir.token,
            instructions: wish.instructions.unwrap_or_else(|| old.instructions.clone()),
            policy: old.policy.clone(),
            created_at: now,
            continues: Some(Continued {
                task: old.id,
                by_itself: heir.by_itself,
                resumes: old.resumes + i64::from(heir.by_itself),
            }),
            approval,
        };
        match self.ledger.submit(task, &drafts, key.as_ref()).await {
            Ok(submitted) => {
                mate_fault::point_async!("resume.committed");
                Ok(submitted.task)
            }
            Err(error @ LedgerError::Conflict(_)) => {
                // Somebody was faster: say what it is now.
                let now = self.ledger.task(old.id).await?.ok_or(EngineError::NotFound)?;
                check_resumable(&now)?;
                Err(error.into())
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn session_to_go_on_in(&self, old: &Task, fresh: bool) -> Result<(Session, bool), EngineError> {
        let session = self.ledger.session(old.session).await?.ok_or(EngineError::NotFound)?;
        if !fresh {
            if session.state.word() == SessionStateWord::Closed || self.ledger.close_asked(session.id).await?
            {
                return Err(EngineError::refused(
                    "session_closed",
                    "its session is closed: resume it with `--fresh` (`fresh`) to go on in a new one",
                ));
            }
            return Ok((session, false));
        }
        let runtime = self.ledger.runtime(session.runtime).await?;
        if runtime.is_none_or(|runtime| runtime.removed_at.is_some()) {
            return Err(EngineError::refused(
                "runtime_removed",
                "its runtime was removed: submit a new task with another one",
            ));
        }
        if !Path::new(&session.workspace).is_dir() {
            return Err(EngineError::refused(
                "workspace_missing",
                format!("its workspace {} is not a directory (any more): put it back", session.workspace),
            ));
        }
        let id = SessionId::new(self.entropy.uuid());
        let state = SessionState::Idle { epoch: Epoch(0) };
        Ok((Session { id, state, created_at: self.clock.now(), ..session }, true))
    }
}

/// Whether a task can be continued as it stands.
fn check_resumable(task: &Task) -> Result<(), EngineError> {
    if let Some(next) = task.continued_by {
        return Err(EngineError::refused(
            "already_continued",
            format!("{} was continued by {next}: look at that one, and resume it if it has ended", task.id),
        ));
    }
    let id = task.id;
    let (code, detail) = match task.state.word() {
        TaskStateWord::Failed | TaskStateWord::Stopped | TaskStateWord::Unknown => return Ok(()),
        TaskStateWord::Proposed => {
            ("still_live", format!("{id} waits for approval: `agent-mate task approve {id}` lets it start"))
        }
        TaskStateWord::Accepted => {
            ("still_live", format!("{id} waits for its session, and starts by itself"))
        }
        TaskStateWord::Running | TaskStateWord::StopRequested => (
            "still_live",
            format!("{id} is still running: wait for its end, or stop it with `agent-mate task stop {id}`"),
        ),
        TaskStateWord::Completed => (
            "not_resumable",
            format!(
                "{id} completed: for more work in its conversation add a task with `--session {}`",
                task.session
            ),
        ),
        TaskStateWord::Rejected => {
            ("not_resumable", format!("{id} was rejected, and never started: submit a new task"))
        }
    };
    Err(EngineError::refused(code, detail))
}

fn drafts(
    old: &Task,
    new: TaskId,
    heir: Heir,
    at: mate_model::Micros,
    session: Option<SessionId>,
) -> Vec<Draft> {
    let draft = |task, kind, data| Draft { kind, task: Some(task), turn: None, at, data };
    let mut drafts = Vec::with_capacity(4);
    let by = heir.account;
    let resumed = json!({ "by": by, "task": new, "fresh": session.is_some(), "by_itself": heir.by_itself });
    drafts.push(draft(old.id, EventType::TaskResumed, resumed));
    if let Some(session) = session {
        drafts.push(draft(new, EventType::SessionAdded, json!({ "session": session })));
    }
    let submitted = json!({ "by": by, "token": heir.token, "continues": old.id });
    drafts.push(draft(new, EventType::TaskSubmitted, submitted));
    drafts
}

fn approved(task: TaskId, heir: Heir, at: mate_model::Micros) -> Draft {
    let data = json!({ "by": heir.account, "by_itself": heir.by_itself });
    Draft { kind: EventType::TaskApproved, task: Some(task), turn: None, at, data }
}
