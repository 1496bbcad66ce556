//! Accounts: only an account administrator sees and manages them.

use super::{Listing, Paging, check};
use crate::{Engine, EngineError, Principal, Verb};
use mate_model::{AccountId, records::Account};
use mate_store::LedgerError;
use uuid::Uuid;

impl Engine {
    /// Adds an account. Asked again with the same `id`, it answers with the first one.
    ///
    /// # Errors
    /// A name that is wrong or taken; not an administrator; the ledger's.
    pub async fn add_account(
        &self,
        who: &Principal,
        id: Uuid,
        name: &str,
        admin: bool,
    ) -> Result<Account, EngineError> {
        self.demand_here(who, Verb::AccountAdd).await?;
        check::name("name", name)?;
        let account = Account {
            id: AccountId::new(id),
            name: name.to_owned(),
            admin,
            disabled_at: None,
            created_at: self.writing_time().await?,
        };
        match self.ledger.add_account(&account).await {
            Ok(()) => Ok(account),
            Err(taken @ LedgerError::Taken(_)) => {
                self.ledger.account(account.id).await?.ok_or_else(|| taken.into())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The account with this name or id.
    ///
    /// # Errors
    /// [`EngineError::NotFound`] also for somebody else's, unless an administrator asks.
    pub async fn account(&self, who: &Principal, name_or_id: &str) -> Result<Account, EngineError> {
        let account = self.find_account(name_or_id).await?.ok_or(EngineError::NotFound)?;
        if who.admin || account.id == who.account { Ok(account) } else { Err(EngineError::NotFound) }
    }

    /// All accounts, by age.
    ///
    /// # Errors
    /// Not an administrator; the ledger's.
    pub async fn accounts(&self, who: &Principal, page: &Paging) -> Result<Listing<Account>, EngineError> {
        self.demand_here(who, Verb::AccountList).await?;
        Ok(self.ledger.accounts(page.position()?, page.limit).await?.into())
    }

    /// Disables an account: its tokens open nothing any more, and its tasks lose their authority at their
    /// next call. Disabled already: nothing changes.
    ///
    /// # Errors
    /// Not an administrator; one's own account, so that one administrator is always left; the ledger's.
    pub async fn disable_account(&self, who: &Principal, name_or_id: &str) -> Result<Account, EngineError> {
        self.demand_here(who, Verb::AccountDisable).await?;
        let account = self.account(who, name_or_id).await?;
        if account.id == who.account {
            return Err(EngineError::refused(
                "own_account",
                "you cannot disable your own account: let another administrator do it",
            ));
        }
        if account.disabled_at.is_some() {
            return Ok(account);
        }
        match self.ledger.disable_account(account.id, self.writing_time().await?).await {
            // Somebody was faster: the wish is fulfilled.
            Ok(()) | Err(LedgerError::NotFound(_)) => self.account(who, name_or_id).await,
            Err(error) => Err(error.into()),
        }
    }

    /// What a text that names an account means; for callers that judge on their own.
    pub(crate) async fn find_account(&self, name_or_id: &str) -> Result<Option<Account>, EngineError> {
        if let Ok(id) = name_or_id.parse() {
            return Ok(self.ledger.account(id).await?);
        }
        if !check::is_name(name_or_id) {
            return Ok(None);
        }
        Ok(self.ledger.account_by_name(name_or_id).await?)
    }
}
