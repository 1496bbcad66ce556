//! What revoking events say besides: which tasks were at work, and in which projects it matters.

use crate::{Engine, EngineError, Principal};
use mate_model::{
    AccountId, ProjectId, TaskId,
    event::{Draft, EventType},
    task::TaskStateWord,
};
use serde_json::Value;

/// The most tasks that are named.
const TASKS: u32 = 100;
/// The most projects that are told.
const PROJECTS: u32 = 500;

impl Engine {
    /// The project's running tasks: whatever is in flight at this moment is theirs. What it was, their workers write
    /// down as `authority.changed`.
    pub(super) async fn at_work(&self, project: ProjectId) -> Result<Vec<TaskId>, EngineError> {
        let page = self.ledger.tasks(project, Some(TaskStateWord::Running), None, TASKS).await?;
        Ok(page.items.into_iter().map(|task| task.id).collect())
    }

    /// Tells the projects of an account what became of its authority, or only the one that is named. The change itself
    /// is in force already; a project that cannot be told is logged.
    pub(super) async fn tell_projects_of(
        &self,
        account: AccountId,
        only: Option<ProjectId>,
        kind: EventType,
        data: &Value,
    ) {
        self.tell_projects(self.projects_told(account, only).await, kind, data).await;
    }

    /// The projects in which an account's authority matters, or only the one that is named.
    pub(super) async fn projects_told(&self, account: AccountId, only: Option<ProjectId>) -> Vec<ProjectId> {
        if let Some(project) = only {
            return vec![project];
        }
        match self.ledger.projects(Some(account), None, PROJECTS).await {
            Ok(page) => page.items.into_iter().map(|project| project.id).collect(),
            Err(error) => {
                tracing::warn!(%account, %error, "the account's projects cannot be read");
                Vec::new()
            }
        }
    }

    pub(super) async fn tell_projects(&self, projects: Vec<ProjectId>, kind: EventType, data: &Value) {
        for project in projects {
            if let Err(error) = self.tell_project(project, kind, data.clone()).await {
                tracing::warn!(%project, %error, kind = kind.as_str(), "a project could not be told");
            }
        }
    }

    async fn tell_project(
        &self,
        project: ProjectId,
        kind: EventType,
        mut data: Value,
    ) -> Result<(), EngineError> {
        data["running_tasks"] =
            self.at_work(project).await?.into_iter().map(|task| task.to_string()).collect();
        let draft = Draft { kind, task: None, turn: None, at: self.clock.now(), data };
        Ok(self.ledger.tell(project, draft).await?)
    }

    /// Says in the coordinator's log what concerns the installation as a whole.
    pub(super) fn log_change(&self, who: &Principal, kind: EventType, what: &str) {
        tracing::info!(by = %who.account, token = %who.token, what, "{}", kind.as_str());
    }
}
