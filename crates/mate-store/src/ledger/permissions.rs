//! Permissions: leave for one tool until its task ends, taken back by anybody who may give it.

use super::{Ledger, LedgerError, error::Refused, meta::RAISE_VERSION};
use crate::{
    Row, Statement, StoreError, decode,
    page::Page,
    params::{one_more, params},
};
use mate_model::{
    ApprovalId, ConnectionId, Micros, TaskId,
    event::Draft,
    records::{Approval, Permission},
};

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT approval, task, connection, connection_name, tool, given_by, given_at, revoked_at FROM permissions ",
            $rest
        )
    };
}

const ADD: &str =
    "INSERT INTO permissions (approval, task, connection, connection_name, tool, given_by, given_at,
        revoked_at)
    SELECT a.id, a.task, a.connection, a.connection_name, a.tool, a.decided_by, a.decided_at, NULL
    FROM approvals a WHERE a.id = $1 AND a.connection IS NOT NULL";
const IN_FORCE: &str = select!(
    "WHERE task = $1 AND connection = $2 AND tool = $3 AND revoked_at IS NULL ORDER BY approval LIMIT 1"
);
const BY_ID: &str = select!("WHERE approval = $1");
const OF_TASK: &str = select!("WHERE task = $1 AND approval > $2 ORDER BY approval LIMIT $3");
const REVOKE: &str = "UPDATE permissions SET revoked_at = $2 WHERE approval = $1 AND revoked_at IS NULL";
const REVOKE_OTHERS: &str = "UPDATE permissions SET revoked_at = $4
    WHERE task = $1 AND connection = $2 AND tool = $3 AND revoked_at IS NULL";

/// The permission that an allowed approval gives; it stands behind the move in the same script.
pub(super) fn give(approval: ApprovalId) -> [Statement; 2] {
    [Statement::one(RAISE_VERSION, Vec::new()), Statement::one(ADD, params![approval])]
}

fn decode(row: &Row) -> Result<Permission, StoreError> {
    Ok(Permission {
        id: row.parse("approval")?,
        task: row.parse("task")?,
        connection: row.parse("connection")?,
        connection_name: row.text("connection_name")?.to_owned(),
        tool: row.text("tool")?.to_owned(),
        given_by: row.parse("given_by")?,
        given_at: decode::micros(row, "given_at")?,
        revoked_at: decode::opt_micros(row, "revoked_at")?,
    })
}

impl Ledger {
    /// The permission by which a task may use a tool without being asked again, if there is one.
    ///
    /// # Errors
    /// The store's, and [`StoreError::Corrupt`].
    pub async fn permission(
        &self,
        task: TaskId,
        connection: ConnectionId,
        tool: &str,
    ) -> Result<Option<Permission>, StoreError> {
        decode::first(&self.db.fetch(IN_FORCE, params![task, connection, tool]).await?, decode)
    }

    /// The permission that an approval gave, revoked or not.
    ///
    /// # Errors
    /// The store's, and [`StoreError::Corrupt`].
    pub async fn permission_of(&self, approval: ApprovalId) -> Result<Option<Permission>, StoreError> {
        decode::first(&self.db.fetch(BY_ID, params![approval]).await?, decode)
    }

    /// A task's permissions, revoked ones too.
    ///
    /// # Errors
    /// The store's.
    pub async fn permissions(
        &self,
        task: TaskId,
        after: Option<ApprovalId>,
        limit: u32,
    ) -> Result<Page<Permission, ApprovalId>, StoreError> {
        let after = after.map_or_else(String::new, |id| id.to_string());
        let rows = self.db.fetch(OF_TASK, params![task, after, one_more(limit)]).await?;
        Page::read(&rows, limit, decode, |row| row.parse("approval"))
    }

    /// Takes back every permission of a task for the tool of this one; false when none is in force.
    ///
    /// # Errors
    /// The store's.
    pub async fn revoke_permission(
        &self,
        approval: &Approval,
        permission: &Permission,
        at: Micros,
        draft: Draft,
    ) -> Result<bool, LedgerError> {
        let Permission { task, connection, tool, .. } = permission;
        let others = params![*task, *connection, tool.as_str(), at];
        let statements = [
            Statement::one(RAISE_VERSION, Vec::new()),
            Statement::one(REVOKE, params![permission.id, at]),
            Statement::any(REVOKE_OTHERS, others),
        ];
        match self.commit(approval.project, &[draft], &statements).await {
            Ok(_) => Ok(true),
            Err(Refused::Guard(_)) => Ok(false),
            Err(refused) => Err(refused.moving("permission")),
        }
    }
}
