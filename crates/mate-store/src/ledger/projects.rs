//! Projects: what work belongs together. Each has a log of its own.

use super::{Ledger, LedgerError, commit::append, members::SET as SET_MEMBER, meta::RAISE_VERSION};
use crate::{
    Row, Statement, StoreError,
    chain::genesis,
    decode,
    page::Page,
    params::{one_more, params},
};
use mate_model::{
    AccountId, Micros, ProjectId,
    event::{Draft, Log},
    records::Project,
    words::Role,
};

const ADD: &str = "INSERT INTO projects (id, name, workspace, archived_at, created_at, event_seq, event_head,
        distinct_approver)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
const BY_ID: &str =
    "SELECT id, name, workspace, archived_at, distinct_approver, created_at FROM projects WHERE id = $1";
const BY_NAME: &str =
    "SELECT id, name, workspace, archived_at, distinct_approver, created_at FROM projects WHERE name = $1";
const LIST: &str =
    "SELECT id, name, workspace, archived_at, distinct_approver, created_at FROM projects WHERE id > $1
    ORDER BY id LIMIT $2";
const LIST_OF: &str = "SELECT p.id, p.name, p.workspace, p.archived_at, p.distinct_approver, p.created_at
    FROM projects p JOIN members m ON m.project = p.id WHERE m.account = $1 AND p.id > $2 ORDER BY p.id LIMIT $3";
const SET: &str = "UPDATE projects SET distinct_approver = $2 WHERE id = $1";
const QUOTA: &str = "UPDATE projects SET artifact_quota = $2 WHERE id = $1";
const ARCHIVE: &str = "UPDATE projects SET archived_at = $2 WHERE id = $1 AND archived_at IS NULL";

fn decode(row: &Row) -> Result<Project, StoreError> {
    Ok(Project {
        id: row.parse("id")?,
        name: row.text("name")?.to_owned(),
        workspace: row.opt_text("workspace")?.map(str::to_owned),
        archived_at: decode::opt_micros(row, "archived_at")?,
        distinct_approver: row.flag("distinct_approver")?,
        created_at: decode::micros(row, "created_at")?,
    })
}

impl Ledger {
    /// Adds a project with `owner` as its first member; `draft` opens its log.
    ///
    /// # Errors
    /// [`LedgerError::Taken`] when the name is used, [`LedgerError::NotFound`] when the owner does not exist, and
    /// the store's.
    pub async fn add_project(
        &self,
        project: &Project,
        owner: AccountId,
        draft: Draft,
    ) -> Result<(), LedgerError> {
        let start = genesis(Log::Ledger, &project.id.to_string());
        let (events, seq, head) = append(project.id, 0, start, &[draft])?;
        let mut script = vec![
            Statement::one(RAISE_VERSION, Vec::new()),
            Statement::one(
                ADD,
                params![
                    project.id,
                    project.name.as_str(),
                    project.workspace.clone(),
                    project.archived_at,
                    project.created_at,
                    seq,
                    head,
                    project.distinct_approver,
                ],
            ),
            Statement::one(SET_MEMBER, params![project.id, owner, Role::Owner, project.created_at]),
        ];
        script.extend(events);
        self.write(script).await.map_err(|refused| refused.adding("project", "account"))
    }

    /// The project with this id.
    ///
    /// # Errors
    /// The store's, and [`StoreError::Corrupt`].
    pub async fn project(&self, id: ProjectId) -> Result<Option<Project>, StoreError> {
        decode::first(&self.db.fetch(BY_ID, params![id]).await?, decode)
    }

    /// The project with this name.
    ///
    /// # Errors
    /// The store's, and [`StoreError::Corrupt`].
    pub async fn project_by_name(&self, name: &str) -> Result<Option<Project>, StoreError> {
        decode::first(&self.db.fetch(BY_NAME, params![name]).await?, decode)
    }

    /// Projects by age; with `member`, only those that this account is a member of.
    ///
    /// # Errors
    /// The store's.
    pub async fn projects(
        &self,
        member: Option<AccountId>,
        after: Option<ProjectId>,
        limit: u32,
    ) -> Result<Page<Project, ProjectId>, StoreError> {
        let after = after.map_or_else(String::new, |id| id.to_string());
        let rows = match member {
            Some(account) => self.db.fetch(LIST_OF, params![account, after, one_more(limit)]).await?,
            None => self.db.fetch(LIST, params![after, one_more(limit)]).await?,
        };
        Page::read(&rows, limit, decode, |row| row.parse("id"))
    }

    /// Changes how a project is worked in: all that is given, or nothing.
    ///
    /// # Errors
    /// [`LedgerError::NotFound`] when there is none, and the store's.
    pub async fn set_project(
        &self,
        id: ProjectId,
        distinct_approver: Option<bool>,
        artifact_quota: Option<i64>,
        drafts: &[Draft],
    ) -> Result<(), LedgerError> {
        let mut statements = Vec::new();
        if let Some(distinct) = distinct_approver {
            statements.push(Statement::one(RAISE_VERSION, Vec::new()));
            statements.push(Statement::one(SET, params![id, distinct]));
        }
        statements.extend(artifact_quota.map(|quota| Statement::one(QUOTA, params![id, quota])));
        self.commit(id, drafts, &statements).await.map(|_| ()).map_err(|refused| refused.changing("project"))
    }

    /// Archives a project: it takes no new work and its tasks have no authority.
    ///
    /// # Errors
    /// [`LedgerError::NotFound`] when there is none that is not archived, and the store's.
    pub async fn archive_project(&self, id: ProjectId, at: Micros, draft: Draft) -> Result<(), LedgerError> {
        let statements =
            [Statement::one(RAISE_VERSION, Vec::new()), Statement::one(ARCHIVE, params![id, at])];
        let archived = self.commit(id, &[draft], &statements).await;
        archived.map(|_| ()).map_err(|refused| refused.changing("project"))
    }
}
