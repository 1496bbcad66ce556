//! Submitting a task: checked whole, then written whole.

use crate::{
    Engine, EngineError, Principal, Verb,
    admin::{check, same_person},
};
use mate_model::{
    RuntimeId, SessionId, TaskId,
    event::{Draft, EventType},
    records::{Project, Runtime, Session, Task, TaskPolicy},
    session::{SessionState, SessionStateWord},
    task::{TaskCommand, TaskState},
    transition::Epoch,
};
use mate_store::{IdempotencyRecord, NewTask};
use serde_json::json;
use std::path::Path;

/// The longest instructions, in bytes.
const MAX_INSTRUCTIONS: usize = 256 * 1024;

/// What a caller wants to have done.
#[derive(Clone, Debug, Default)]
pub struct Submit {
    /// The id that the task gets; a fresh one if absent.
    pub id: Option<TaskId>,
    /// The project's id or name.
    pub project: String,
    /// What the agent is asked to do.
    pub instructions: String,
    /// The runtime's id or name; may be left out with a session, or when there is just one.
    pub runtime: Option<String>,
    /// Go on in this session.
    pub session: Option<SessionId>,
    /// Approve it at once.
    pub approve: bool,
    /// Wait when the session is busy; otherwise such a task is refused.
    pub queue: bool,
    /// What it wants beyond the instructions.
    pub policy: TaskPolicy,
}

impl Engine {
    /// Submits a task, and approves it if asked to.
    ///
    /// # Errors
    /// What is wrong with the request, or why it is refused; nothing was written then.
    pub async fn submit(
        &self,
        who: &Principal,
        wish: Submit,
        key: Option<IdempotencyRecord>,
    ) -> Result<Task, EngineError> {
        let project = self.project(who, &wish.project, Verb::TaskAdd).await?;
        check_instructions(&wish.instructions)?;
        check_policy(&wish.policy)?;
        if project.archived_at.is_some() {
            return Err(EngineError::refused(
                "project_archived",
                "the project is archived: it takes no new tasks",
            ));
        }
        if wish.approve && project.distinct_approver {
            return Err(same_person());
        }
        let (session, new) = self.session_for(&project, &wish).await?;
        let policy = self.policy_with(session.runtime, wish.policy).await?;
        let now = self.clock.now();
        self.ledger.observe_time(now).await?;
        let approve = TaskCommand::Approve { by: who.account };
        let approval = wish.approve.then(|| TaskState::Proposed.decide(approve, now)).transpose()?;
        let id = wish.id.unwrap_or_else(|| TaskId::new(self.entropy.uuid()));
        let drafts = drafts(id, who, now, wish.approve, new.then_some(session.id));
        self.ready_session(session.id, new, wish.queue).await?;
        let task = NewTask {
            id,
            project: project.id,
            session: session.id,
            new_session: new.then_some(session),
            proposer: who.account,
            token: who.token,
            instructions: wish.instructions,
            policy,
            created_at: now,
            continues: None,
            approval,
        };
        let submitted = self.ledger.submit(task, &drafts, key.as_ref()).await?;
        mate_fault::point_async!("submit.committed");
        Ok(submitted.task)
    }

    /// Makes what a new session needs on the disk; of one that is there, looks whether it may be queued behind.
    pub(super) async fn ready_session(
        &self,
        session: SessionId,
        new: bool,
        queue: bool,
    ) -> Result<(), EngineError> {
        if new {
            self.home.create_session(session).map_err(|error| {
                EngineError::Unavailable(format!("the session's folder cannot be made: {error}"))
            })?;
            mate_fault::point_async!("submit.folder_made");
            self.stores.create_journal(session).await?;
            mate_fault::point_async!("submit.journal_made");
            return Ok(());
        }
        if !queue && self.has_work(session).await? {
            return Err(EngineError::refused(
                "session_busy",
                "the session has an unfinished task: wait for it, queue behind it, or start another session",
            ));
        }
        Ok(())
    }

    /// The policy, with what the runtime's registration says where the caller said nothing.
    async fn policy_with(&self, runtime: RuntimeId, policy: TaskPolicy) -> Result<TaskPolicy, EngineError> {
        let runtime = self.ledger.runtime(runtime).await?.ok_or(EngineError::NotFound)?;
        Ok(TaskPolicy {
            quiet_seconds: policy.quiet_seconds.or(runtime.quiet_seconds),
            deadline_seconds: policy.deadline_seconds.or(runtime.deadline_seconds),
            ..policy
        })
    }

    async fn session_for(&self, project: &Project, wish: &Submit) -> Result<(Session, bool), EngineError> {
        if let Some(id) = wish.session {
            let session = self.ledger.session(id).await?.filter(|session| session.project == project.id);
            let session =
                session.ok_or_else(|| EngineError::invalid("session", "no such session in this project"))?;
            if session.state.word() == SessionStateWord::Closed || self.ledger.close_asked(session.id).await?
            {
                return Err(EngineError::refused(
                    "session_closed",
                    "the session is closed: leave `session` out to start another",
                ));
            }
            if let Some(wanted) = &wish.runtime {
                let runtime = self.runtime_named(wanted).await?;
                if runtime.id != session.runtime {
                    return Err(EngineError::invalid(
                        "runtime",
                        "the session belongs to another runtime: leave one of the two out",
                    ));
                }
            }
            return Ok((session, false));
        }
        let runtime = match &wish.runtime {
            Some(wanted) => self.runtime_named(wanted).await?,
            None => self.only_runtime().await?,
        };
        let id = SessionId::new(self.entropy.uuid());
        let workspace = self.workspace_of(project, id)?;
        let state = SessionState::Idle { epoch: Epoch(0) };
        let created_at = self.clock.now();
        let session = Session {
            id,
            project: project.id,
            runtime: runtime.id,
            workspace,
            state,
            created_at,
            containment: None,
        };
        Ok((session, true))
    }

    pub(crate) async fn runtime_named(&self, wanted: &str) -> Result<Runtime, EngineError> {
        let found = match wanted.parse::<RuntimeId>() {
            Ok(id) => self.ledger.runtime(id).await?,
            Err(_) => self.ledger.runtime_by_name(wanted).await?,
        };
        found.filter(|runtime| runtime.removed_at.is_none()).ok_or_else(|| {
            EngineError::invalid(
                "runtime",
                "no such runtime: `agent-mate runtime list` shows those that are there",
            )
        })
    }

    async fn only_runtime(&self) -> Result<Runtime, EngineError> {
        let mut all = self.ledger.runtimes(None, 2).await?.items;
        match (all.pop(), all.pop()) {
            (Some(only), None) => Ok(only),
            (None, _) => Err(EngineError::invalid(
                "runtime",
                "no runtime is registered: add one with `agent-mate runtime add NAME --preset PRESET`",
            )),
            (Some(_), Some(_)) => {
                Err(EngineError::invalid("runtime", "there are several runtimes: say which"))
            }
        }
    }

    fn workspace_of(&self, project: &Project, session: SessionId) -> Result<String, EngineError> {
        let Some(workspace) = &project.workspace else {
            return Ok(self.home.session(session).workspace().display().to_string());
        };
        if Path::new(workspace).is_dir() {
            return Ok(workspace.clone());
        }
        Err(EngineError::refused(
            "workspace_missing",
            format!(
                "the project's workspace {workspace} is not a directory (any more): put it back, or make another project"
            ),
        ))
    }
}

pub(super) fn check_instructions(text: &str) -> Result<(), EngineError> {
    let why = if text.trim().is_empty() {
        "say what the agent is to do"
    } else if text.len() > MAX_INSTRUCTIONS {
        "longer than 256 KiB: put the material into the workspace and point to it"
    } else if text.contains('\0') {
        "holds a NUL character"
    } else {
        return Ok(());
    };
    Err(EngineError::invalid("instructions", why))
}

fn check_policy(policy: &TaskPolicy) -> Result<(), EngineError> {
    let most = TaskPolicy::MOST_RESUMES;
    if !(1..=most).contains(&policy.max_resumes) {
        return Err(EngineError::invalid("policy.max_resumes", format!("a number from 1 to {most}")));
    }
    check::quiet("policy.quiet_seconds", policy.quiet_seconds)?;
    check::deadline("policy.deadline_seconds", policy.deadline_seconds)
}

fn drafts(
    task: TaskId,
    who: &Principal,
    at: mate_model::Micros,
    approved: bool,
    session: Option<SessionId>,
) -> Vec<Draft> {
    let draft = |kind, data| Draft { kind, task: Some(task), turn: None, at, data };
    let mut drafts = Vec::with_capacity(3);
    if let Some(session) = session {
        drafts.push(draft(EventType::SessionAdded, json!({ "session": session })));
    }
    drafts.push(draft(EventType::TaskSubmitted, json!({ "by": who.account, "token": who.token })));
    if approved {
        drafts.push(draft(EventType::TaskApproved, json!({ "by": who.account })));
    }
    drafts
}
