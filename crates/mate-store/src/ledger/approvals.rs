//! Approvals: the inbox of requests that wait for a person, and their answers.

use super::{Ledger, LedgerError, error::Refused};
use crate::{
    ConstraintKind, Row, Statement, StoreError, decode,
    page::Page,
    params::{json, one_more, params},
};
use mate_model::{
    AccountId, Micros, OperationId, ProjectId, Transition,
    approval::{ApprovalState, ApprovalStateWord},
    event::Draft,
    records::Approval,
};

const ADD: &str =
    "INSERT INTO approvals (id, project, task, connection, tool, digest, shape, created_at, from_state,
        state, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, '', 'open', $9)";
const BY_ID: &str =
    "SELECT id, project, task, connection, tool, digest, shape, created_at, state, expires_at,
        decided_by, decided_at, reason, used_at FROM approvals WHERE id = $1";
const LIST: &str = "SELECT id, project, task, connection, tool, digest, shape, created_at, state, expires_at,
        decided_by, decided_at, reason, used_at FROM approvals WHERE project = $1 AND id > $2 ORDER BY id LIMIT $3";
const LIST_OPEN: &str =
    "SELECT id, project, task, connection, tool, digest, shape, created_at, state, expires_at,
        decided_by, decided_at, reason, used_at FROM approvals
    WHERE project = $1 AND state = 'open' AND id > $2 ORDER BY id LIMIT $3";
const MOVE: &str = "UPDATE approvals SET from_state = state, state = $2,
        decided_by = COALESCE($3, decided_by), decided_at = COALESCE($4, decided_at), reason = $5, used_at = $6
    WHERE id = $1 AND state = $7";

fn decode(row: &Row) -> Result<Approval, StoreError> {
    Ok(Approval {
        id: row.parse("id")?,
        project: row.parse("project")?,
        task: row.parse("task")?,
        connection_name: row.text("connection")?.to_owned(),
        tool: row.text("tool")?.to_owned(),
        digest: row.text("digest")?.to_owned(),
        shape: decode::json(row, "shape")?,
        state: state(row)?,
        created_at: decode::micros(row, "created_at")?,
    })
}

fn state(row: &Row) -> Result<ApprovalState, StoreError> {
    let by = || row.parse::<AccountId>("decided_by");
    let at = || decode::micros(row, "decided_at");
    let expires = || decode::micros(row, "expires_at");
    Ok(match row.parse("state")? {
        ApprovalStateWord::Open => ApprovalState::Open { expires: expires()? },
        ApprovalStateWord::Allowed => ApprovalState::Allowed { by: by()?, at: at()?, expires: expires()? },
        ApprovalStateWord::Denied => {
            ApprovalState::Denied { by: by()?, at: at()?, reason: row.text("reason")?.to_owned() }
        }
        ApprovalStateWord::Expired => ApprovalState::Expired,
        ApprovalStateWord::Withdrawn => ApprovalState::Withdrawn,
        ApprovalStateWord::Used => ApprovalState::Used { by: by()?, at: decode::micros(row, "used_at")? },
    })
}

impl Ledger {
    /// Puts a request into the inbox; one that is there already stays as it is (false).
    ///
    /// # Errors
    /// [`LedgerError::NotFound`] when its task does not exist, and the store's.
    pub async fn add_approval(&self, approval: &Approval) -> Result<bool, LedgerError> {
        let ApprovalState::Open { expires } = approval.state else {
            return Err(StoreError::Misuse("an approval is added open".to_owned()).into());
        };
        let values = params![
            approval.id,
            approval.project,
            approval.task,
            approval.connection_name.as_str(),
            approval.tool.as_str(),
            approval.digest.as_str(),
            json(&approval.shape)?,
            approval.created_at,
            expires,
        ];
        match self.db.execute(Statement::one(ADD, values)).await {
            Ok(_) => {
                self.ring().await;
                Ok(true)
            }
            Err(error) if error.is_constraint(ConstraintKind::Unique) => Ok(false),
            Err(error) => Err(Refused::read(error, 0).adding("approval", "task")),
        }
    }

    /// The approval with this id.
    ///
    /// # Errors
    /// The store's, and [`StoreError::Corrupt`].
    pub async fn approval(&self, id: OperationId) -> Result<Option<Approval>, StoreError> {
        decode::first(&self.db.fetch(BY_ID, params![id]).await?, decode)
    }

    /// A project's approvals by id; only those that wait, unless `all`.
    ///
    /// # Errors
    /// The store's.
    pub async fn approvals(
        &self,
        project: ProjectId,
        all: bool,
        after: Option<OperationId>,
        limit: u32,
    ) -> Result<Page<Approval, OperationId>, StoreError> {
        let after = after.map_or_else(String::new, |id| id.to_string());
        let sql = if all { LIST } else { LIST_OPEN };
        let rows = self.db.fetch(sql, params![project, after, one_more(limit)]).await?;
        Page::read(&rows, limit, decode, |row| row.parse("id"))
    }

    /// Applies a move of an approval, with an event of its project if there is one to tell.
    ///
    /// # Errors
    /// [`LedgerError::Conflict`] when its state is no longer the one that the move starts from, and the store's.
    pub async fn apply_approval(
        &self,
        approval: &Approval,
        transition: &Transition<ApprovalState>,
        draft: Option<Draft>,
    ) -> Result<(), LedgerError> {
        let (by, at, reason, used): (Option<AccountId>, Option<Micros>, Option<&str>, Option<Micros>) =
            match transition.to() {
                ApprovalState::Open { .. } | ApprovalState::Expired | ApprovalState::Withdrawn => {
                    (None, None, None, None)
                }
                ApprovalState::Allowed { by, at, .. } => (Some(*by), Some(*at), None, None),
                ApprovalState::Denied { by, at, reason } => (Some(*by), Some(*at), Some(reason), None),
                ApprovalState::Used { at, .. } => (None, None, None, Some(*at)),
            };
        let (to, from) = (transition.to().word(), transition.from().word());
        let statement = Statement::one(MOVE, params![approval.id, to, by, at, reason, used, from]);
        let moved = match draft {
            Some(draft) => self.commit(approval.project, &[draft], &[statement]).await.map(|_| ()),
            None => self.write(vec![statement]).await,
        };
        moved.map_err(|refused| refused.moving("approval"))
    }
}
