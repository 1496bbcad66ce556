//! A task as it is shown: its state, and what it is doing while it runs.

use crate::{
    Engine, EngineError, Principal, Verb,
    approvals::{OverView, PermissionView},
    conclude::reason,
};
use mate_model::{
    AccountId, Micros, ProjectId, RuntimeId, SessionId, TaskId, TurnId,
    records::{Runtime, Task, TaskPolicy},
    task::{End, TaskState, TaskStateWord},
    turn::TurnState,
    words::{Context, ReportStatus, UnknownReason},
};
use mate_store::Unsettled;
use serde::Serialize;

/// The most permissions that are shown with a task.
const MOST_PERMISSIONS: u32 = 100;

/// What a running task is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Activity {
    /// The runtime is being made ready.
    Starting,
    /// The runtime is at it.
    Working,
    /// A call, or a tool of the runtime's own, waits for a person's leave.
    WaitingApproval,
    /// The runtime's turn is over; calls are still in flight.
    Settling,
    /// Nothing was heard for a while.
    Quiet,
}

/// A task as it is shown.
#[derive(Clone, Debug, Serialize)]
pub struct TaskView {
    /// Its id.
    pub id: TaskId,
    /// Its state.
    pub state: TaskStateWord,
    /// What it is doing, while it runs.
    pub activity: Option<Activity>,
    /// Since when nothing was heard of it, when it is quiet.
    pub quiet_since: Option<Micros>,
    /// Why it is in this state, where there is something to say.
    pub reason: Option<String>,
    /// Whether the agent reported a result, once it completed.
    pub result: Option<&'static str>,
    /// What the agent reported.
    pub report: Option<ReportStatus>,
    /// The end that an uncertain task takes when everything is settled.
    pub then: Option<&'static str>,
    /// What is uncertain.
    pub uncertain: Option<UnknownReason>,
    /// How many operations nothing has settled, while it is uncertain.
    pub unknown_operations: Option<u64>,
    /// Why its session cannot be looked after at the moment, if it cannot.
    pub set_aside: Option<String>,
    /// Its project.
    pub project: ProjectId,
    /// Its session.
    pub session: SessionId,
    /// Its session's runtime.
    pub runtime: RuntimeId,
    /// The runtime's name.
    pub runtime_name: String,
    /// What is done about the runtime's own tools (shell, files, web): `off`, `ask` or `free`.
    pub own_tools: Option<String>,
    /// Its turn, once claimed.
    pub turn: Option<TurnId>,
    /// Who submitted it.
    pub proposer: AccountId,
    /// What the agent is asked to do.
    pub instructions: String,
    /// What it wants beyond that.
    pub policy: TaskPolicy,
    /// The task that it continues.
    pub continues: Option<TaskId>,
    /// The task that continues it.
    pub continued_by: Option<TaskId>,
    /// How many times it and those that it continues went on by themselves.
    pub resumes: i64,
    /// What its runtime knew of the conversation; told of a single task, not in lists.
    pub context: Option<Context>,
    /// The tools that it may use without being asked again, by a person's leave; told of a single task, not in lists.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub permissions: Vec<PermissionView>,
    /// What it asked a person for that expired or was withdrawn; told of a single task, not in lists.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub approvals_over: Vec<OverView>,
    /// The recovery note that its prompt began with; told of a single task, not in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Its order in its session.
    pub number: i64,
    /// When it was submitted.
    pub created_at: Micros,
    /// When it was claimed.
    pub started_at: Option<Micros>,
    /// When it is asked to stop, while it runs and has a deadline.
    pub deadline_at: Option<Micros>,
    /// When it was asked to stop, if it was while it ran.
    pub stop_requested_at: Option<Micros>,
    /// Who asked, an account's id, or `deadline`.
    pub stop_requested_by: Option<String>,
    /// When it ended.
    pub ended_at: Option<Micros>,
    /// Whether the state is final.
    #[serde(rename = "final")]
    pub is_final: bool,
}

/// A page of tasks, newest first.
#[derive(Clone, Debug, Serialize)]
pub struct TaskPage {
    /// The tasks.
    pub items: Vec<TaskView>,
    /// The id to go on after, if there are more.
    pub next: Option<TaskId>,
}

impl Engine {
    /// A task as it stands.
    ///
    /// # Errors
    /// [`EngineError::NotFound`] when it does not exist, or not for this caller.
    pub async fn task(&self, who: &Principal, id: TaskId) -> Result<TaskView, EngineError> {
        let task = self.task_for(who, id, Verb::TaskShow).await?;
        self.full_view(task).await
    }

    /// How a single task is shown: with what its journal says of its prompt.
    pub(super) async fn full_view(&self, task: Task) -> Result<TaskView, EngineError> {
        let permissions = self.ledger.permissions(task.id, None, MOST_PERMISSIONS).await?.items;
        let mut view = self.view(task).await?;
        for permission in permissions {
            view.permissions.push(self.permission_view(permission).await?);
        }
        view.approvals_over = self.approvals_over(view.id).await?;
        let Some(id) = view.turn else { return Ok(view) };
        let turn = match self.stores.journal_reader(view.session).await {
            Ok(reader) => reader.turn(id).await.map_err(EngineError::from),
            Err(error) => Err(error),
        };
        match turn {
            Ok(Some(turn)) => (view.context, view.note) = (turn.context, turn.note),
            Ok(None) => {}
            // It must not hide what the ledger knows of the task.
            Err(error) => tracing::warn!(task = %view.id, %error, "the task's journal could not be read"),
        }
        Ok(view)
    }

    /// A project's tasks, newest first.
    ///
    /// # Errors
    /// [`EngineError::NotFound`] when the project does not exist, or not for this caller.
    pub async fn tasks(
        &self,
        who: &Principal,
        project: &str,
        state: Option<TaskStateWord>,
        before: Option<TaskId>,
        limit: u32,
    ) -> Result<TaskPage, EngineError> {
        let project = self.project(who, project, Verb::TaskList).await?;
        let page = self.ledger.tasks(project.id, state, before, limit).await?;
        let next = page.next;
        let mut items = Vec::with_capacity(page.items.len());
        for task in page.items {
            items.push(self.view(task).await?);
        }
        Ok(TaskPage { items, next })
    }

    /// How a task is shown.
    ///
    /// # Errors
    /// The stores'.
    pub async fn view(&self, task: Task) -> Result<TaskView, EngineError> {
        let session = self.ledger.session(task.session).await?.ok_or(EngineError::NotFound)?;
        let runtime = self.ledger.runtime(session.runtime).await?.ok_or(EngineError::NotFound)?;
        let (activity, quiet_since) = match task.state.run() {
            // A journal that cannot be read now must not hide what the ledger knows of the task.
            Some(run) => self.activity(&task, run.turn, run.since).await.unwrap_or_else(|error| {
                tracing::warn!(task = %task.id, %error, "the task's journal could not be read");
                (None, None)
            }),
            None => (None, None),
        };
        let word = task.state.word();
        let unsettled = match word {
            TaskStateWord::Unknown => Some(self.ledger.unsettled(&task).await?),
            TaskStateWord::Proposed
            | TaskStateWord::Accepted
            | TaskStateWord::Running
            | TaskStateWord::StopRequested
            | TaskStateWord::Completed
            | TaskStateWord::Failed
            | TaskStateWord::Stopped
            | TaskStateWord::Rejected => None,
        };
        let mut view = TaskView {
            id: task.id,
            state: word,
            activity,
            quiet_since,
            reason: reason(&task, &task.state),
            deadline_at: deadline_at(&task),
            result: None,
            report: None,
            then: None,
            uncertain: None,
            unknown_operations: None,
            set_aside: self.aside.why(task.session),
            project: task.project,
            session: task.session,
            runtime: runtime.id,
            own_tools: own_tools(&runtime),
            runtime_name: runtime.name,
            turn: task.claim.as_ref().map(|claim| claim.turn),
            proposer: task.proposer,
            instructions: task.instructions,
            policy: task.policy,
            continues: task.continues,
            continued_by: task.continued_by,
            resumes: task.resumes,
            context: None,
            note: None,
            permissions: Vec::new(),
            approvals_over: Vec::new(),
            number: task.number,
            created_at: task.created_at,
            started_at: task.claim.as_ref().map(|claim| claim.since),
            stop_requested_at: task.stop.as_ref().map(|stop| stop.at),
            stop_requested_by: task.stop.as_ref().map(|stop| match stop.by {
                Some(account) => account.to_string(),
                None => "deadline".to_owned(),
            }),
            ended_at: None,
            is_final: word.is_final(),
        };
        view.tell_end(&task.state);
        if let Some(left) = unsettled {
            view.tell_unsettled(left);
        }
        Ok(view)
    }

    async fn activity(
        &self,
        task: &Task,
        turn: TurnId,
        since: Micros,
    ) -> Result<(Option<Activity>, Option<Micros>), EngineError> {
        let reader = self.stores.journal_reader(task.session).await?;
        let now = self.clock.now();
        Ok(match reader.turn(turn).await?.map(|turn| turn.state) {
            None | Some(TurnState::Starting) => (Some(Activity::Starting), None),
            Some(TurnState::Settling { .. } | TurnState::Ended { .. }) => (Some(Activity::Settling), None),
            Some(TurnState::Prompted { .. }) if self.ledger.open_approvals(task.id).await? > 0 => {
                (Some(Activity::WaitingApproval), None)
            }
            Some(TurnState::Prompted { .. }) => {
                let last = reader.tail(Some(task.id), 1).await?.items.last().map_or(since, |event| event.at);
                let quiet = task.policy.quiet_seconds.unwrap_or(TaskPolicy::QUIET_SECONDS);
                if now.since(last) > i64::from(quiet) * 1_000_000 {
                    (Some(Activity::Quiet), Some(last))
                } else {
                    (Some(Activity::Working), None)
                }
            }
        })
    }
}

/// How a runtime was registered to treat its own tools.
pub(crate) fn own_tools(runtime: &Runtime) -> Option<String> {
    runtime.registration.get("own_tools").and_then(|mode| mode.as_str()).map(str::to_owned)
}

/// When the running task is asked to stop, if it has a deadline.
fn deadline_at(task: &Task) -> Option<Micros> {
    let TaskState::Running { run } = &task.state else { return None };
    let deadline = i64::try_from(task.policy.deadline()?.as_micros()).ok()?;
    Some(Micros(run.since.0.saturating_add(deadline)))
}

impl TaskView {
    fn tell_end(&mut self, state: &TaskState) {
        match state {
            TaskState::Ended { end, at } => {
                self.ended_at = Some(*at);
                self.tell_report(end);
            }
            TaskState::Unknown { then, reason, at } => {
                self.ended_at = Some(*at);
                self.uncertain = Some(*reason);
                self.then = Some(match then {
                    End::Completed { .. } => "completed",
                    End::Failed { .. } => "failed",
                    End::Stopped { .. } => "stopped",
                });
                self.tell_report(then);
            }
            TaskState::Rejected { at, .. } => self.ended_at = Some(*at),
            TaskState::Proposed
            | TaskState::Accepted { .. }
            | TaskState::Running { .. }
            | TaskState::StopRequested { .. } => {}
        }
    }

    /// When its operations are settled, what is left is the runtime's own last act.
    fn tell_unsettled(&mut self, left: Unsettled) {
        self.unknown_operations = Some(left.operations);
        if left.operations == 0 && self.uncertain == Some(UnknownReason::Operations) {
            self.uncertain = Some(UnknownReason::OwnActivity);
        }
    }

    fn tell_report(&mut self, end: &End) {
        if let End::Completed { report } = end {
            self.report = *report;
            self.result = Some(if report.is_some() { "reported" } else { "unreported" });
        }
    }
}
