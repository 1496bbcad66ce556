//! Accounts: who acts.

use super::{Ledger, LedgerError, error::Refused};
use crate::{
    Row, Statement, StoreError, decode,
    page::Page,
    params::{one_more, params},
};
use mate_model::{AccountId, Micros, records::Account};

const ADD: &str =
    "INSERT INTO accounts (id, name, admin, disabled_at, created_at) VALUES ($1, $2, $3, $4, $5)";
const BY_ID: &str = "SELECT id, name, admin, disabled_at, created_at FROM accounts WHERE id = $1";
const BY_NAME: &str = "SELECT id, name, admin, disabled_at, created_at FROM accounts WHERE name = $1";
const LIST: &str = "SELECT id, name, admin, disabled_at, created_at FROM accounts WHERE id > $1
    ORDER BY id LIMIT $2";
const DISABLE: &str = "UPDATE accounts SET disabled_at = $2 WHERE id = $1 AND disabled_at IS NULL";
const ENABLE: &str = "UPDATE accounts SET disabled_at = NULL WHERE id = $1 AND disabled_at IS NOT NULL";
/// Changes nothing, and no row when the account was the last administrator with an unlimited token that does not end: one
/// that ends would leave nobody when it has.
const AN_ADMINISTRATOR_IS_LEFT: &str =
    "UPDATE accounts SET admin = admin WHERE id = $1 AND (admin = 0 OR EXISTS (
    SELECT 1 FROM accounts o JOIN tokens k ON k.account = o.id
        WHERE o.admin = 1 AND o.disabled_at IS NULL AND k.project IS NULL AND k.role IS NULL
            AND k.revoked_at IS NULL AND k.expires_at IS NULL))";

const WAY_IN: &str = "SELECT o.id FROM accounts o JOIN tokens k ON k.account = o.id
    WHERE o.admin = 1 AND o.disabled_at IS NULL AND k.project IS NULL AND k.role IS NULL
        AND k.revoked_at IS NULL AND k.expires_at IS NULL LIMIT 1";

fn decode(row: &Row) -> Result<Account, StoreError> {
    Ok(Account {
        id: row.parse("id")?,
        name: row.text("name")?.to_owned(),
        admin: row.flag("admin")?,
        disabled_at: decode::opt_micros(row, "disabled_at")?,
        created_at: decode::micros(row, "created_at")?,
    })
}

impl Ledger {
    /// Adds an account.
    ///
    /// # Errors
    /// [`LedgerError::Taken`] when the name is used, and the store's.
    pub async fn add_account(&self, account: &Account) -> Result<(), LedgerError> {
        let values = params![
            account.id,
            account.name.as_str(),
            account.admin,
            account.disabled_at,
            account.created_at
        ];
        let added = self.authorise(vec![Statement::one(ADD, values)]).await;
        added.map_err(|refused| refused.adding("account", "account"))
    }

    /// The account with this id.
    ///
    /// # Errors
    /// The store's, and [`StoreError::Corrupt`].
    pub async fn account(&self, id: AccountId) -> Result<Option<Account>, StoreError> {
        decode::first(&self.db.fetch(BY_ID, params![id]).await?, decode)
    }

    /// The account with this name.
    ///
    /// # Errors
    /// The store's, and [`StoreError::Corrupt`].
    pub async fn account_by_name(&self, name: &str) -> Result<Option<Account>, StoreError> {
        decode::first(&self.db.fetch(BY_NAME, params![name]).await?, decode)
    }

    /// Whether an enabled administrator has an unlimited token in force that does not end.
    ///
    /// # Errors
    /// The store's.
    pub async fn has_way_in(&self) -> Result<bool, StoreError> {
        Ok(!self.db.fetch(WAY_IN, params![]).await?.is_empty())
    }

    /// Accounts by age, after `after`.
    ///
    /// # Errors
    /// The store's.
    pub async fn accounts(
        &self,
        after: Option<AccountId>,
        limit: u32,
    ) -> Result<Page<Account, AccountId>, StoreError> {
        let after = after.map_or_else(String::new, |id| id.to_string());
        let rows = self.db.fetch(LIST, params![after, one_more(limit)]).await?;
        Page::read(&rows, limit, decode, |row| row.parse("id"))
    }

    /// Disables an account: from here on it has no authority.
    ///
    /// # Errors
    /// [`LedgerError::NotFound`] when there is none that is not disabled, [`LedgerError::LastAdministrator`], and the
    /// store's.
    pub async fn disable_account(&self, id: AccountId, at: Micros) -> Result<(), LedgerError> {
        let disable = Statement::one(DISABLE, params![id, at]);
        let left = Statement::one(AN_ADMINISTRATOR_IS_LEFT, params![id]);
        let disabled = self.authorise(vec![disable, left]).await;
        disabled.map_err(|refused| {
            if matches!(refused, Refused::Guard(1)) {
                LedgerError::LastAdministrator
            } else {
                refused.changing("account")
            }
        })
    }

    /// Enables an account that was disabled.
    ///
    /// # Errors
    /// [`LedgerError::NotFound`] when there is none that is disabled, and the store's.
    pub async fn enable_account(&self, id: AccountId) -> Result<(), LedgerError> {
        let enabled = self.authorise(vec![Statement::one(ENABLE, params![id])]).await;
        enabled.map_err(|refused| refused.changing("account"))
    }
}
