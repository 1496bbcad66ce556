//! Accounts: only an account administrator sees and manages them.

use super::{InFlight, Listing, Paging, check, in_flight::Taken};
use crate::{Engine, EngineError, Principal, Verb};
use mate_model::{AccountId, event::EventType, records::Account};
use mate_store::LedgerError;
use serde_json::json;
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
    /// Not an administrator; `last_administrator`, when nobody would be left to administer accounts; the ledger's.
    pub async fn disable_account(
        &self,
        who: &Principal,
        name_or_id: &str,
    ) -> Result<(Account, InFlight), EngineError> {
        self.demand_here(who, Verb::AccountDisable).await?;
        let account = self.account(who, name_or_id).await?;
        let mut in_flight = InFlight::default();
        if account.disabled_at.is_some() {
            return Ok((account, in_flight));
        }
        match self.ledger.disable_account(account.id, self.cautious_time().await?).await {
            Ok(()) => {
                self.tell_of_account(who, &account, EventType::AccountDisabled).await;
                let projects = self.projects_told(account.id, None).await;
                in_flight = self.in_flight(who, &projects, Taken::Account(account.id)).await;
            }
            // Somebody was faster: the wish is fulfilled.
            Err(LedgerError::NotFound(_)) => {}
            Err(error) => return Err(error.into()),
        }
        Ok((self.account(who, name_or_id).await?, in_flight))
    }

    /// Enables an account again: its tokens open what they opened, unless they were revoked or have expired. Enabled
    /// already: nothing changes.
    ///
    /// # Errors
    /// Not an administrator; the ledger's.
    pub async fn enable_account(&self, who: &Principal, name_or_id: &str) -> Result<Account, EngineError> {
        self.demand_here(who, Verb::AccountEnable).await?;
        let account = self.account(who, name_or_id).await?;
        if account.disabled_at.is_none() {
            return Ok(account);
        }
        self.writing_time().await?;
        match self.ledger.enable_account(account.id).await {
            Ok(()) => self.tell_of_account(who, &account, EventType::AccountEnabled).await,
            Err(LedgerError::NotFound(_)) => {}
            Err(error) => return Err(error.into()),
        }
        self.account(who, name_or_id).await
    }

    async fn tell_of_account(&self, who: &Principal, account: &Account, kind: EventType) {
        self.log_change(who, kind, &account.name);
        let data = json!({ "by": who.account, "account": account.id });
        self.tell_projects_of(account.id, None, kind, &data).await;
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
