//! Projects: what work belongs together.

use super::{Listing, Paging, check};
use crate::{Engine, EngineError, Principal, Verb, artifact::MOST_BYTES};
use mate_model::{
    ProjectId,
    event::{Draft, EventType},
    records::{Project, Task},
};
use mate_store::LedgerError;
use serde_json::json;
use uuid::Uuid;

/// What is to change about a project; what is absent stays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProjectChange {
    /// Whether who submits a task can neither approve it nor give leave for its calls.
    pub distinct_approver: Option<bool>,
    /// How much its artifacts may hold, in bytes. What is there stays, also above it.
    pub artifact_quota: Option<i64>,
}

impl Engine {
    /// Adds a project; who asks is its first owner. Asked again with the same `id`, it answers with the first one.
    ///
    /// # Errors
    /// A name that is wrong or taken, a workspace that cannot be used, a token that is limited to a project or a
    /// role; the ledger's.
    pub async fn add_project(
        &self,
        who: &Principal,
        id: Uuid,
        name: &str,
        workspace: Option<&str>,
        distinct_approver: bool,
    ) -> Result<Project, EngineError> {
        // Whoever owns a project may grant it every connection there is.
        self.demand_here(who, Verb::ProjectAdd).await?;
        check::name("name", name)?;
        let workspace = match workspace {
            Some(directory) => Some(check::workspace(directory, self.home.path()).await?),
            None => None,
        };
        let at = self.writing_time().await?;
        let project = Project {
            id: ProjectId::new(id),
            name: name.to_owned(),
            workspace,
            archived_at: None,
            distinct_approver,
            created_at: at,
        };
        let data = json!({
            "by": who.account, "name": name, "workspace": project.workspace, "distinct_approver": distinct_approver,
        });
        let draft = Draft { kind: EventType::ProjectAdded, task: None, turn: None, at, data };
        match self.ledger.add_project(&project, who.account, draft).await {
            Ok(()) => Ok(project),
            Err(taken @ LedgerError::Taken(_)) => match self.ledger.project(project.id).await? {
                Some(first) => Ok(first),
                None => Err(taken.into()),
            },
            Err(error) => Err(error.into()),
        }
    }

    /// The project with this name or id, if the caller may do with it what the verb says.
    ///
    /// # Errors
    /// [`EngineError::NotFound`] also for a project that the caller has no role in.
    pub async fn project(
        &self,
        who: &Principal,
        name_or_id: &str,
        verb: Verb,
    ) -> Result<Project, EngineError> {
        let found = match name_or_id.parse() {
            Ok(id) => self.ledger.project(id).await?,
            Err(_) if check::is_name(name_or_id) => self.ledger.project_by_name(name_or_id).await?,
            Err(_) => None,
        };
        let Some(project) = found else { return self.nothing(who).await };
        self.demand(who, project.id, verb).await?;
        Ok(project)
    }

    /// The caller's projects, by age.
    ///
    /// # Errors
    /// The ledger's.
    pub async fn projects(&self, who: &Principal, page: &Paging) -> Result<Listing<Project>, EngineError> {
        if let Some(only) = who.only_project {
            let project = self.project(who, &only.to_string(), Verb::ProjectShow).await;
            let items = match project {
                Ok(project) if page.after.is_none() => vec![project],
                Ok(_) | Err(EngineError::NotFound) => Vec::new(),
                Err(error) => return Err(error),
            };
            return Ok(Listing { items, ..Listing::empty() });
        }
        Ok(self.ledger.projects(Some(who.account), page.position()?, page.limit).await?.into())
    }

    /// Changes how a project is worked in: all that is given in one script, or nothing. What is so already stays.
    ///
    /// # Errors
    /// Not an owner; a quota that cannot be; an archived project; the ledger's.
    pub async fn set_project(
        &self,
        who: &Principal,
        name_or_id: &str,
        change: ProjectChange,
    ) -> Result<Project, EngineError> {
        let project = self.live_project(who, name_or_id, Verb::ProjectSet).await?;
        let ProjectChange { distinct_approver, artifact_quota } = change;
        if artifact_quota.is_some_and(|quota| !(0..=MOST_BYTES).contains(&quota)) {
            return Err(EngineError::invalid("artifact_quota", format!("must be 0 to {MOST_BYTES} bytes")));
        }
        let distinct = distinct_approver.filter(|distinct| *distinct != project.distinct_approver);
        let at = self.writing_time().await?;
        let told = |kind, data| Draft { kind, task: None, turn: None, at, data };
        let drafts: Vec<_> = [
            distinct.map(|distinct| {
                told(EventType::ProjectSet, json!({ "by": who.account, "distinct_approver": distinct }))
            }),
            artifact_quota.map(|quota| {
                told(EventType::ArtifactQuotaSet, json!({ "by": who.account, "artifact_quota": quota }))
            }),
        ]
        .into_iter()
        .flatten()
        .collect();
        if drafts.is_empty() {
            return Ok(project);
        }
        self.ledger.set_project(project.id, distinct, artifact_quota, &drafts).await?;
        Ok(Project { distinct_approver: distinct.unwrap_or(project.distinct_approver), ..project })
    }

    /// Refuses who submitted a task, where its project wants another one to approve.
    pub(crate) async fn must_be_another(&self, who: &Principal, task: &Task) -> Result<(), EngineError> {
        let project = self.ledger.project(task.project).await?.ok_or(EngineError::NotFound)?;
        if project.distinct_approver && task.proposer == who.account {
            return Err(same_person());
        }
        Ok(())
    }

    /// Archives a project: it takes no new work, and its tasks have no authority from here on. Archived already:
    /// nothing changes.
    ///
    /// # Errors
    /// Not an owner; the ledger's.
    pub async fn archive_project(&self, who: &Principal, name_or_id: &str) -> Result<Project, EngineError> {
        let project = self.project(who, name_or_id, Verb::ProjectArchive).await?;
        if project.archived_at.is_some() {
            return Ok(project);
        }
        let at = self.cautious_time().await?;
        let data = json!({ "by": who.account, "running_tasks": self.at_work(project.id).await? });
        let draft = Draft { kind: EventType::ProjectArchived, task: None, turn: None, at, data };
        match self.ledger.archive_project(project.id, at, draft).await {
            Ok(()) | Err(LedgerError::NotFound(_)) => {
                self.project(who, name_or_id, Verb::ProjectArchive).await
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The project that may still be changed.
    ///
    /// # Errors
    /// As [`Engine::project`], and `project_archived`.
    pub(crate) async fn live_project(
        &self,
        who: &Principal,
        name_or_id: &str,
        verb: Verb,
    ) -> Result<Project, EngineError> {
        let project = self.project(who, name_or_id, verb).await?;
        if project.archived_at.is_some() {
            return Err(EngineError::refused("project_archived", "the project is archived: use another one"));
        }
        Ok(project)
    }
}

/// Who submits a task, and who approves it, must be two.
pub(crate) fn same_person() -> EngineError {
    EngineError::refused(
        "distinct_approver",
        "the project wants another one than who submitted the task to approve: ask another operator",
    )
}
