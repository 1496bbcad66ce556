//! Approvals as they are shown: the exact request, as far as it is on record.

use crate::{
    Engine, EngineError, Principal, Verb,
    admin::{Listing, Paging},
};
use mate_model::{
    AccountId, ApprovalId, ConnectionId, Micros, OperationId, ProjectId, SessionId, TaskId, TokenId, TurnId,
    approval::{ApprovalKind, ApprovalState, ApprovalStateWord, Decision},
    records::{Approval, Permission, Project},
    words::{ApprovalMode, EffectClass},
};
use serde::Serialize;
use serde_json::Value;

/// An approval as it is shown.
#[derive(Clone, Debug, Serialize)]
pub struct ApprovalView {
    /// Its id: of a call, the operation's.
    pub id: ApprovalId,
    /// Its state.
    pub state: ApprovalStateWord,
    /// What it is for.
    pub kind: ApprovalKind,
    /// Its project.
    pub project: ProjectId,
    /// Its session.
    pub session: SessionId,
    /// Its task.
    pub task: TaskId,
    /// Its turn.
    pub turn: TurnId,
    /// The operation that waits, if one does.
    pub operation: Option<OperationId>,
    /// Who submitted the task.
    pub proposer: AccountId,
    /// That account's name.
    pub proposer_name: String,
    /// The connection.
    pub connection: Option<ConnectionId>,
    /// Its name.
    pub connection_name: String,
    /// The tool; of the runtime's own, what the runtime calls it. Untrusted text.
    pub tool: String,
    /// What it may change.
    pub effect: EffectClass,
    /// For this call alone, or for the tool until the task ends.
    pub approve: ApprovalMode,
    /// The shape of the arguments, with the fields that may be shown.
    pub arguments: Value,
    /// The keyed digest of the exact request.
    pub digest: String,
    /// When it was asked.
    pub requested_at: Micros,
    /// When it ends, answered or not.
    pub expires_at: Micros,
    /// When leave was used.
    pub used_at: Option<Micros>,
    /// When it expired or was withdrawn.
    pub over_at: Option<Micros>,
    /// Why it expired or was withdrawn, in words.
    pub over_why: Option<String>,
    /// The answer, as it was given; the same answer again gets the same.
    pub receipt: Option<ReceiptView>,
    /// The permission that came of it; told of a single one, not in lists.
    pub permission: Option<PermissionView>,
}

/// A person's answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReceiptView {
    /// What.
    pub decision: Decision,
    /// Who.
    pub by: AccountId,
    /// That account's name.
    pub by_name: String,
    /// From where: by which token.
    pub token: TokenId,
    /// When.
    pub at: Micros,
    /// To which exact request.
    pub digest: String,
    /// Why, where the answer was no.
    pub reason: Option<String>,
}

/// Leave for a tool until the task ends, as it is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PermissionView {
    /// The approval that it comes from.
    pub id: ApprovalId,
    /// `active` or `revoked`.
    pub state: &'static str,
    /// The connection's name.
    pub connection_name: String,
    /// The tool.
    pub tool: String,
    /// Who gave it.
    pub given_by: AccountId,
    /// That account's name.
    pub given_by_name: String,
    /// When.
    pub given_at: Micros,
    /// When it was taken back.
    pub revoked_at: Option<Micros>,
}

impl PermissionView {
    fn of(row: Permission, given_by_name: String) -> Self {
        Self {
            id: row.id,
            state: if row.revoked_at.is_some() { "revoked" } else { "active" },
            connection_name: row.connection_name,
            tool: row.tool,
            given_by: row.given_by,
            given_by_name,
            given_at: row.given_at,
            revoked_at: row.revoked_at,
        }
    }
}

impl Engine {
    /// One approval.
    ///
    /// # Errors
    /// [`EngineError::NotFound`] when it does not exist, or not for this caller.
    pub async fn approval(&self, who: &Principal, id: ApprovalId) -> Result<ApprovalView, EngineError> {
        let approval = self.approval_for(who, id, Verb::ApprovalShow).await?;
        self.full_approval(approval).await
    }

    /// A project's approvals, or those of all the caller's projects, by age; only those that wait for an answer, unless
    /// `all`.
    ///
    /// # Errors
    /// Not a viewer; a cursor of another list; the ledger's.
    pub async fn approvals(
        &self,
        who: &Principal,
        project: Option<&str>,
        all: bool,
        page: &Paging,
    ) -> Result<Listing<ApprovalView>, EngineError> {
        match project {
            Some(project) => {
                let project = self.project(who, project, Verb::ApprovalList).await?;
                self.approvals_in(project.id, all, page).await
            }
            None => {
                let fetch =
                    |project: Project, page| async move { self.approvals_in(project.id, all, &page).await };
                self.across(who, page, fetch).await
            }
        }
    }

    async fn approvals_in(
        &self,
        project: ProjectId,
        all: bool,
        page: &Paging,
    ) -> Result<Listing<ApprovalView>, EngineError> {
        let list = self.ledger.approvals(project, all, page.position()?, page.limit).await?;
        let list: Listing<Approval> = list.into();
        let mut items = Vec::with_capacity(list.items.len());
        for approval in list.items {
            items.push(self.approval_view(approval).await?);
        }
        Ok(Listing { items, unreadable: list.unreadable, next: list.next })
    }

    /// An approval, for a caller who may do this with it.
    pub(super) async fn approval_for(
        &self,
        who: &Principal,
        id: ApprovalId,
        verb: Verb,
    ) -> Result<Approval, EngineError> {
        match self.ledger.approval(id).await? {
            Some(approval) => self.demand(who, approval.project, verb).await.map(|()| approval),
            None => self.nothing(who).await,
        }
    }

    /// With the permission that came of it.
    pub(super) async fn full_approval(&self, approval: Approval) -> Result<ApprovalView, EngineError> {
        let permission = match self.ledger.permission_of(approval.id).await? {
            Some(row) => Some(self.permission_view(row).await?),
            None => None,
        };
        let view = self.approval_view(approval).await?;
        Ok(ApprovalView { permission, ..view })
    }

    /// A permission, with the name of who gave it.
    pub(crate) async fn permission_view(&self, row: Permission) -> Result<PermissionView, EngineError> {
        let name = self.name_of(row.given_by).await?;
        Ok(PermissionView::of(row, name))
    }

    /// An account's name; its id where it is gone.
    pub(crate) async fn name_of(&self, account: AccountId) -> Result<String, EngineError> {
        let found = self.ledger.account(account).await?;
        Ok(found.map_or_else(|| account.to_string(), |account| account.name))
    }

    async fn approval_view(&self, row: Approval) -> Result<ApprovalView, EngineError> {
        let task = self.ledger.task(row.task).await?.ok_or(EngineError::NotFound)?;
        let proposer_name = self.name_of(task.proposer).await?;
        let used_at = match &row.state {
            ApprovalState::Used { at, .. } => Some(*at),
            ApprovalState::Open { .. }
            | ApprovalState::Allowed { .. }
            | ApprovalState::Denied { .. }
            | ApprovalState::Expired
            | ApprovalState::Withdrawn => None,
        };
        let digest = row.digest.clone();
        let receipt = match row.answer.clone() {
            Some(answer) => Some(ReceiptView {
                decision: answer.decision,
                by: answer.by,
                by_name: self.name_of(answer.by).await?,
                token: answer.with,
                at: answer.at,
                digest,
                reason: answer.reason,
            }),
            None => None,
        };
        let (over_at, over_why) =
            row.over.clone().map_or((None, None), |over| (Some(over.at), Some(over.why)));
        Ok(ApprovalView {
            id: row.id,
            state: row.state.word(),
            kind: row.kind(),
            project: row.project,
            session: row.id.session(),
            task: row.task,
            turn: row.turn,
            operation: row.id.operation(),
            proposer: task.proposer,
            proposer_name,
            connection: row.connection,
            connection_name: row.connection_name,
            tool: row.tool,
            effect: row.class,
            approve: row.mode,
            arguments: row.shape,
            digest: row.digest,
            requested_at: row.created_at,
            expires_at: row.expires_at,
            used_at,
            over_at,
            over_why,
            receipt,
            permission: None,
        })
    }
}
