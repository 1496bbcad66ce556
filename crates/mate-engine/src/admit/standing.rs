//! What the ledger says of a task's authority, kept until the authorisation version changes.

use crate::{Engine, EngineError};
use mate_model::{
    ConnectionId, Micros, ProjectId, TaskId,
    records::{Connection, Grant, Task},
    words::{DenyReason, Role},
};
use mate_store::Ledger;

/// The authority behind a task at one authorisation version.
#[derive(Debug)]
pub(super) struct Standing {
    /// The version that was in force when it was read.
    pub(super) version: i64,
    /// The task that it is about.
    pub(super) task: TaskId,
    /// Why nothing is allowed, if nothing is.
    lost: Option<&'static str>,
    /// When the token ends, if it does.
    token_expires: Option<Micros>,
    /// The project's live grants.
    grants: Vec<Grant>,
    /// The connections that they name, as far as these still exist.
    connections: Vec<Connection>,
}

/// The most grants that a project may have in force; more are not looked at, and so allow nothing.
const MAX_GRANTS: usize = 1000;
const PAGE: u32 = 500;

/// A project's grants in force, and the connections that they name. A row that cannot be read allows nothing.
pub(crate) async fn granted(
    ledger: &Ledger,
    project: ProjectId,
) -> Result<(Vec<Grant>, Vec<Connection>), EngineError> {
    let mut grants: Vec<Grant> = Vec::new();
    let mut after = None;
    while grants.len() < MAX_GRANTS {
        let page = ledger.live_grants(project, after, PAGE).await?;
        for corrupt in &page.corrupt {
            tracing::error!(%project, %corrupt, "a grant cannot be read; it allows nothing");
        }
        grants.extend(page.items);
        match page.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    let mut connections: Vec<Connection> = Vec::new();
    for grant in &grants {
        if connections.iter().all(|known| known.id != grant.connection) {
            connections.extend(ledger.connection(grant.connection).await?);
        }
    }
    Ok((grants, connections))
}

/// Why a task may not act now, if it may not: its account, token, membership or project lost authority.
pub(crate) async fn lost_authority(engine: &Engine, task: &Task) -> Result<Option<String>, EngineError> {
    let standing = Standing::read(&engine.ledger, task.project, task.id).await?;
    Ok(standing.may_act(engine.clock.now()).err().map(|(_, why)| why))
}

/// A call that the grants allow.
#[derive(Debug)]
pub(super) struct Allowed<'a> {
    pub(super) grant: &'a Grant,
    pub(super) connection: &'a Connection,
}

impl Standing {
    /// Reads it. The version is read first: what changes after that is seen by the second read.
    pub(super) async fn read(ledger: &Ledger, project: ProjectId, task: TaskId) -> Result<Self, EngineError> {
        let version = ledger.authorisation_version().await?;
        let authority = ledger.authority_of(task).await?.ok_or(EngineError::NotFound)?;
        let (grants, connections) = granted(ledger, project).await?;
        let role = authority.role.map(|role| authority.token_role.map_or(role, |most| role.min(most)));
        let elsewhere = authority.token_project.is_some_and(|only| only != project);
        let lost = if authority.proposer_disabled_at.is_some() {
            Some("the account that submitted the task is disabled")
        } else if authority.token_revoked_at.is_some() {
            Some("the token that submitted the task was revoked")
        } else if authority.project_archived_at.is_some() {
            Some("the project is archived")
        } else if elsewhere || role.is_none_or(|role| role < Role::Operator) {
            Some("who submitted the task may no longer act in the project")
        } else {
            None
        };
        Ok(Self { version, task, lost, token_expires: authority.token_expires_at, grants, connections })
    }

    /// Whether the task may act at all.
    pub(super) fn may_act(&self, now: Micros) -> Result<(), (DenyReason, String)> {
        if let Some(why) = self.lost {
            return Err((DenyReason::NotAuthorised, why.to_owned()));
        }
        if self.token_expires.is_some_and(|end| now >= end) {
            return Err((
                DenyReason::NotAuthorised,
                "the token that submitted the task has expired".to_owned(),
            ));
        }
        Ok(())
    }

    /// Whether a grant covers the tool now.
    pub(super) fn judge(
        &self,
        connection: ConnectionId,
        tool: &str,
        now: Micros,
    ) -> Result<Allowed<'_>, (DenyReason, String)> {
        self.may_act(now)?;
        let grant = match mate_guard::judge(&self.grants, connection, tool, now) {
            mate_guard::Decision::Allow { grant } => grant,
            mate_guard::Decision::Refuse(why) => return Err((DenyReason::NotGranted, why.to_string())),
        };
        let connection =
            self.connections.iter().find(|known| known.id == connection && known.removed_at.is_none());
        connection
            .map(|connection| Allowed { grant, connection })
            .ok_or_else(|| (DenyReason::NotGranted, "the connection was removed".to_owned()))
    }

    /// Whether the tool may be listed.
    pub(super) fn lists(&self, connection: &str, tool: &str, now: Micros) -> bool {
        let named =
            self.connections.iter().find(|known| known.name == connection && known.removed_at.is_none());
        named.is_some_and(|known| self.judge(known.id, tool, now).is_ok())
    }

    /// Whether any live grant names the connection.
    pub(super) fn names(&self, connection: &str, now: Micros) -> bool {
        let named =
            self.connections.iter().find(|known| known.name == connection && known.removed_at.is_none());
        named.is_some_and(|known| {
            self.grants.iter().any(|grant| {
                grant.connection == known.id
                    && grant.revoked_at.is_none()
                    && grant.expires_at.is_none_or(|end| now < end)
            })
        })
    }
}
