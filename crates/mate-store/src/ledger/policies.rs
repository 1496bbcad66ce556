//! Policies: what the administrators say about calls, for the whole installation.

use super::{Ledger, LedgerError};
use crate::{
    Row, Statement, StoreError, decode,
    page::Page,
    params::{one_more, params},
};
use mate_model::{Micros, PolicyId, records::Policy};

/// The most policies that can be in force at once.
pub const MAX_POLICIES: u32 = 100;

// The count is compared by the statement that adds.
const ADD: &str = "INSERT INTO policies (id, name, text, created_by, created_at, removed_at)
    SELECT CAST($1 AS TEXT), CAST($2 AS TEXT), CAST($3 AS TEXT), CAST($4 AS TEXT), CAST($5 AS BIGINT), NULL
    WHERE (SELECT count(*) FROM policies WHERE removed_at IS NULL) < $6";
const BY_ID: &str = "SELECT id, name, text, created_by, created_at, removed_at FROM policies WHERE id = $1";
const BY_NAME: &str = "SELECT id, name, text, created_by, created_at, removed_at FROM policies
    WHERE name = $1 AND removed_at IS NULL";
const LIST: &str = "SELECT id, name, text, created_by, created_at, removed_at FROM policies
    WHERE removed_at IS NULL AND id > $1 ORDER BY id LIMIT $2";
const REMOVE: &str = "UPDATE policies SET removed_at = $2 WHERE id = $1 AND removed_at IS NULL";

fn decode(row: &Row) -> Result<Policy, StoreError> {
    Ok(Policy {
        id: row.parse("id")?,
        name: row.text("name")?.to_owned(),
        text: row.text("text")?.to_owned(),
        created_by: row.parse("created_by")?,
        created_at: decode::micros(row, "created_at")?,
        removed_at: decode::opt_micros(row, "removed_at")?,
    })
}

impl Ledger {
    /// Adds a policy; with `instead_of`, in the place of that one, without a moment between the two.
    ///
    /// # Errors
    /// [`LedgerError::Taken`] when the name is used, [`LedgerError::Conflict`] when there are [`MAX_POLICIES`] or the
    /// one to be replaced is gone, and the store's.
    pub async fn add_policy(&self, policy: &Policy, instead_of: Option<PolicyId>) -> Result<(), LedgerError> {
        let values = params![
            policy.id,
            policy.name.as_str(),
            policy.text.as_str(),
            policy.created_by,
            policy.created_at,
            i64::from(MAX_POLICIES),
        ];
        let mut statements: Vec<_> = instead_of
            .map(|old| Statement::one(REMOVE, params![old, policy.created_at]))
            .into_iter()
            .collect();
        statements.push(Statement::one(ADD, values));
        self.authorise(statements).await.map_err(|refused| refused.adding("policy", "account"))
    }

    /// The policy with this id, removed or not.
    ///
    /// # Errors
    /// The store's, and [`StoreError::Corrupt`].
    pub async fn policy(&self, id: PolicyId) -> Result<Option<Policy>, StoreError> {
        decode::first(&self.db.fetch(BY_ID, params![id]).await?, decode)
    }

    /// The policy with this name that is not removed.
    ///
    /// # Errors
    /// The store's, and [`StoreError::Corrupt`].
    pub async fn policy_by_name(&self, name: &str) -> Result<Option<Policy>, StoreError> {
        decode::first(&self.db.fetch(BY_NAME, params![name]).await?, decode)
    }

    /// Policies by age, without the removed ones.
    ///
    /// # Errors
    /// The store's.
    pub async fn policies(
        &self,
        after: Option<PolicyId>,
        limit: u32,
    ) -> Result<Page<Policy, PolicyId>, StoreError> {
        let after = after.map_or_else(String::new, |id| id.to_string());
        let rows = self.db.fetch(LIST, params![after, one_more(limit)]).await?;
        Page::read(&rows, limit, decode, |row| row.parse("id"))
    }

    /// Removes a policy.
    ///
    /// # Errors
    /// [`LedgerError::NotFound`] when there is none, and the store's.
    pub async fn remove_policy(&self, id: PolicyId, at: Micros) -> Result<(), LedgerError> {
        let removed = self.authorise(vec![Statement::one(REMOVE, params![id, at])]).await;
        removed.map_err(|refused| refused.changing("policy"))
    }
}
