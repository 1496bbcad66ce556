//! Policies: what the administrators say about calls, for the whole installation.

use super::{Listing, Paging, check};
use crate::{Engine, EngineError, Principal, Verb};
use mate_guard::policy::{self, Checked, Finding};
use mate_model::{PolicyId, records::Policy};
use mate_store::{LedgerError, ledger::MAX_POLICIES};
use uuid::Uuid;

/// What a check of a policy's text found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyReport {
    /// What is wrong with it; nothing when it could be added.
    pub faults: Vec<Finding>,
    /// What may not be meant: also names of things that are not there.
    pub warnings: Vec<Finding>,
    /// How many statements permit.
    pub permits: usize,
    /// How many forbid.
    pub forbids: usize,
}

/// A policy, with what there is to say of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedPolicy {
    /// The policy.
    pub policy: Policy,
    /// Of its text.
    pub report: PolicyReport,
}

impl Engine {
    /// Adds a policy; with `replace`, in the place of the one of this name, without a moment between the two. Asked
    /// again with the same `id`, it answers with the first one.
    ///
    /// # Errors
    /// A name that is wrong or taken; a text that is no policy; too many; not an administrator; the ledger's.
    pub async fn add_policy(
        &self,
        who: &Principal,
        id: Uuid,
        name: &str,
        text: String,
        replace: bool,
    ) -> Result<NamedPolicy, EngineError> {
        self.demand_here(who, Verb::PolicyAdd).await?;
        check::name("name", name)?;
        let report = self.check_policy(who, &text).await?;
        if let Some(fault) = report.faults.first() {
            let more = report.faults.len() - 1;
            let more =
                if more == 0 { String::new() } else { format!("; and {more} more: see `policy check`") };
            return Err(EngineError::invalid("text", format!("{fault}{more}")));
        }
        let policy = Policy {
            id: PolicyId::new(id),
            name: name.to_owned(),
            text,
            created_by: who.account,
            created_at: self.cautious_time().await?,
            removed_at: None,
        };
        if let Some(first) = self.ledger.policy(policy.id).await? {
            return Ok(NamedPolicy { policy: first, report });
        }
        let old = if replace { self.ledger.policy_by_name(name).await?.map(|old| old.id) } else { None };
        match self.ledger.add_policy(&policy, old).await {
            Ok(()) => Ok(NamedPolicy { policy, report }),
            Err(taken @ LedgerError::Taken(_)) => match self.ledger.policy(policy.id).await? {
                Some(first) => Ok(NamedPolicy { policy: first, report }),
                None => Err(taken.into()),
            },
            Err(LedgerError::Conflict(_)) if old.is_none() => Err(EngineError::refused(
                "too_many_policies",
                format!(
                    "there are {MAX_POLICIES} policies: put statements together, or remove what is not needed"
                ),
            )),
            Err(error) => Err(error.into()),
        }
    }

    /// Parses a policy's text, validates it against the schema, and says which of the things that it names are not
    /// there. Changes nothing.
    ///
    /// # Errors
    /// Not an administrator; the ledger's.
    pub async fn check_policy(&self, who: &Principal, text: &str) -> Result<PolicyReport, EngineError> {
        self.demand_here(who, Verb::PolicyCheck).await?;
        let Checked { permits, forbids, mut warnings, names } = match policy::check(text) {
            Ok(checked) => checked,
            Err(faults) => {
                return Ok(PolicyReport { faults, warnings: Vec::new(), permits: 0, forbids: 0 });
            }
        };
        for (kind, name) in names {
            if !self.is_there(&kind, &name).await? {
                let message = format!("there is no {} `{name}` now", kind.to_lowercase());
                let at = text.find(&format!("{kind}::\"{name}\"")).unwrap_or_default();
                let before = text.get(..at).unwrap_or_default();
                let line = before.matches('\n').count() + 1;
                let column = before.rsplit('\n').next().map_or(0, |rest| rest.chars().count()) + 1;
                warnings.push(Finding { line, column, message, help: None });
            }
        }
        Ok(PolicyReport { faults: Vec::new(), warnings, permits, forbids })
    }

    /// Whether what a policy names exists, as far as that can be known.
    async fn is_there(&self, kind: &str, name: &str) -> Result<bool, EngineError> {
        let sound = check::is_name(name);
        Ok(match kind {
            "Project" => sound && self.ledger.project_by_name(name).await?.is_some(),
            "Account" => sound && self.ledger.account_by_name(name).await?.is_some(),
            "Runtime" => sound && self.ledger.runtime_by_name(name).await?.is_some(),
            "Connection" => sound && self.ledger.connection_by_name(name).await?.is_some(),
            "Tool" => match name.split_once('/') {
                Some((connection, tool)) => {
                    !tool.is_empty()
                        && check::is_name(connection)
                        && self.ledger.connection_by_name(connection).await?.is_some()
                }
                None => false,
            },
            "Grant" => match name.parse() {
                Ok(id) => self.ledger.grant(id).await?.is_some(),
                Err(_) => false,
            },
            _ => true,
        })
    }

    /// The policies, by age.
    ///
    /// # Errors
    /// Not an administrator; the ledger's.
    pub async fn policies(&self, who: &Principal, page: &Paging) -> Result<Listing<Policy>, EngineError> {
        self.demand_here(who, Verb::PolicyList).await?;
        Ok(self.ledger.policies(page.position()?, page.limit).await?.into())
    }

    /// The policy with this name or id, with what there is to say of its text now.
    ///
    /// # Errors
    /// [`EngineError::NotFound`], also for one that was removed; not an administrator; the ledger's.
    pub async fn policy(&self, who: &Principal, name_or_id: &str) -> Result<NamedPolicy, EngineError> {
        self.demand_here(who, Verb::PolicyShow).await?;
        let found = match name_or_id.parse() {
            Ok(id) => self.ledger.policy(id).await?,
            Err(_) if check::is_name(name_or_id) => self.ledger.policy_by_name(name_or_id).await?,
            Err(_) => None,
        };
        let policy = found.filter(|policy| policy.removed_at.is_none()).ok_or(EngineError::NotFound)?;
        let report = self.check_policy(who, &policy.text).await?;
        Ok(NamedPolicy { policy, report })
    }

    /// Removes a policy: the very next call is judged without it. Answers what was removed.
    ///
    /// # Errors
    /// [`EngineError::NotFound`]; not an administrator; the ledger's.
    pub async fn remove_policy(&self, who: &Principal, name_or_id: &str) -> Result<NamedPolicy, EngineError> {
        self.demand_here(who, Verb::PolicyRemove).await?;
        let named = self.policy(who, name_or_id).await?;
        self.ledger.remove_policy(named.policy.id, self.writing_time().await?).await?;
        Ok(named)
    }
}
