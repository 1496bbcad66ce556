//! Members: who may act in a project, and in which role.

use super::{Ledger, LedgerError, meta::RAISE_VERSION};
use crate::{
    Row, Statement, StoreError, decode,
    page::Page,
    params::{one_more, params},
};
use mate_model::{AccountId, ProjectId, event::Draft, records::Member, words::Role};

pub(super) const SET: &str = "INSERT INTO members (project, account, role, added_at) VALUES ($1, $2, $3, $4)
    ON CONFLICT (project, account) DO UPDATE SET role = excluded.role";
const REMOVE: &str = "DELETE FROM members WHERE project = $1 AND account = $2";
const LIST: &str = "SELECT account, project, role, added_at FROM members WHERE project = $1 AND account > $2
    ORDER BY account LIMIT $3";
/// $3: of this project alone, or empty; $4: at most this role.
const FURTHER: &str = "SELECT m.project FROM members m
    LEFT JOIN members o ON o.project = m.project AND o.account = $2
    WHERE m.account = $1 AND ($3 = '' OR m.project = $3)
        AND (CASE m.role WHEN 'owner' THEN 3 WHEN 'operator' THEN 2 ELSE 1 END)
            > (CASE o.role WHEN 'owner' THEN 3 WHEN 'operator' THEN 2 WHEN 'viewer' THEN 1 ELSE 0 END)
        AND (o.role IS NULL OR CAST($4 AS BIGINT) > (CASE o.role WHEN 'owner' THEN 3 WHEN 'operator' THEN 2 ELSE 1 END))
    LIMIT 1";
const ROLE: &str = "SELECT account, role FROM members WHERE project = $1 AND account = $2";

fn decode(row: &Row) -> Result<Member, StoreError> {
    Ok(Member {
        project: row.parse("project")?,
        account: row.parse("account")?,
        role: row.parse("role")?,
        added_at: decode::micros(row, "added_at")?,
    })
}

impl Ledger {
    /// Adds a member, or changes the role of one (who then keeps the time of the first addition).
    ///
    /// # Errors
    /// [`LedgerError::NotFound`] when project or account does not exist, and the store's.
    pub async fn set_member(&self, member: &Member, draft: Draft) -> Result<(), LedgerError> {
        let values = params![member.project, member.account, member.role, member.added_at];
        let statements = [Statement::one(RAISE_VERSION, Vec::new()), Statement::one(SET, values)];
        let set = self.commit(member.project, &[draft], &statements).await;
        set.map(|_| ()).map_err(|refused| refused.adding("member", "project or account"))
    }

    /// Removes a member.
    ///
    /// # Errors
    /// [`LedgerError::NotFound`] when the account is no member, and the store's.
    pub async fn remove_member(
        &self,
        project: ProjectId,
        account: AccountId,
        draft: Draft,
    ) -> Result<(), LedgerError> {
        let statements =
            [Statement::one(RAISE_VERSION, Vec::new()), Statement::one(REMOVE, params![project, account])];
        let removed = self.commit(project, &[draft], &statements).await;
        removed.map(|_| ()).map_err(|refused| refused.changing("member"))
    }

    /// A project's members, by account.
    ///
    /// # Errors
    /// The store's.
    pub async fn members(
        &self,
        project: ProjectId,
        after: Option<AccountId>,
        limit: u32,
    ) -> Result<Page<Member, AccountId>, StoreError> {
        let after = after.map_or_else(String::new, |id| id.to_string());
        let rows = self.db.fetch(LIST, params![project, after, one_more(limit)]).await?;
        Page::read(&rows, limit, decode, |row| row.parse("account"))
    }

    /// The account's role in the project; none when it is no member.
    ///
    /// # Errors
    /// The store's, and [`StoreError::Corrupt`].
    pub async fn role_of(&self, project: ProjectId, account: AccountId) -> Result<Option<Role>, StoreError> {
        decode::first(&self.db.fetch(ROLE, params![project, account]).await?, |row| row.parse("role"))
    }

    /// Whether an account may do more than `other` in some project, or in this one, with a token of at most this role.
    ///
    /// # Errors
    /// The store's.
    pub async fn reaches_further(
        &self,
        account: AccountId,
        other: AccountId,
        project: Option<ProjectId>,
        at_most: Option<Role>,
    ) -> Result<bool, StoreError> {
        let project = project.map_or_else(String::new, |id| id.to_string());
        let most: i64 = match at_most {
            Some(Role::Viewer) => 1,
            Some(Role::Operator) => 2,
            Some(Role::Owner) | None => 3,
        };
        Ok(!self.db.fetch(FURTHER, params![account, other, project, most]).await?.is_empty())
    }
}
